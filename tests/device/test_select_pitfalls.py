"""Selections against the public bugs of others (rows of pitfalls E, and of D for counts and look-back)."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.room import no_room
from tests.warp.matrix import SIMULATOR
from warpkit import device
from warpkit.simt import machine

from .reductions import result, to_device
from .selections import POLICIES, POLICY, parted, same

N = 1000 if SIMULATOR else 1_000_000


@pytest.mark.parametrize("launches", [2 if SIMULATOR else 100])
def test_c01_in_place_keeps_the_order(launches):
    x = np.arange(N, dtype=np.int32)
    for _ in range(launches):
        there, count = cuda.to_device(x), result(np.int64)
        device.select(there, lambda v: v % 3 == 0, out=there, count_out=count, policy=POLICY if SIMULATOR else None)
        kept = int(count.copy_to_host()[0])
        np.testing.assert_array_equal(there.copy_to_host()[:kept], x[::3])


def test_c02_masks_with_both_kinds():
    x = np.eye(4)
    same(device.nonzero(to_device(x), policy=POLICY), np.array([0, 5, 10, 15]))
    keep = x != 0
    assert 0.05 < keep.mean() < 0.95
    same(device.select_flagged(to_device(x), to_device(keep), policy=POLICY), np.ones(4))


@pytest.mark.parametrize("policy", POLICIES)
def test_c03_one_of_both_kinds_is_empty(policy):
    x = np.arange(1, 201, dtype=np.int32)
    out = result(np.int32, 200)
    device.select(to_device(x), lambda v: v < 0, out=out, policy=policy)
    assert (out.copy_to_host() == 77).all()
    same(device.select(to_device(x), lambda v: v < 0, policy=policy), x[:0])
    same(device.select(to_device(x), lambda v: v > 0, policy=policy), x)
    for pred, count in ((lambda v: v < 0, 0), (lambda v: v > 0, 200)):
        items, kept = device.partition(to_device(x), pred, policy=policy)
        same(items, x)
        assert kept == count
    for n in (x[:0], x[:0].reshape(0, 3)):
        same(device.select(to_device(n), lambda v: v > 0, policy=policy), x[:0])
        assert device.partition(to_device(n), lambda v: v > 0, policy=policy)[1] == 0
        assert device.run_length_encode(to_device(n), policy=policy)[2] == 0


def test_c04_one_predicate_twice_and_two_of_one_name():
    x = np.arange(300, dtype=np.int32)

    def made(least):
        return lambda v: v >= least

    for pred, least in ((made(10), 10), (made(200), 200), (made(10), 10)):
        same(device.select(to_device(x), pred, policy=POLICY), x[x >= least])
        same(device.partition(to_device(x), pred, policy=POLICY)[0], parted(x, x >= least))


def test_s14_no_items_write_a_count_of_0():
    count = result(np.int64)
    for n in (0, np.zeros(1, np.int32)):
        count.copy_to_device(np.array([99]))
        number = n if isinstance(n, int) else cuda.to_device(n)
        device.nonzero(to_device(np.ones(300)), out=result(np.int64, 300), num_items=number, count_out=count)
        assert count.copy_to_host() == 0


def test_r06_nans_are_true_and_equal_nothing():
    x = np.array([np.nan, np.nan, 0.0, -0.0, 1, 1, np.nan, 2], np.float32)
    same(device.nonzero(to_device(x), policy=POLICY), np.array([0, 1, 4, 5, 6, 7]))
    same(device.unique(to_device(x), policy=POLICY), x[[0, 1, 2, 4, 6, 7]])
    assert device.run_length_encode(to_device(x), policy=POLICY)[1].copy_to_host().tolist() == [1, 1, 2, 2, 1, 1]


def test_s13_one_prepared_call_on_several_streams():
    x = np.arange(400, dtype=np.int32)
    jobs = []
    for least in (50, 200, 390):
        there, out, count = cuda.to_device(x + least), result(np.int32, 400), result(np.int64)
        jobs.append((least, out, count, wk.prepare(device.select, there, lambda v: v > 395, out=out, count_out=count,
                                                   policy=POLICY), wk.Stream()))  # fmt: skip
    for _ in range(2 if SIMULATOR else 50):
        for *_, call, stream in jobs:
            call(stream)
    for least, out, count, _, stream in jobs:
        stream.synchronize()
        wanted = (x + least)[x + least > 395]
        assert count.copy_to_host() == len(wanted)
        assert out.copy_to_host()[: len(wanted)].tolist() == wanted.tolist()


@pytest.mark.gpu
def test_s18_no_room_for_scratch_leaves_out_as_it_was():

    x, out = cuda.to_device(np.ones(1 << 22, np.int32)), cuda.to_device(np.full(1 << 22, 77, np.int32))
    stream = machine.stream_create()  # with no scratch of its own: a wk.Stream may have that of an earlier one
    with no_room(), pytest.raises(MemoryError):
        device.select(x, lambda v: v > 0, out=out, stream=stream)
    assert (out.copy_to_host() == 77).all()
    device.select(x, lambda v: v > 0, out=out, stream=stream)
    machine.stream_synchronize(stream)
    assert (out.copy_to_host() == 1).all()


@pytest.mark.gpu
def test_s20_many_items_the_last_two_set():
    x = cuda.device_array(128 * 65536 + 1, np.uint8)
    wk.launch(clear, 1024, 256, x)
    x[x.size - 2 :].copy_to_device(np.ones(2, np.uint8))
    same(device.nonzero(x), np.array([x.size - 2, x.size - 1]))


@cuda.jit
def clear(x):
    """Write zeros."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] = 0
