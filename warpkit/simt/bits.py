"""Bits of a word (of a wider integer its low 32), high halves of products; bodies are the meaning, as in lanes.py."""

from .machine import SIMULATOR, operation
from .refusals import refuse

if SIMULATOR:
    from . import simulator
    from .simulated import dtype_of, int32, uint32
    from .simulated_kinds import kind_of_value


@operation
def popcount(mask):
    """Return how many bits of the uint32 `mask` are set, int32."""
    return int32(_word(mask).bit_count())


@operation
def highest_bit(mask):
    """Return the position of the highest bit of the uint32 `mask`, int32; −1 when there is none."""
    return int32(_word(mask).bit_length() - 1)


@operation
def lowest_bit(mask):
    """Return the position of the lowest bit of the uint32 `mask`, int32; −1 when there is none."""
    return int32((_word(mask) & -_word(mask)).bit_length() - 1)


@operation
def reverse_bits(mask):
    """Return the uint32 `mask` with bit k at 31 − k."""
    return uint32(int(f"{_word(mask):032b}"[::-1], 2))


@operation
def multiply_high(a, b):
    """Return the upper half of the product of two uint32 or of two uint64, in their type."""
    if dtype_of(a) != dtype_of(b) or dtype_of(a).name not in ("uint32", "uint64"):
        refuse_factors(kind_of_value(a).name, kind_of_value(b).name)
    return simulator.scalar((int(a) * int(b)) >> (8 * dtype_of(a).itemsize), dtype_of(a))


@operation
def shift_right(word, places):
    """Return a uint32 or uint64 shifted right by fewer `places` than it has bits, in its type: `>>` of Numba widens."""
    if dtype_of(word).name not in ("uint32", "uint64"):
        refuse_shift(kind_of_value(word).name)
    return simulator.scalar(int(word) >> int(places), dtype_of(word))


def refuse_shift(found: str):
    """Refuse to shift what has a sign."""
    refuse(f"shift_right: the word must be a uint32 or a uint64, not {found}; convert it first.")


def refuse_factors(a: str, b: str):
    """Refuse factors that have no one width: Numba's own integers are signed."""
    refuse(f"multiply_high: the factors must be two uint32 or two uint64, not {a} and {b}; convert them first.")


def _word(mask):
    """Return the low 32 bits: `~mask` and `mask << 1` of a uint32 have 64 in Numba."""
    return int(mask) & 0xFFFFFFFF
