"""What a function is, for caches of compiled code: see simt/identity.py, which the compiler shares."""

from ..simt.identity import Identity, Look, identity, look

__all__ = ["Identity", "Look", "identity", "look"]
