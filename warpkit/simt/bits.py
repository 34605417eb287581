"""Bits of a 32-bit word, of a wider integer its low 32 bits; bodies are the meaning, as in lanes.py."""

from .machine import SIMULATOR, operation

if SIMULATOR:
    from .simulated import int32, uint32


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


def _word(mask):
    """Return the low 32 bits: `~mask` and `mask << 1` of a uint32 have 64 in Numba."""
    return int(mask) & 0xFFFFFFFF
