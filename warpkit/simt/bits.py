"""Bits of a 32- or 64-bit word; bodies are the meaning, as in lanes.py."""

from .machine import SIMULATOR, operation

if SIMULATOR:
    from .simulated import int32, uint32


@operation
def popcount(mask):
    """Return how many bits of the uint32 `mask` are set, int32."""
    return int32(int(mask).bit_count())


@operation
def highest_bit(mask):
    """Return the position of the highest bit of the uint32 `mask`, int32; −1 when there is none."""
    return int32(int(mask).bit_length() - 1)


@operation
def lowest_bit(mask):
    """Return the position of the lowest bit of the uint32 `mask`, int32; −1 when there is none."""
    return int32((int(mask) & -int(mask)).bit_length() - 1)


@operation
def reverse_bits(mask):
    """Return the uint32 `mask` with bit k at 31 − k."""
    return uint32(int(f"{int(mask):032b}"[::-1], 2))
