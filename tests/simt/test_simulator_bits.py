"""Bits, fma, cbrt, selp, halves, words: right also for negative, narrow and 64-bit values, in Numba's types."""

from fractions import Fraction

import numpy as np
import pytest
from numba import cuda

from warpkit.simt.simulated_memory import from_words, to_words, words_in
from warpkit.simt.simulator.scalars import SCALARS, Float16, Float32, Float64, Int64, UInt8

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_use_the_width_of_the_type(dtype):
    kind, width = np.dtype(dtype).type, np.dtype(dtype).itemsize * 8
    info = np.iinfo(dtype)
    for value in {0, 1, 6, int(info.max), int(info.min), int(info.max) // 3, -1 if info.min else 2}:
        bits = f"{value % (1 << width):0{width}b}"
        x = SCALARS[kind](value)
        assert cuda.popc(x) == bits.count("1")
        assert cuda.clz(x) == (bits.index("1") if "1" in bits else width)
        assert cuda.ffs(x) == (width - bits.rindex("1") if "1" in bits else 0)
        assert (type(cuda.popc(x)), type(cuda.clz(x)), type(cuda.ffs(x))) == (
            SCALARS[kind],
            SCALARS[kind],
            SCALARS[np.uint32],
        )
        wide = 64 if dtype == "u8" else 32
        assert cuda.brev(x) == int(f"{value % (1 << wide):0{wide}b}"[::-1], 2)


def test_python_ints_are_int64():
    assert (cuda.clz(1), cuda.popc(-1), cuda.ffs(1 << 40), cuda.brev(1)) == (63, 64, 41, 2**31)
    with pytest.raises(TypeError, match="takes an integer, not float64"):
        cuda.popc(1.5)


def test_fma_rounds_once():
    a = 1 + 2.0**-30
    assert cuda.fma(a, a, -(1 + 2.0**-29)) == 2.0**-60
    assert a * a - (1 + 2.0**-29) == 0
    x = Float32(1 + 2.0**-12)
    assert cuda.fma(x, x, Float32(-1 - 2.0**-11)) == 2.0**-24
    assert type(cuda.fma(x, x, x)) is Float32
    assert type(cuda.fma(x, x, 1.0)) is Float64
    assert np.isnan(cuda.fma(np.inf, 0.0, 1.0))
    assert cuda.fma(1e308, 10.0, 0.0) == np.inf
    assert cuda.fma(5e-324, 0.5, 0.0) == 0
    for seed in range(50):
        p, q, r = np.random.default_rng(seed).normal(size=3)
        exact = Fraction(p) * Fraction(q) + Fraction(r)
        assert cuda.fma(p, q, r) == exact.numerator / exact.denominator


def test_cbrt_and_selp():
    assert cuda.cbrt(-27.0) == -3
    assert type(cuda.cbrt(Float32(8))) is Float32
    assert (cuda.selp(1, 2, 3), cuda.selp(False, 2, 3)) == (2, 3)


def test_halves_round_once_and_compare():
    h = cuda.fp16
    assert type(h.hadd(1, 2)) is Float16
    assert h.hadd(2048, 1) == 2048
    assert (h.hsub(1, 0.5), h.hmul(3, 0.5), h.hdiv(1, 3)) == (0.5, 1.5, np.float16(1) / np.float16(3))
    assert h.hfma(1 + 2**-10, 1 + 2**-10, -1) == np.float16(2**-9 + 2**-20)
    assert (h.hneg(1), h.habs(-2), h.hfloor(-1.5), h.hceil(-1.5), h.htrunc(-1.5), h.hrint(2.5)) == (
        -1,
        2,
        -2,
        -1,
        -1,
        2,
    )
    assert (h.hsqrt(4), h.hrsqrt(4), h.hrcp(4), h.hexp2(3), h.hlog2(8), h.hexp10(2), h.hlog10(100)) == (
        2,
        0.5,
        0.25,
        8,
        3,
        100,
        2,
    )
    assert (h.hexp(0), h.hlog(1), h.hsin(0), h.hcos(0), h.htanh(0)) == (1, 0, 0, 1, 0)
    assert (h.hmax(1, np.nan), h.hmin(1, 2)) == (1, 1)
    assert (h.heq(1, 1), h.hne(1, 1), h.hge(1, 2), h.hgt(2, 1), h.hle(1, 2), h.hlt(2, 1)) == (
        True,
        False,
        False,
        True,
        True,
        False,
    )


@pytest.mark.parametrize("bits", [0x7FC00123, 0xFFC00001, 0x80000000, 0x3F800000])
def test_tuples_become_words_and_back_with_every_bit(bits):
    real = Float32(np.array(bits, np.uint32).view(np.float32))
    value = (UInt8(7), real, Int64(-(2**40)), Float16(0.5))
    back = from_words(to_words(value), value)
    assert [type(part) for part in back] == [UInt8, Float32, Int64, Float16]
    assert [part.tobytes() for part in back] == [part.tobytes() for part in value]
    assert len(to_words(value)) == words_in(value) == 4
