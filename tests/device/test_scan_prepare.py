"""Prepared scans: everything decided once, the same work again, other arrays in place of the first ones."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp import operators
from warpkit import device

from .scans import RINGS, SMALL, rubbish, same, to_device


@pytest.mark.parametrize("policy", [SMALL, RINGS], ids=["tiles", "rings"])
@pytest.mark.parametrize("n", [50, 290])
def test_prepared_is_the_call(n, policy):
    x, out = cuda.to_device(np.arange(n)), rubbish(n, np.int64)
    call = wk.prepare(device.cumsum, x, out=out, policy=policy)
    assert (out.copy_to_host() == 77).all()
    for turn in range(3):
        x.copy_to_device(np.arange(n) + turn)
        assert call() is out
        same(out.copy_to_host(), np.cumsum(np.arange(n) + turn))


def test_without_out_there_is_a_new_array():
    call = wk.prepare(device.cumsum, to_device(np.ones(300, np.uint8)), policy=SMALL)
    same(call().copy_to_host(), np.arange(1, 301, dtype=np.uint64))


def test_in_place_again_and_again():
    x = cuda.to_device(np.ones(400, np.int64))
    call = wk.prepare(device.cumsum, x, out=x, policy=SMALL)
    call()
    call()
    same(x.copy_to_host(), np.cumsum(np.arange(1, 401)))


def test_other_arrays_of_any_size():
    call = wk.prepare(device.inclusive_scan, to_device(np.arange(10)), wk.add, policy=SMALL)
    for n in (10, 700, 1, 0):
        out = rubbish(n, np.int64)
        assert call.bind(x=to_device(np.ones(n, np.int64)), out=out)() is out
        same(out.copy_to_host(), np.arange(1, n + 1))
    with pytest.raises(TypeError, match=r"^bind: inclusive_scan has no argument 'op' to replace"):
        call.bind(op=wk.mul)


def test_operators_init_reverse_and_counts():
    x, count = np.arange(1, 301), cuda.to_device(np.array([200]))
    weights, out = cuda.to_device(np.array([5])), rubbish(300, np.int64)
    call = wk.prepare(
        device.exclusive_scan, to_device(x), lambda a, b: (a + b) % weights[0], init=3, reverse=True, num_items=count,
        out=out, policy=SMALL,
    )  # fmt: skip
    for n, modulus in ((200, 5), (3, 7), (0, 7), (300, 4)):
        count.copy_to_device(np.array([n]))
        weights.copy_to_device(np.array([modulus]))
        out.copy_to_device(np.full(300, 77))
        call()
        sums = 3 + np.append(np.cumsum(x[:n][::-1])[:-1][::-1], np.zeros(int(n > 0), int))
        expected = np.where(sums == 3, 3, sums % modulus)  # the first one is init alone
        same(out.copy_to_host(), np.append(expected, np.full(300 - n, 77)))


def test_on_several_streams_and_beside_ordinary_calls():
    x, streams = to_device(np.arange(350)), [wk.Stream() for _ in range(3)]
    calls = [wk.prepare(device.inclusive_scan, x, operators.last_nonzero, policy=SMALL) for _ in streams]
    for _ in range(2):
        for call, stream in zip(calls, streams):
            call(stream)
            device.inclusive_scan(x, operators.last_nonzero, out=call.result, stream=stream, policy=SMALL)
    for call, stream in zip(calls, streams):
        stream.synchronize()
        same(call.result.copy_to_host(), np.arange(350))


def test_the_planning_half_refuses_what_the_call_refuses():
    x = to_device(np.arange(9))
    with pytest.raises(TypeError, match=r"^cumsum: axis= does not exist"):
        wk.prepare(device.cumsum, x, axis=0)
    with pytest.raises(ValueError, match=r"^exclusive_scan: there is no init"):
        wk.prepare(device.exclusive_scan, x, lambda a, b: a)
    with pytest.raises(TypeError, match=r"^inclusive_scan: reverse must be True or False, not 'no'"):
        wk.prepare(device.inclusive_scan, x, wk.add, reverse="no")
