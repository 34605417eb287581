"""Prepared reductions: everything decided once, the same work again, other arrays in place of the first ones."""

import gc

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit import device
from warpkit.host.scratch import Scratch
from warpkit.simt import machine

from .reductions import NUMPY, POLICY, data, result, to_device


@pytest.mark.parametrize("name", NUMPY)
def test_prepared_is_the_call(name):
    x = data(name, np.int32, 500)
    out = result(np.float64 if name == "mean" else np.int64, 2 if name == "minmax" else 1)
    call = wk.prepare(getattr(device, name), to_device(x), out=out, policy=POLICY)
    for _ in range(3):
        out.copy_to_device(np.full_like(out.copy_to_host(), 77))
        assert call() is out
        assert out.copy_to_host().tolist() == np.atleast_1d(NUMPY[name](x)).tolist()


def test_nothing_runs_before_it_is_called():
    out = result(np.int64)
    wk.prepare(device.sum, to_device(np.arange(500)), out=out, policy=POLICY)
    assert out.copy_to_host()[0] == 77


def test_without_out_there_is_a_new_array():
    call = wk.prepare(device.sum, to_device(np.arange(500, dtype=np.uint8)), policy=POLICY)
    assert call().copy_to_host().tolist() == [np.arange(500, dtype=np.uint8).sum()]
    assert call.result.dtype == np.uint64


def test_changed_contents_are_seen():
    x = cuda.to_device(np.arange(500))
    call = wk.prepare(device.sum, x, policy=POLICY)
    call()
    x.copy_to_device(np.ones(500, np.int64))
    assert call().copy_to_host()[0] == 500


def test_other_arrays_of_any_size():
    call = wk.prepare(device.sum, to_device(np.arange(10)), policy=POLICY)
    other = result(np.int64)
    for n in (10, 700, 1, 0):
        assert call.bind(x=to_device(np.ones(n, np.int64)), out=other)() is other
        assert other.copy_to_host()[0] == n
    with pytest.raises(TypeError, match=r"^bind: sum has no argument 'y', only x, out, init, num_items"):
        call.bind(y=3)


def test_operators_transforms_init_and_counts():
    x, count = to_device(np.arange(1, 301)), cuda.to_device(np.array([200]))
    last = wk.prepare(device.reduce, x, lambda a, b: b, policy=POLICY)
    assert last().copy_to_host()[0] == 300
    squares = wk.prepare(device.transform_reduce, x, lambda v: v * v, wk.add, init=7, num_items=count, policy=POLICY)
    for n in (200, 3, 0):
        count.copy_to_device(np.array([n]))
        assert squares().copy_to_host()[0] == 7 + (np.arange(1, n + 1) ** 2).sum()


def test_arrays_that_an_operator_captures():
    weights = cuda.to_device(np.array([2.0, 3.0]))
    call = wk.prepare(
        device.transform_reduce, to_device(np.arange(100)), lambda v: weights[v & 1], wk.add, policy=POLICY
    )
    assert call().copy_to_host()[0] == 250
    weights.copy_to_device(np.array([0.0, 1.0]))
    assert call().copy_to_host()[0] == 50


def test_on_several_streams_and_beside_ordinary_calls():
    x, streams = to_device(np.arange(900)), [wk.Stream() for _ in range(3)]
    calls = [wk.prepare(device.sum, x, policy=POLICY) for _ in streams]
    for _ in range(3):
        for call, stream in zip(calls, streams):
            call(stream)
            device.sum(x, stream=stream, policy=POLICY)
    for call, stream in zip(calls, streams):
        stream.synchronize()
        assert call.result.copy_to_host()[0] == np.arange(900).sum()


def test_the_planning_half_refuses_what_the_call_refuses():
    x = to_device(np.arange(9))
    with pytest.raises(TypeError, match="init"):
        wk.prepare(device.argmin, x, init=3)
    with pytest.raises(TypeError, match=r"^sum: axis= does not exist"):
        wk.prepare(device.sum, x, axis=0)
    with pytest.raises(ValueError, match=r"^min: there are no items"):
        wk.prepare(device.min, to_device(np.arange(0)))


def test_its_scratch_goes_with_it(monkeypatch):
    released = []
    release = machine.release
    monkeypatch.setattr(machine, "release", lambda *given: (released.append(given), release(*given)))
    x, out = to_device(np.arange(900)), result(np.int64)
    call = wk.prepare(device.sum, x, out=out, policy=POLICY)
    call()
    (memory,) = [kept for kept in call.keep if isinstance(kept, Scratch)]
    pointer = memory.pointer
    gc.collect()
    assert pointer not in [given[0] for given in released]
    del call, memory
    gc.collect()
    assert [given[0] for given in released].count(pointer) == 1


WRONG = {
    "nothing": (lambda x: wk.prepare(device.sum), r"^sum: missing a required argument: 'x'; it is called as sum\(x, "),
    "no operator": (lambda x: wk.prepare(device.reduce, x), "^reduce: missing a required argument: 'op'; it is called"),
    "too much": (lambda x: wk.prepare(device.sum, x, x), "^sum: too many positional arguments; it is called as"),
    "another option": (lambda x: wk.prepare(device.max, x, down=1), "^max: got an unexpected keyword argument 'down'"),
    "no bins": (lambda x: wk.prepare(device.digitize, x), "^digitize: missing a required argument: 'bins'; it is"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_arguments_that_do_not_fit_are_refused_in_one_sentence(what):
    call, sentence = WRONG[what]
    with pytest.raises(wk.Refused, match=sentence) as caught:
        call(to_device(np.arange(3)))
    assert "\n" not in str(caught.value)
