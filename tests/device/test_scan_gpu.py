"""Scans where only a GPU says anything: graphs, several threads at once, other frameworks, launches without a reset."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.capture import Capture
from tests.warp import operators
from tests.warp.matrix import NUMBERS, label
from warpkit import device
from warpkit.device.scan_policy import policy_for
from warpkit.host import scratch
from warpkit.simt import machine

from .gpu import imported, on_eight_threads, views_of, zeros_of
from .reductions import total_dtype
from .scans import RINGS, np_cumsum, rubbish, same, values

pytestmark = pytest.mark.gpu
N = 300_000
LARGE = (1 << 21) + 5


@pytest.mark.parametrize("n", [1000, N, LARGE], ids=["one tile", "tiles", "ring"])
def test_a_graph_replayed_100_times(n):
    """Kernel and scratch may be made in the middle of the capture; the states need no reset between replays."""
    x, out, stream = cuda.to_device(np.ones(n, np.int64)), rubbish(n, np.int64), wk.Stream()
    with Capture(stream) as replay:
        device.cumsum(x, out=out, stream=stream)
        device.inclusive_scan(out, wk.maximum, out=out, reverse=True, stream=stream)
        device.exclusive_scan(out, wk.add, out=out, init=1, stream=stream)
    for value in range(100):
        x.copy_to_device(np.full(n, value))
        cuda.synchronize()
        replay()
        assert out[n - 1 :].copy_to_host()[0] == 1 + value * n * (n - 1)
        if value % 25 == 0:
            same(out.copy_to_host(), 1 + value * n * np.arange(n))
            device.cumsum(x, out=out, stream=stream)  # ordinary work on the same stream in between


def sizes_of(policy):
    """Return numbers of items around all at which another kernel begins, or another tile."""
    one, grown = policy.one.tile_items, policy.look_tiles * 256 * policy.look_items
    edges = {
        one,
        policy.large.tile_items,
        policy.sweep_until,
        grown,
        2 * grown,
        policy.look_until,
        policy.ring_from,
        policy.wide_from,
    }
    return sorted({max(n + k, 1) for n in edges for k in (-1, 0, 1)})


@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=label)
def test_where_one_kernel_takes_over_from_another(dtype):
    """Every dtype; sums and, of its own type, maxima: from both ends, in place, of a number that the device knows."""
    total = total_dtype(np.dtype(dtype))
    sizes = sizes_of(policy_for(machine.properties().compute_capability, np.dtype(dtype), total))
    x = values("cumsum", dtype, max(sizes))
    there, count = cuda.to_device(x), cuda.to_device(np.zeros(1, np.int64))
    order = slice(None, None, -1 if np.dtype(dtype).itemsize > 2 else 1)
    for n in sizes:
        same(device.cumsum(there[:n]).copy_to_host(), np_cumsum(x[:n]))
        if np.dtype(dtype).kind == "c":
            continue
        given = cuda.to_device(x[:n])
        device.inclusive_scan(given, wk.maximum, out=given, reverse=True)
        same(given.copy_to_host(), np.maximum.accumulate(x[:n][::-1])[::-1])
        part, out = n - n // 3, rubbish(n, dtype)
        count.copy_to_device(np.array([part]))
        device.exclusive_scan(there[:n], wk.maximum, init=x[0], num_items=count, out=out, reverse=order.step < 0)
        wanted = np.maximum.accumulate(np.concatenate([x[:1], x[:part][order]]))[:-1][order]
        same(out.copy_to_host()[:part], wanted)
        assert (out.copy_to_host()[part:] == np.array(77).astype(dtype)).all()


def test_a_function_never_seen_before_is_compiled_under_capture():
    modulus = int(np.random.default_rng().integers(10**6, 10**7))
    x, out, stream = cuda.to_device(np.arange(N)), rubbish(N, np.int64), wk.Stream()
    with Capture(stream) as replay:
        device.inclusive_scan(x, lambda a, b: (a + b) % modulus, out=out, stream=stream)
    replay()
    same(out.copy_to_host(), np.cumsum(np.arange(N)) % modulus)
    scratch.forget_captures()


def test_a_result_made_under_capture():
    x, stream = cuda.to_device(np.ones(N, np.int64)), wk.Stream()
    call = wk.prepare(device.cumsum, x, stream=stream)
    with Capture(stream) as replay:
        call(stream)
    replay()
    same(call.result.copy_to_host(), np.arange(1, N + 1))


def test_many_launches_of_all_sizes_on_the_same_states():
    rng = np.random.default_rng(5)
    host = rng.integers(-100, 100, 1 << 24, dtype=np.int32)
    x, out, wanted = cuda.to_device(host), rubbish(1 << 24, np.int32), np.cumsum(host, dtype=np.int32)
    for turn in range(400):
        n = int(rng.integers(1, 1 << 24 if turn % 3 else 1 << 18))
        device.inclusive_scan(x, wk.add, dtype=np.int32, num_items=n, out=out)
        got = out[:n].copy_to_host() if turn % 40 == 0 else out[n - 1 : n].copy_to_host()
        assert (got == wanted[n - len(got) : n]).all(), n


def test_eight_threads_on_the_same_stream_and_on_their_own():
    x, right, wrong = cuda.to_device(np.arange(N)), np.cumsum(np.arange(N)), []

    def work(stream):
        out = rubbish(N, np.int64)
        for turn in range(60):
            device.cumsum(x, out=out, stream=stream, policy=RINGS if turn % 2 else None)
            machine.stream_synchronize(0 if stream is None else int(getattr(stream, "handle", stream)))
            if out[N - 1 :].copy_to_host()[0] != right[-1]:
                wrong.append(stream)
        if (out.copy_to_host() != right).any():
            wrong.append(stream)

    on_eight_threads(work)
    assert not wrong


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_frameworks(name):
    library = imported(name)
    if library is None:
        return
    views = views_of(library)
    x, values = views[0]
    out = zeros_of(library, x.shape)
    for view, twin in views:
        same(device.cumsum(view).copy_to_host(), np.cumsum(twin))
    assert device.cumsum(x, out=out) is out
    found = out.cpu().numpy() if name == "torch" else out.get()
    same(found, np.cumsum(values).reshape(values.shape))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex128])
def test_marks_at_every_edge_of_a_ring_of_tiles(dtype):
    n = 3 * 132 * 512 * 35 + 77
    for step in (511, 512 * 35, 512 * 15, 512 * 7 - 1):
        x = np.zeros(n, dtype)
        x[::step] = np.arange(1, len(x[::step]) + 1) % 100 + 1
        right = np.repeat(x[::step], step)[:n]
        there = cuda.to_device(x)
        for policy in (None, RINGS):
            got = device.inclusive_scan(there, operators.last_nonzero, policy=policy).copy_to_host()
            assert (got == right).all()


def test_a_large_record_and_a_large_tuple():
    """Values of more than one access, and tiles that have to be made smaller for shared memory."""
    dtype = np.dtype([(name, np.float64) for name in "abcdef"])

    def keep(p, q):
        return p[0] + q[0], p[1] + q[1], p[2] + q[2], q[3], p[4], p[5] + q[5]

    x = np.zeros(100_000, dtype)
    for k, name in enumerate("abcdef"):
        x[name] = np.arange(100_000) % (k + 2)
    x = x[1:].copy()
    found = device.inclusive_scan(cuda.to_device(x), keep, policy=device.ScanPolicy(ring_from=50_000)).copy_to_host()
    for name in "abcf":
        same(found[name].copy(), np.cumsum(x[name]))
    same(found["d"].copy(), x["d"].copy())
    assert (found["e"] == 1).all()
