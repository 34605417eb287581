"""What parallel_reduce compiles to: no division, no local memory, eight loads in flight, one launch."""

import math
import operator

import numpy as np
import pytest

import warpkit as wk
from tests.host.dry import Array, dry
from tests.host.test_parallel_ptx import FORBIDDEN, SHAPES, form_of, images
from tests.host.test_parallel_reduce import BODIES
from tests.host.test_parallel_reduce_ops import LETTERS, affine, compose, spell
from tests.ptx import assert_register_only, body, count

READS = [
    lambda i, x: x[i],
    lambda i, j, x: x[i, j],
    lambda i, j, k, x: x[i, j, k],
    lambda i, j, k, m, x: x[i, j, k, m],
]


def first(a, b):
    """Return the earlier one."""
    return a


def reduced(ndim, given, op=None, dtype="f4"):
    """Return the one launch of a reduction of an array's items."""
    out = Array(1, dtype)
    with dry() as launches:
        if op is None:
            wk.parallel_reduce_sum(given, READS[ndim - 1], Array(SHAPES[ndim], dtype), out=out)
        else:
            wk.parallel_reduce(given, READS[ndim - 1], op, 0, Array(SHAPES[ndim], dtype), out=out)
    (launch,) = launches
    return launch


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("stepped", ["dense", "32", "64"])
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_a_sum_over_every_form_of_range_divides_nothing(ndim, stepped, wide):
    launch = reduced(ndim, form_of(ndim, stepped, wide))
    ptx = launch.ptx
    assert not [line for line in body(ptx) if line.startswith(FORBIDDEN)]
    assert_register_only(ptx)
    assert ".f64" not in ptx
    assert (launch.image.local, launch.image.spills) == (0, 0)
    assert launch.image.registers <= 64
    assert count(ptx, f"mul.hi.u{64 if wide else 32}") == 16 * (ndim - 1)


def test_the_loads_of_a_tile_do_not_wait_for_each_other():
    lines = body(reduced(1, 1 << 28).ptx)
    loads = [n for n, line in enumerate(lines) if line.startswith("ld.global.f32")]
    rows = [loads[n : n + 8] for n in range(len(loads) - 7)]
    together = [row for row in rows if not any("bra" in line for line in lines[row[0] : row[-1]])]
    assert len(together) == 1
    assert len({lines[n].split()[1] for n in together[0]}) == 8


@pytest.mark.parametrize("ndim", [1, 3])
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_a_reduction_in_order_divides_nothing(ndim, wide):
    launch = reduced(ndim, form_of(ndim, "dense", wide), first)
    assert not [line for line in body(launch.ptx) if line.startswith(FORBIDDEN)]
    assert_register_only(launch.ptx)
    assert ".f64" not in launch.ptx
    assert (launch.image.local, launch.image.spills) == (0, 0)


def test_a_sum_is_one_launch_of_resident_blocks():
    numbers = [(1, 1), (2048, 1), (2049, 9), (1 << 20, 1024), (1 << 28, 1049), (1 << 33, 1056)]
    with dry() as launches:  # one for all: kernels are compiled once in it
        for items, _ in numbers:
            wk.parallel_reduce_sum(items, READS[0], Array(SHAPES[1], "f4"), out=Array(1, "f4"))
    assert len(launches) == len(numbers)
    for launch, (items, blocks) in zip(launches, numbers):
        assert launch.grid == (blocks, 1, 1)
        assert launch.block == (32 if items == 1 else 256, 1, 1)


@pytest.mark.parametrize("dtype", ["b1", "i1", "u4", "i8", "f2", "f8", "c8", "c16"])
def test_n06_sums_of_every_dtype_compile(dtype):
    with dry() as launches:
        wk.prepare(wk.parallel_reduce_sum, 1 << 20, READS[0], Array(1 << 20, dtype))()
    assert_register_only(launches[0].ptx)


def test_n06_the_other_tests_bodies_and_operators_compile():
    weights = Array(2, "f8")
    with dry() as launches:
        for ndim in (1, 2, 3, 4):
            wk.prepare(wk.parallel_reduce_sum, SHAPES[ndim], BODIES[ndim - 1])()
        wk.prepare(wk.parallel_reduce, 5000, affine, compose, (3, 5), Array(5000, "i8"))()
        wk.prepare(wk.parallel_reduce, SHAPES[4], LETTERS[4], spell, (1, 0))()
        wk.prepare(wk.parallel_reduce, 300, BODIES[0], lambda a, b: a + b * weights[0], 0.0, dtype="f8")()
        wk.prepare(wk.parallel_reduce_sum, (20, 30), lambda i, j: (i, 0.5 * j, np.float32(1)))()
        wk.prepare(wk.parallel_reduce, 40, READS[0], operator.mul, 1, Array(40, "u4"))()
        wk.prepare(wk.parallel_reduce, 40, READS[0], wk.maximum, -math.inf, Array(40, "f4"))()
        wk.prepare(wk.parallel_reduce, 0, BODIES[0], wk.maximum, 3, dtype="i4")()
    assert len(launches) == images(launches) == 11
    assert {launch.image.spills for launch in launches} == {0}


def test_a_body_without_a_number_is_refused_at_compile_time():
    with dry(), pytest.raises(wk.Refused, match="return a number or a tuple of numbers"):
        wk.prepare(wk.parallel_reduce_sum, 10, lambda i: None)
    with dry(), pytest.raises(wk.Refused, match="float64"):
        wk.prepare(wk.parallel_reduce_sum, 10, lambda i: 0.5 * i, dtype="i4")
