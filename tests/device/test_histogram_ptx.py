"""What the kernels of histograms are made of: wide loads, one shared atomic an item, 32 registers, no division."""

import itertools

import numpy as np
import pytest

from tests.ptx import body, count
from tests.warp.matrix import REALS, label
from warpkit.device.histogram_bins import NUMBERS, finding_between
from warpkit.device.histogram_even import even_bins
from warpkit.device.histogram_plan import counting_kernel, numbers_of, options_for, specs_of
from warpkit.device.histogram_policy import DEFAULT
from warpkit.simt.specs import array_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads


def reads(dtype, shift):
    """Return how many vectors are read by instructions: of few items each also before everything is cleared."""
    return DEFAULT.loads * (2 if shift >= 0 and np.dtype(dtype).itemsize >= 4 else 1)


def compiled(dtype, shift, bins="even", ndim=1, counted=False):
    """Return image and PTX of a counting kernel; `shift` −1: it counts in the output."""
    array, edges = array_spec(dtype, ndim, ndim == 1), None
    if bins == "even":
        even = even_bins("histogram", np.dtype(dtype), 100, (0.3, 77.7))
        finder, numbers = even.finder, numbers_of(*even.numbers)[0]
    elif bins == "between":
        finder, numbers, edges = finding_between(np.float64), numbers_of(5)[0], array_spec(np.float64, 1)
    else:
        finder, numbers = NUMBERS, numbers_of(5)[0]
    function, _ = counting_kernel(finder, array, counted, np.dtype(np.int64), shift, DEFAULT)
    count_spec = array_spec(np.int64, 1) if counted else None
    specs = specs_of(array, count_spec, numbers, edges, array_spec(np.int64, 1))
    return image_and_ptx(function, specs, options_for(array, shift, DEFAULT))


# Bytes are always counted in counters of the block's own.
CELLS = [(dtype, shift) for dtype in REALS for shift in (5, 0, -1) if shift >= 0 or np.dtype(dtype).itemsize > 1]


@pytest.mark.parametrize(("dtype", "shift"), CELLS, ids=label)
def test_registers_only_and_few(dtype, shift):
    image, ptx = compiled(dtype, shift)
    assert_registers_only(image, ptx)
    assert image.registers <= (32 if shift >= 0 else 64)
    assert wide_loads(ptx) == reads(dtype, shift)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64], ids=label)
@pytest.mark.parametrize("shift", [5, -1])
@pytest.mark.parametrize("bins", ["between", "numbers"])
def test_other_bins(dtype, shift, bins):
    if bins == "between" or np.dtype(dtype).kind != "f":
        image, ptx = compiled(dtype, shift, bins)
        assert_registers_only(image, ptx)
        assert wide_loads(ptx) == reads(dtype, shift)


def test_an_item_is_one_shared_atomic_and_few_instructions():
    """8 for the items of two reads; 4 to correct those near an edge, 1 for the items before and behind the reads."""
    _, ptx = compiled(np.float32, 5)
    assert count(ptx, "atom.shared.add.u32") == DEFAULT.loads * 4 + 2 * DEFAULT.loads + 1
    assert count(ptx, "atom.global.add.u64") + count(ptx, "atom.add.u64") == 3  # drawn, cleared, done
    assert count(ptx, "red.relaxed.gpu.global.add.u64") >= 1  # counts: nothing waits for an old one
    lines = body(ptx)
    at = [n for n, line in enumerate(lines) if line.startswith("atom.shared")]
    assert min(b - a for a, b in itertools.pairwise(at)) <= 26
    assert count(ptx, "fma.rn.f64") == 0  # product and sum of an edge are rounded one after the other, as NumPy's


def test_bytes_are_counted_as_they_are():
    _, ptx = compiled(np.uint8, 5)
    assert count(ptx, "atom.shared.add.u32") == DEFAULT.loads * 16 + 1
    assert count(ptx, "cvt.rzi") <= 2  # at the end alone, once for every value


def test_a_count_on_the_device_is_one_load_more():
    (_, plain), (_, counted) = (compiled(np.float32, 5, counted=flag) for flag in (False, True))
    assert count(counted, "ld.global") == count(plain, "ld.global") + 1


@pytest.mark.parametrize("ndim", [2, 4])
def test_strided_arrays(ndim):
    assert_registers_only(*compiled(np.float32, 5, ndim=ndim))
