"""parallel_for and parallel_reduce beyond 2**31 items and under capture: on a GPU only."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.host.loops import device, device_function
from tests.room import large

pytestmark = pytest.mark.gpu


@device_function
def sampled(i, j, hits):
    """Count the diagonal, and note the corners."""
    if i == j:
        cuda.atomic.add(hits, 0, 1)
    if (i == 0 or i == hits[5] - 1) and (j == 0 or j == hits[5] - 1):
        cuda.atomic.add(hits, 1 + 2 * (i != 0) + (j != 0), 1)


@pytest.mark.parametrize("extent", [65536, 100000])
def test_p07_a_square_of_more_than_32_bits(extent):
    hits = device(np.array([0, 0, 0, 0, 0, extent]))
    wk.parallel_for((extent, extent), sampled, hits)
    assert hits.copy_to_host().tolist() == [extent, 1, 1, 1, 1, extent]


@pytest.mark.parametrize("given", [range(0, 3_000_000_000, 1000), 2**31 + 1, range(2**33, 0, -3)], ids=str)
def test_p06_ranges_beyond_32_bits_are_counted(given):
    items = given if isinstance(given, int) else len(given)
    hits = device(np.zeros(4096, np.int64))
    wk.parallel_for(given, lambda i, hits: cuda.atomic.add(hits, i & 4095, 1), hits)
    assert hits.copy_to_host().sum() == items
    ends = range(given) if isinstance(given, int) else given
    total = (ends[0] + ends[-1]) * items // 2  # the last one is beyond int64, and wraps as NumPy's sums do
    assert int(wk.parallel_reduce_sum(given, lambda i: i)) % 2**64 == total % 2**64


def write_byte(i, x):
    """Write what tells the two halves of 2**32 apart."""
    x[i] = (i + (i >> 31)) & 255


@large(3)
def test_p08_the_last_byte_of_an_array_beyond_2_31():
    n = 2**31 + 64
    x = cuda.device_array(n, np.uint8)
    wk.parallel_for(n, write_byte, x)
    for begin in (0, 2**31 - 32, n - 64):
        k = np.arange(begin, begin + 64)
        assert (x[begin : begin + 64].copy_to_host() == ((k + (k >> 31)) & 255)).all()
    assert wk.parallel_reduce_sum(n, lambda i, x: x[i], x) == 2**23 * 32640 + sum(range(1, 65))


@pytest.mark.parametrize("shape", [(3, 2**20, 1000), (2**11, 2**10, 3, 2**10)], ids=str)
def test_64_bit_walks_of_three_and_four_dimensions(shape):
    items = int(np.prod(shape))
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    if len(shape) == 3:
        s0, s1 = strides[:2]
        total = wk.parallel_reduce_sum(shape, lambda i, j, k: i * s0 + j * s1 + k)
    else:
        s0, s1, s2 = strides[:3]
        total = wk.parallel_reduce_sum(shape, lambda i, j, k, m: i * s0 + j * s1 + k * s2 + m)
    assert int(total) % 2**64 == items * (items - 1) // 2 % 2**64  # beyond int64 it wraps, as NumPy's sums do


def outside_2(i, j, rows, columns, places):
    """Count an index outside of the range."""
    if not (0 <= i < rows and 0 <= j < columns):
        cuda.atomic.add(places, 0, 1)


def outside_3(i, j, k, planes, rows, columns, places):
    """Count an index outside of the range."""
    if not (0 <= i < planes and 0 <= j < rows and 0 <= k < columns):
        cuda.atomic.add(places, 0, 1)


@pytest.mark.parametrize("shape", [(1291, 1303, 1277), (46349, 46349)], ids=str)
def test_odd_extents_just_around_2_31_items(shape):
    places = device(np.zeros(1, np.int64))
    n1, n2 = shape[1], shape[-1]
    wk.parallel_for(shape, outside_3 if len(shape) == 3 else outside_2, *shape, places)
    assert places.copy_to_host()[0] == 0
    if len(shape) == 3:
        total = wk.parallel_reduce_sum(shape, lambda i, j, k: (i * n1 + j) * n2 + k)
    else:
        total = wk.parallel_reduce_sum(shape, lambda i, j: i * n2 + j)
    items = int(np.prod(shape))
    assert int(total) % 2**64 == items * (items - 1) // 2 % 2**64  # beyond int64 it wraps, as NumPy's sums do


def copy(i, x, y):
    """Copy an item."""
    y[i] = x[i]


def copy_3(i, j, k, x, y):
    """Copy an item."""
    y[i, j, k] = x[i, j, k]


def test_large_copies_are_exact():
    n = 1 << 26
    x = np.random.default_rng(3).random(n, dtype=np.float32)
    source, target = device(x), device(np.zeros(n, np.float32))
    wk.parallel_for(n, copy, source, target)
    assert (target.copy_to_host() == x).all()
    target.copy_to_device(np.zeros(n, np.float32))
    shape = (512, 256, 512)
    wk.parallel_for(shape, copy_3, source.reshape(shape), target.reshape(shape))
    assert (target.copy_to_host() == x).all()


# ------------------------------------------------------------------ capture


def captured(work):
    """Capture what `work(stream)` sends to a stream; return a function that replays it and waits."""
    from cuda.bindings import driver

    def ask(answer):
        assert not answer[0], answer
        return answer[1] if len(answer) == 2 else None

    stream = wk.Stream()
    handle = driver.CUstream(stream.handle)
    ask(driver.cuStreamBeginCapture(handle, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    try:
        work(stream)
    finally:
        graph = ask(driver.cuStreamEndCapture(handle))
    ready = ask(driver.cuGraphInstantiate(graph, 0))

    def replay():
        ask(driver.cuGraphLaunch(ready, handle))
        stream.synchronize()

    return replay


def test_p28_loops_and_sums_are_captured_and_replayed_on_changed_input():
    x, y, out = device(np.arange(5000)), device(np.zeros(5000, np.int64)), device(np.array([91]))

    def add(i, x, y):
        y[i] = 2 * x[i]

    def read(i, y):
        return y[i]

    def work(stream=None):
        wk.parallel_for(5000, add, x, y, stream=stream)
        wk.parallel_reduce_sum(5000, read, y, out=out, stream=stream)

    work()  # compiles
    wk.synchronize()
    replay = captured(work)
    for k in range(10):
        x.copy_to_device(np.arange(5000) + k)
        wk.synchronize()  # Numba returns before it has copied, and the replay's stream waits for no other
        replay()
        assert out.copy_to_host()[0] == 2 * (np.arange(5000) + k).sum()
        wk.parallel_reduce_sum(5000, read, x, out=device(np.zeros(1, np.int64)))  # other work in between


def test_p28_a_result_on_the_host_is_refused_under_capture():
    wk.parallel_reduce_sum(5000, lambda i: i)
    with pytest.raises(wk.Refused, match="out="):
        captured(lambda stream: wk.parallel_reduce_sum(5000, lambda i: i, stream=stream))


def spin(i, flag):
    """Wait until the flag is set, a few seconds at most, and note that it was."""
    for _ in range(20_000_000):
        if cuda.atomic.add(flag, 0, 0) == 1:
            flag[1] = 1
            break


def release(i, flag):
    """Set the flag."""
    cuda.atomic.add(flag, 0, 1)


def number(i, x):
    """Write the index."""
    x[i] = i


def test_a_loop_on_one_stream_runs_while_another_stream_spins():
    slow, fast = wk.Stream(), wk.Stream()
    flag, x = device(np.zeros(2, np.int64)), device(np.zeros(1000, np.int64))
    for body, first in ((spin, flag), (release, flag), (number, x)):
        wk.prepare(wk.parallel_for, 1, body, first)  # compiles
    wk.parallel_for(1, spin, flag, stream=slow)
    wk.parallel_for(1000, number, x, stream=fast)
    wk.parallel_for(1, release, flag, stream=fast)
    wk.synchronize()
    assert flag.copy_to_host().tolist() == [1, 1]
    assert (x.copy_to_host() == np.arange(1000)).all()


def test_sums_on_four_streams_at_once_a_hundred_times():
    streams = [wk.Stream() for _ in range(4)]
    n = 1 << 20
    x = device(np.arange(n))
    outs = [device(np.zeros(100, np.int64)) for _ in streams]

    def read(i, x, k):
        return x[i] + k

    for repeat in range(100):
        for k, (stream, out) in enumerate(zip(streams, outs)):
            wk.parallel_reduce_sum(n, read, x, k, out=out[repeat : repeat + 1], stream=stream)
    wk.synchronize()
    for k, out in enumerate(outs):
        assert (out.copy_to_host() == n * (n - 1) // 2 + k * n).all()
