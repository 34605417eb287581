"""The exceptions that warpkit raises of its own accord; each message is one sentence that says what to do instead."""


class Refused(TypeError):
    """A type, an operator or a constant that an operation does not take, with the user's file and line.

    A plain exception and not a Numba error: Numba would wrap its own in pages of context.
    """


class OutsideKernel(RuntimeError):
    """A device function was called from ordinary Python, not from a kernel."""


class Fault(RuntimeError):
    """The simulator saw a kernel do what is undefined, wrong or endless on a GPU.

    The message names the threads, lanes, mask and the user's source line.
    """


class BarrierFault(Fault):
    """A block barrier was reached by part of a block, or threads of one block wait at different barriers."""


class LaneFault(Fault):
    """Lanes disagree: a named lane never comes, masks differ, a caller is outside its mask, an absent lane is read."""


class BoundsFault(Fault, IndexError):
    """An index lies outside its array."""


class RaceFault(Fault):
    """Two threads touch one memory location, at least one writing, and nothing orders them."""


class NoProgress(Fault):
    """Threads run or wait for ever: nothing that any of them does can change what they wait for."""


def shown(value: object) -> str:
    """Return how a sentence shows a user's value: on one line; an array without its items, which may be on a GPU."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    if dtype is not None and isinstance(shape, tuple) and len(shape) > 0:
        return f"an array ({dtype}, shape {tuple(shape)})"
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


LONGEST = 100  # characters of a value in a sentence

__all__ = [
    "BarrierFault",
    "BoundsFault",
    "Fault",
    "LaneFault",
    "NoProgress",
    "OutsideKernel",
    "RaceFault",
    "Refused",
]
