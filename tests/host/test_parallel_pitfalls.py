"""Pitfalls of loops over ranges by their numbers, P01 to P12; those that need a GPU are in test_parallel_large.py."""

import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.host.loops import HITS, device
from warpkit.simt import machine


def count_1(i, hits):
    """Count a call."""
    cuda.atomic.add(hits, 0, 1)


def count_2(i, j, hits):
    """Count a call."""
    cuda.atomic.add(hits, 0, 1)


def count_3(i, j, k, hits):
    """Count a call."""
    cuda.atomic.add(hits, 0, 1)


COUNTS = [count_1, count_2, count_3]


def calls(given, ndim):
    """Return how often a body is called over a range."""
    hits = device(np.zeros(1, np.int64))
    wk.parallel_for(given, COUNTS[ndim - 1], hits)
    return int(hits.copy_to_host()[0])


def test_p01_nothing_is_a_range_and_5_5_is_25_items():
    assert calls(0, 1) == 0
    assert calls(wk.Range(5, 5), 1) == 0
    assert calls((5, 5), 2) == 25


def test_p01_work_around_an_empty_loop_stays_in_order():
    stream, x = wk.Stream(), device(np.zeros(100))
    for amount in (1.0, 2.0):
        wk.parallel_for(100, lambda i, x, a: operator.setitem(x, i, 10 * x[i] + a), x, amount, stream=stream)
        wk.parallel_for(0, lambda i, x, a: operator.setitem(x, i, -1.0), x, amount, stream=stream)
    stream.synchronize()
    assert (x.copy_to_host() == 12).all()


@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (3, 0, 2), (1, 0)], ids=str)
def test_p02_an_extent_of_zero_is_no_launch(shape):
    assert calls(shape, len(shape)) == 0


def test_p03_an_end_before_the_begin_is_empty_and_a_negative_step_goes_down():
    assert calls(wk.Range(10, 0), 1) == 0
    assert calls(range(10, 0), 1) == 0
    hits = device(np.zeros((1, 32), np.int32))
    wk.parallel_for(range(10, 0, -1), HITS[1], hits, 0)
    assert np.flatnonzero(hits.copy_to_host()[0] == 1).tolist() == [i + 16 for i in range(1, 11)]


def test_p04_a_step_of_zero_is_a_valueerror_and_of_text_a_typeerror():
    for body in (count_1, None):
        with pytest.raises(ValueError, match="step 0"):
            wk.parallel_for(wk.Range(0, 10, 0), body)
        with pytest.raises(TypeError, match=r"'2\.0'"):
            wk.parallel_for(wk.Range(0, 10, "2.0"), body)
    assert calls(wk.Range(4, -1, -1), 1) == 5


def test_p06_p07_counts_are_right_beyond_32_bits():
    shape = (1 << 20, 1 << 20, 0)
    assert calls(shape, 3) == 0  # seen before the product, which fits 64 bits
    total = wk.parallel_reduce_sum(range(0, 3_000_000_000, 1_000_000), lambda i: i)
    assert total == sum(range(0, 3_000_000_000, 1_000_000))


class Zero:
    """An array of no items with a null pointer, as CuPy and torch make it."""

    __cuda_array_interface__ = {  # noqa: RUF012
        "version": 3, "shape": (0,), "typestr": "<f4", "data": (0, False), "strides": None, "stream": None
    }  # fmt: skip


def test_p09_arrays_of_no_items_are_arguments():
    wk.parallel_for(0, lambda i, x: None, Zero())
    out = device(np.zeros(3))
    wk.parallel_for(3, lambda i, x, out: operator.setitem(out, i, x.size + i), Zero(), out)
    assert out.copy_to_host().tolist() == [0, 1, 2]
    assert wk.parallel_reduce_sum(3, lambda i, x: x.size + i, Zero()) == 3
    assert wk.parallel_reduce_sum(0, lambda i, x: x[i], Zero()) == 0


def test_p10_the_last_index_is_fastest_and_the_array_is_in_c_order():
    a = device(np.zeros((3, 5), np.int64))
    wk.parallel_for((3, 5), lambda i, j: operator.setitem(a, (i, j), 10 * i + j))
    assert a.copy_to_host().tolist() == [[10 * i + j for j in range(5)] for i in range(3)]


def test_p10_neighbouring_threads_have_neighbouring_last_indices():
    lanes = device(np.zeros((4, 64), np.int32))
    wk.parallel_for((4, 64), lambda i, j: operator.setitem(lanes, (i, j), wk.warp_lane_id()))
    assert (lanes.copy_to_host() == np.arange(64) % 32).all()


def test_p11_a_large_table_in_a_closure_is_an_argument_and_edits_are_seen():
    table = np.arange(1_000_000.0)
    y = device(np.zeros(50))

    def look_up(i):
        y[i] = table[i * 19_999]

    wk.parallel_for(50, look_up)
    assert (y.copy_to_host() == np.arange(50) * 19_999.0).all()
    table[:] *= 2
    wk.parallel_for(50, look_up)
    assert (y.copy_to_host() == np.arange(50) * 39_998.0).all()


def test_p12_fresh_arrays_and_lengths_give_fresh_results():
    for n in range(1, 101, 9):
        x, y = device(np.arange(n)), device(np.zeros(n, np.int64))
        wk.parallel_for(n, doubling(x, y))
        assert y.copy_to_host().tolist() == [2 * k for k in range(n)]


def doubling(x, y):
    """Return a body that captures two arrays."""
    return lambda i: operator.setitem(y, i, 2 * x[i])


def test_p33_a_body_with_200_live_floats_runs():
    x, y = device(np.arange(2000, dtype=np.float32)), device(np.zeros(10, np.float32))

    def hungry(i, x, y):
        values = cuda.local.array(200, np.float32)
        for k in range(200):
            values[k] = x[i * 200 + k]
        total = np.float32(0)
        for k in range(200):
            total += values[199 - k]
        y[i] = total

    wk.parallel_for(10, hungry, x, y)
    assert (y.copy_to_host() == np.arange(2000.0).reshape(10, 200).sum(1)).all()
    assert machine.current_device() == 0
