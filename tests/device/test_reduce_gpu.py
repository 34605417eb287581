"""Reductions where only a GPU says anything: graphs, several streams at once, other frameworks, the largest arrays."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.capture import Capture
from warpkit import device
from warpkit.host import scratch
from warpkit.simt import machine

from .gpu import imported, on_eight_threads, views_of, zeros_of
from .reductions import POLICY, result, same, to_device

pytestmark = pytest.mark.gpu
N = 300_000


@pytest.mark.parametrize("kind", ["sum", "reduce", "a function never seen before"])
def test_a_call_is_captured_as_it_is(kind):
    """Kernel and scratch are made in the middle of the capture, if need be, and are none of the graph's work."""
    factor = int(np.random.default_rng().integers(2, 10**6)) if kind == "a function never seen before" else 1
    x, out, stream = cuda.to_device(np.ones(N, np.int64)), result(np.int64), wk.Stream()
    with Capture(stream) as replay:
        if kind == "sum":
            device.sum(x, out=out, stream=stream)
        elif kind == "reduce":
            device.reduce(x, lambda a, b: a + b, out=out, stream=stream)
        else:
            device.transform_reduce(x, lambda v: v * factor, wk.add, out=out, stream=stream)
    for value in range(10):
        x.copy_to_device(np.full(N, value))
        cuda.synchronize()
        replay()
        assert out.copy_to_host()[0] == N * value * factor
        assert device.sum(x, stream=stream) == N * value  # ordinary work on the same stream in between


def test_two_graphs_side_by_side_do_not_meet():
    x, streams = cuda.to_device(np.ones(N, np.int64)), [wk.Stream(), wk.Stream()]
    outs, replays = [result(np.int64), result(np.int64)], []
    for stream, out in zip(streams, outs):
        with Capture(streams[0]) as replay:  # the same stream for both: two captures nevertheless
            for _ in range(20):
                device.sum(x, out=out, stream=streams[0])
        replay.stream = stream
        replays.append(replay)
    for _ in range(20):
        for replay in replays:
            replay.launch()
    machine.synchronize()
    assert [out.copy_to_host()[0] for out in outs] == [N, N]
    scratch.forget_captures()


def test_a_result_on_the_host_cannot_be_captured():
    x, stream = cuda.to_device(np.ones(N)), wk.Stream()
    with Capture(stream), pytest.raises(TypeError, match=r"^sum: a result on the host has to be waited for.*pass out="):
        device.sum(x, stream=stream)


def test_the_same_bits_on_two_streams_at_once():
    x, streams = cuda.to_device(np.random.default_rng(1).random(10**7, np.float32)), [wk.Stream(), wk.Stream()]
    outs = [cuda.to_device(np.zeros(50, np.float32)) for _ in streams]
    for turn in range(50):
        for out, stream in zip(outs, streams):
            device.sum(x, out=out[turn : turn + 1], stream=stream)
    machine.synchronize()
    assert len({bits for out in outs for bits in out.copy_to_host().view(np.uint32)}) == 1


def test_eight_threads_on_the_same_stream_and_on_their_own():
    x, wrong = cuda.to_device(np.arange(N)), []

    def work(stream):
        for _ in range(100):
            if device.sum(x, stream=stream) != N * (N - 1) // 2:
                wrong.append(stream)

    on_eight_threads(work)
    assert not wrong


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_frameworks(name):
    library = imported(name)
    if library is None:
        return
    out = zeros_of(library, ())
    for view, twin in views_of(library):
        same(device.sum(view), twin.sum())
        assert device.argmax(view) == twin.argmax()
        device.max(view, out=out)
        assert float(out) == twin.max()


def test_every_block_of_a_large_grid_counts():
    for n in (2**24 + 3, 2**26 - 1):
        for place in (0, 1, n // 2, n - 2, n - 1):
            x = np.zeros(n, np.int8)
            x[place] = -7
            there = to_device(x)
            assert device.sum(there) == device.min(there) == -7
            assert device.argmin(there) == place
            assert device.reduce(there, lambda a, b: b if b != 0 else a) == -7


def test_more_waves_than_are_resident():
    x = cuda.to_device(np.arange(2_000_000))
    for waves in (1, 7, 40):
        policy = device.ReducePolicy(threads=128, waves=waves, least_loads=1)
        assert device.sum(x, policy=policy) == 2_000_000 * 1_999_999 // 2
        assert device.reduce(x, lambda a, b: b, policy=policy) == 1_999_999


def test_a_function_that_takes_many_registers():
    def heavy(v):
        a, b, c, d, e, f, g, h = v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7
        for _ in range(40):
            a, b, c, d = (a * b + h) & 0xFFFF, (b * c + g) & 0xFFFF, (c * d + f) & 0xFFFF, (d * a + e) & 0xFFFF
            e, f, g, h = (e * a + d) & 0xFFFF, (f * b + c) & 0xFFFF, (g * c + b) & 0xFFFF, (h * d + a) & 0xFFFF
        return a + b + c + d + e + f + g + h

    x, right = cuda.to_device(np.zeros(N, np.int64)), N * heavy(0)
    assert device.transform_reduce(x, heavy, wk.add) == right
    assert device.transform_reduce(x, heavy, lambda a, b: a + b, policy=POLICY) == right
