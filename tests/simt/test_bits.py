"""Bits: counting, highest, lowest, reversing, on both machines."""

import numpy as np
import pytest

from tests.simt.waist import kernel
from warpkit.simt import bits

EDGES = [0, 1, 2, 3, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0xFFFF0000, 0x00010000, 0xAAAAAAAA]
WORDS = np.array(EDGES + [int(w) for w in np.random.default_rng(1).integers(0, 1 << 32, 54)], np.uint32)


@kernel("uint32", "int32", "uint32")
def every_operation(x, places, turned):
    """Count, highest, lowest, reverse."""
    for i in range(x.size):
        places[3 * i] = bits.popcount(x[i])
        places[3 * i + 1] = bits.highest_bit(x[i])
        places[3 * i + 2] = bits.lowest_bit(x[i])
        turned[i] = bits.reverse_bits(x[i])


@kernel("uint32", "int32", "uint32")
def every_operation_on_the_rest(x, places, turned):
    """The same of ~x, which has 64 bits in Numba: its low 32 count."""
    for i in range(x.size):
        places[3 * i] = bits.popcount(~x[i])
        places[3 * i + 1] = bits.highest_bit(~x[i])
        places[3 * i + 2] = bits.lowest_bit(~x[i])
        turned[i] = bits.reverse_bits(~x[i])


@pytest.mark.parametrize(("run", "flip"), [(every_operation, 0), (every_operation_on_the_rest, 0xFFFFFFFF)])
def test_bits_of_a_word(run, flip):
    places, turned = np.zeros((len(WORDS), 3), np.int32), np.zeros(len(WORDS), np.uint32)
    run[1, 1](WORDS, places.reshape(-1), turned)
    for word, (count, highest, lowest), back in zip(WORDS, places, turned):
        text = f"{int(word) ^ flip:032b}"
        assert count == text.count("1")
        assert highest == (31 - text.index("1") if "1" in text else -1)
        assert lowest == (31 - text.rindex("1") if "1" in text else -1)
        assert back == int(text[::-1], 2)


@kernel("uint32", "uint32", "uint32")
def high_words(a, b, out):
    """The upper halves of 64-bit products."""
    for i in range(a.size):
        out[i] = bits.multiply_high(a[i], b[i])


@kernel("uint64", "uint64", "uint64")
def high_long_words(a, b, out):
    """The upper halves of 128-bit products."""
    for i in range(a.size):
        out[i] = bits.multiply_high(a[i], b[i])


@pytest.mark.parametrize(("run", "dtype"), [(high_words, np.uint32), (high_long_words, np.uint64)])
def test_high_half_of_a_product(run, dtype):
    width = 8 * np.dtype(dtype).itemsize
    edges = [0, 1, 2, 3, 1 << width // 2, (1 << width // 2) - 1, 1 << width - 1, (1 << width) - 1, 0xAAAAAAAA, 10]
    a = np.array([x for x in edges for _ in edges], dtype)
    b = np.array([y for _ in edges for y in edges], dtype)
    out = np.zeros_like(a)
    run[1, 1](a, b, out)
    assert out.tolist() == [int(x) * int(y) >> width for x, y in zip(a, b)]


@kernel("uint32", "uint32", "uint64", "uint64")
def shifted(x, out, long, long_out):
    """Shift by every number of places below the width."""
    for i in range(x.size):
        out[i] = bits.shift_right(x[0], i)
    for i in range(long.size):
        long_out[i] = bits.shift_right(long[0], i)


def test_shifting_right_fills_with_zeros():
    x, long = np.full(32, 0x9ABCDEF1, np.uint32), np.full(64, 0x9ABCDEF123456789, np.uint64)
    out, long_out = np.zeros_like(x), np.zeros_like(long)
    shifted[1, 1](x, out, long, long_out)
    assert out.tolist() == [0x9ABCDEF1 >> k for k in range(32)]
    assert long_out.tolist() == [0x9ABCDEF123456789 >> k for k in range(64)]
