"""The arithmetic of who reads what: divisions by multiplication, even shares."""

import itertools

import numpy as np
import pytest
from numba import cuda

from tests.warp.matrix import SIMULATOR
from warpkit.device.reduce_plan import lined_up
from warpkit.device.reduce_reading import divide, first_of


@cuda.jit
def quotients(numbers, by, inverse, out):
    """Divide every number."""
    i = cuda.grid(1)
    if i < numbers.size:
        out[i] = divide(numbers[i], by, inverse)


@pytest.mark.parametrize("by", [1, 2, 3, 7, 49, 98, 103, 161, 255, 1056, 5280, 8448, 10**6 + 3, 2**31 + 11, 2**40 - 1])
def test_division_by_multiplication_is_exact(by):
    multiples = np.unique(np.random.default_rng(by).integers(0, max(1, 2**50 // by), 10 if SIMULATOR else 3000)) * by
    numbers = np.unique(np.concatenate([multiples + off for off in (-1, 0, 1, by // 2)] + [np.arange(5), [2**50 - 1]]))
    numbers = numbers[(numbers >= 0) & (numbers < 2**50)]
    out = np.zeros_like(numbers)
    quotients[-(-len(numbers) // 32), 32](numbers, by, 1 / by, out)
    assert (out == numbers // by).all()


@cuda.jit
def firsts(work, parts, inverse, out):
    """Store where each part begins, and the end."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = first_of(work, parts, inverse, i)


@pytest.mark.parametrize("parts", [1, 2, 3, 49, 132])
@pytest.mark.parametrize("work", [0, 1, 2, 48, 49, 50, 1000, 2**40 + 5])
def test_shares_are_even_and_cover_everything(work, parts):
    out = np.zeros(parts + 1, np.int64)
    firsts[-(-len(out) // 32), 32](work, parts, 1 / parts, out)
    shares = np.diff(out)
    assert (out[0], out[-1]) == (0, work)
    assert shares.max() - shares.min() <= 1
    assert (np.diff(shares) <= 0).all()  # those that have one more, or any at all, come first


@pytest.mark.everywhere
@pytest.mark.parametrize("seed", range(20))
def test_axes_line_up_in_the_same_order(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 5)))
    x = np.arange(np.prod(shape)).reshape(shape)[
        tuple(slice(None, None, int(rng.choice([1, 1, 2, -1]))) for _ in shape)
    ]
    x = x.transpose(rng.permutation(x.ndim)) if rng.random() < 0.4 else x
    axes = lined_up(x.shape, x.strides)
    again = np.lib.stride_tricks.as_strided(x, [extent for extent, _ in axes], [stride for _, stride in axes])
    assert (again.ravel() == x.ravel()).all()
    assert len(axes) <= x.ndim
    assert all(outer != extent * inner for (_, outer), (extent, inner) in itertools.pairwise(axes))
