"""What parallel_for compiles to: no division, no local memory, unguarded full tiles, one kernel for equal bodies."""

import itertools
import operator
import re

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.host import test_parallel_large as large
from tests.host.dry import Array, dry
from tests.host.loops import HITS, device_function
from tests.host.test_parallel import add_index, filling, plus_one
from tests.ptx import assert_register_only, body, count

SHAPES = {1: (1000,), 2: (100, 2000), 3: (64, 100, 128), 4: (5, 6, 7, 8)}
FORBIDDEN = ("div", "rem", "trap", "call", "brkpt", "cvt.rn.f")


def copy_of(ndim):
    """Return the body that copies an item of an array of `ndim` axes."""

    def copy_1(i, x, y):
        y[i] = x[i]

    def copy_2(i, j, x, y):
        y[i, j] = x[i, j]

    def copy_3(i, j, k, x, y):
        y[i, j, k] = x[i, j, k]

    def copy_4(i, j, k, m, x, y):
        y[i, j, k, m] = x[i, j, k, m]

    return (copy_1, copy_2, copy_3, copy_4)[ndim - 1]


def launched(*call):
    """Return the one launch of a `parallel_for`."""
    with dry() as launches:
        wk.parallel_for(*call)
    (launch,) = launches
    return launch


def form_of(ndim, stepped, wide):
    """Return a range of this form: what a kernel is compiled for."""
    shape = SHAPES[ndim] if not wide else (1 << 20, 1 << 12, 3, 2)[:ndim] if ndim > 1 else (1 << 33,)
    if stepped == "dense":
        return shape
    begin = 1 if stepped == "32" else -1
    return tuple(range(begin, begin + 3 * extent, 3) for extent in shape)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("stepped", ["dense", "32", "64"])
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_a_range_of_every_form_is_walked_without_division(ndim, stepped, wide):
    launch = launched(form_of(ndim, stepped, wide), copy_of(ndim), *[Array(SHAPES[ndim], "f4")] * 2)
    ptx = launch.ptx
    assert not [line for line in body(ptx) if line.startswith(FORBIDDEN)]
    assert "printf" not in ptx
    assert_register_only(ptx)
    assert (launch.image.local, launch.image.spills) == (0, 0)
    items = 4  # two in a full tile, two in a partial one
    assert count(ptx, f"mul.hi.u{64 if wide else 32}") == items * (ndim - 1)
    assert count(ptx, f"mul.hi.u{32 if wide else 64}") == 0
    assert count(ptx, "ld.global.f32") == count(ptx, "st.global.f32") == items
    assert count(ptx, "ld.global") == count(ptx, "st.global") == items


def test_a_full_tile_is_two_items_without_a_question():
    ptx = launched(1 << 20, copy_of(1), *[Array(1 << 20, "f4")] * 2).ptx
    lines = body(ptx)
    moves = [n for n, line in enumerate(lines) if "global.f32" in line]
    full = [moves[n : n + 4] for n in range(len(moves) - 3) if not any(
        "bra" in line or "setp" in line for line in lines[moves[n] : moves[n + 3]]
    )]  # fmt: skip
    assert len(full) == 1
    assert [lines[n][:2] for n in full[0]] == ["ld", "st"] * 2


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_indices_that_are_not_negative_need_no_wrap_around(ndim):
    dense = launched(SHAPES[ndim], copy_of(ndim), *[Array(SHAPES[ndim], "f4")] * 2).ptx
    signed = launched(form_of(ndim, "64", False), copy_of(ndim), *[Array(SHAPES[ndim], "f4")] * 2).ptx
    assert count(dense, "selp") == count(dense, "shr.s64") == 0
    assert count(signed, "selp") + count(signed, "shr.s64") >= 1


def test_registers_of_a_copy_leave_room_for_every_thread():
    for ndim in (1, 2, 3, 4):
        assert launched(SHAPES[ndim], copy_of(ndim), *[Array(SHAPES[ndim], "f4")] * 2).image.registers <= 32


# ------------------------------------------------------------------ tables, records, tuples


def looking_up(table, mask):
    """Return a body that captures a table."""
    return lambda i, y: operator.setitem(y, i, table[i & mask])


@pytest.mark.parametrize("bytes_of_table", [2048, 8192])
def test_a_large_table_costs_no_local_memory(bytes_of_table):
    entries = bytes_of_table // 4
    y, mask = Array(4096, "f4"), entries - 1
    for table in (np.zeros(entries, np.float32), Array(entries, "f4")):
        launch = launched(4096, looking_up(table, mask), y)
        assert (launch.image.local, launch.image.captured) == (0, (0,))
        assert ".const" not in launch.ptx
        assert_register_only(launch.ptx)
    record = np.zeros(1, [("table", np.float32, entries), ("scale", np.float32)])[0]

    def of_record(i, y, held):
        y[i] = held.table[i & mask] * held.scale

    launch = launched(4096, of_record, y, record)
    assert launch.image.local == 0
    assert_register_only(launch.ptx)


def test_a_tuple_read_by_a_run_time_index_costs_no_local_memory():
    def body(i, y, table):
        y[i] = table[i & 63]

    launch = launched(4096, body, Array(4096, "f4"), tuple(np.float32(k) for k in range(64)))
    assert launch.image.local == 0
    assert_register_only(launch.ptx)


def test_p33_a_body_that_takes_all_registers_fits_the_block():
    def hungry(i, x, y):
        values = cuda.local.array(200, np.float32)
        for k in range(200):
            values[k] = x[i * 200 + k]
        total = np.float32(0)
        for k in range(200):
            total += values[k] * values[(k + 7) % 200] + values[199 - k]
        y[i] = total

    launch = launched(1 << 20, hungry, Array(200 << 20, "f4"), Array(1 << 20, "f4"))
    assert launch.image.registers * launch.block[0] <= 65536


# ------------------------------------------------------------------ how often it compiles


def images(launches):
    """Return how many kernels there were."""
    return len({id(launch.image) for launch in launches})


def test_p12_other_arrays_and_lengths_are_one_kernel():
    with dry() as launches:
        for n in range(1, 101):
            wk.parallel_for(n, plus_one(Array(n, "f4"), Array(n, "f4")))
    assert len(launches) == 100
    assert images(launches) == 1


def test_p14_equal_captured_numbers_are_one_kernel_others_are_others():
    with dry() as launches:
        for value in [int("1000000"), 1000000, np.int64(5), np.int64(5), True, 1, 1.0]:
            wk.parallel_for(10, filling(Array(10, "f8"), value))
    assert [images(launches[:n]) for n in range(1, 8)] == [1, 1, 2, 2, 3, 4, 5]


def test_extents_are_arguments():
    with dry() as launches:
        for shape in [(3, 5), (5, 3), (1, 1), (100, 7), (1 << 10, 1 << 21)]:
            wk.parallel_for(shape, copy_of(2), *[Array(shape, "f4")] * 2)
    assert images(launches) == 1


def test_equal_bodies_of_two_operators_with_arrays_are_told_apart_by_what_they_share():
    x, y = Array(8, "f8"), Array(8, "f8")

    def reduced(first, second):
        wk.parallel_reduce(8, lambda i: first[i], lambda a, b: a + second[0] * b, 0.0, out=Array(1, "f8"))

    with dry() as launches:
        reduced(x, y)
        reduced(y, x)
        reduced(x, x)
    assert images(launches) == 2
    assert [launch.image.captured for launch in launches] == [(0, 1), (0, 1), (0,)]


# ------------------------------------------------------------------ N06: what the simulator runs, a GPU compiles


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_n06_bodies_with_atomics_compile(ndim):
    hits = Array((4, 5, 6, 7), "i4") if ndim == 4 else Array((2, *SHAPES[ndim]), "i4")
    for given in (SHAPES[ndim], form_of(ndim, "64", True)):
        ptx = launched(given, HITS[ndim], hits, 1).ptx
        assert len(re.findall(r"\b(?:atom|red)\.", ptx)) == 4


@pytest.mark.parametrize("make", [lambda f: f, device_function], ids=["python", "device function"])
def test_n06_bodies_of_every_kind_compile(make):
    assert launched(10, make(add_index), Array(10, "f8"), 0.5)
    assert launched(10, lambda i: None)
    assert launched(10, make(lambda i, y, pair: operator.setitem(y, i, pair[0][i] * pair[1][1])), Array(10, "f8"), (
        Array(10, "f8"), (3, 0.5)))  # fmt: skip


def test_n06_collectives_of_a_warp_compile():
    launch = launched(64, lambda i, y: operator.setitem(y, i, wk.warp_active_sum(i)), Array(64, "i8"))
    assert count(launch.ptx, "activemask") == 4


def test_n06_bodies_of_the_tests_on_a_gpu_compile():
    counters = Array(8, "i8")
    for given, body_of_test, *args in [
        ((65536, 65536), large.sampled, counters),
        (2**31 + 64, large.write_byte, Array(2**31 + 64, "u1")),
        ((46349, 46349), large.outside_2, 46349, 46349, counters),
        ((1291, 1303, 1277), large.outside_3, 1291, 1303, 1277, counters),
        (1, large.spin, counters),
        (1, large.release, counters),
    ]:
        assert launched(given, body_of_test, *args).image.spills == 0


def test_the_shape_of_a_launch_is_decided_on_the_host():
    for items, grid, block in [(1, 1, 32), (100, 1, 128), (5000, 20, 256), (270336, 1056, 256), (270337, 529, 256)]:
        launch = launched(items, lambda i: None)
        assert (launch.grid, launch.block) == ((grid, 1, 1), (block, 1, 1))
    with dry() as launches:
        for shape in itertools.product((1 << 21,), (1 << 20, 1 << 21)):
            wk.parallel_for(shape, lambda i, j: None)
    assert launches[0].grid == (1 << 32, 1, 1) or launches[0].grid[1] > 1
