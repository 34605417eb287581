"""What others' scans got wrong, each as a test: rows S of the collection of pitfalls, and what users get wrong."""

import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.room import large, no_room
from tests.warp import operators
from tests.warp.matrix import SIMULATOR, label
from warpkit import device

from .scans import DEFAULT, NONE_FEW, POLICIES, RINGS, SMALL, fold, host, rubbish, same, to_device

TILE = 96 if SIMULATOR else 3840
RING = 96 if SIMULATOR else 512 * 35


def many(simulated, real):
    """Return a size: small in the simulator."""
    return simulated if SIMULATOR else real


def plus(a, b):
    """Return a + b, as a user writes it."""
    return a + b


def test_s01_a_carry_belongs_to_all_items_of_a_tile():
    n = 4 * TILE + 3
    for policy in POLICIES:
        same(host(device.exclusive_scan(to_device(np.ones(n, np.int64)), wk.add, policy=policy)), np.arange(n))


def test_s02_exclusive_in_place():
    x = cuda.to_device(np.array([5, 1, 2]))
    device.exclusive_scan(x, wk.add, init=100, out=x, policy=DEFAULT)
    assert x.copy_to_host().tolist() == [100, 105, 106]
    n = many(3 * TILE, 3 * RING)
    x = cuda.to_device(np.ones(n, np.int64))
    device.exclusive_scan(x, plus, init=100, out=x, policy=DEFAULT)
    same(x.copy_to_host(), 100 + np.arange(n))


class TestS03Overlap:
    """x itself, or memory of its own: what overlaps otherwise is refused, before anything runs."""

    @pytest.mark.parametrize("shift", [-1, 1, 50])
    def test_a_part_of_x(self, shift):
        memory = cuda.to_device(np.arange(400))
        x = memory[60:260]
        with pytest.raises(ValueError, match=r"^cumsum: out shares memory with x without being x"):
            device.cumsum(x, out=memory[60 + shift : 260 + shift])
        same(memory.copy_to_host(), np.arange(400))

    def test_the_same_place_in_other_steps_or_sizes(self):
        memory = cuda.to_device(np.arange(400))
        with pytest.raises(ValueError, match="shares memory"):
            device.cumsum(memory[:200], out=memory[::2])
        with pytest.raises(ValueError, match="shares memory"):
            device.cumsum(memory[:100].view(np.int32), out=memory[:200])

    def test_it_is_seen_at_a_later_call_with_known_layouts(self):
        memory = cuda.to_device(np.arange(400))
        device.cumsum(memory[:100], out=memory[100:200])
        with pytest.raises(ValueError, match="shares memory"):
            device.cumsum(memory[:100], out=memory[99:199])

    def test_neighbours_columns_and_x_do_not_overlap(self):
        memory = cuda.to_device(np.ones(400, np.int64))
        device.cumsum(memory[:100], out=memory[100:200], policy=SMALL)
        device.cumsum(memory[200::2], out=memory[201::2], policy=SMALL)
        device.cumsum(memory[:100], out=memory[:100], policy=SMALL)
        found = memory.copy_to_host()
        assert found[:100].tolist() == found[100:200].tolist() == found[201::2].tolist() == [*range(1, 101)]
        assert (found[200::2] == 1).all()


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_s04_last_write_wins(off):
    n, first, second = many(400, 20_000), TILE + off, 2 * TILE + off
    x = np.zeros(n, np.int32)
    x[first], x[second] = 7, 9
    for policy in POLICIES:
        found = host(device.inclusive_scan(to_device(x), lambda a, b: b if b else a, policy=policy))
        assert found.tolist() == [*[0] * first, *[7] * (second - first), *[9] * (n - second)]


def test_s05_first_order_recurrences():
    pairs = np.dtype([("a", np.uint32), ("b", np.uint32)])

    def affine(p, q):
        return p[0] * q[0], q[0] * p[1] + q[1]

    def wrapped(p, q):
        return p[0] * q[0] % 2**32, (q[0] * p[1] + q[1]) % 2**32

    found = host(device.inclusive_scan(to_device(np.array([(2, 1), (3, 0), (1, 5)], pairs)), affine, policy=DEFAULT))
    assert found.tolist()[-1] == (6, 8)
    for n in (1, 64, 65, 128, 129, 300) if SIMULATOR else (*range(1, 200), 1000, 4097, 5000, 40_000):
        x = np.array(list(zip(range(3, n + 3), range(n))), pairs)
        got = host(device.inclusive_scan(to_device(x), affine, policy=DEFAULT)).tolist()
        assert got == fold(wrapped, x.tolist())


def test_s06_reverse_of_an_operator_that_has_an_order():
    x = np.array([0, 3, 0, 5, 0])
    last = operators.last_nonzero
    assert host(device.inclusive_scan(to_device(x), last, reverse=True, policy=DEFAULT)).tolist() == [3, 3, 5, 5, 0]
    rng = np.random.default_rng(6)
    x = np.where(rng.random(many(500, 70_001)) < 0.01, rng.integers(1, 99, many(500, 70_001)), 0)
    for policy in POLICIES:
        turned = host(device.inclusive_scan(to_device(x[::-1]), last, policy=policy))[::-1]
        assert host(device.inclusive_scan(to_device(x), last, reverse=True, policy=policy)).tolist() == turned.tolist()


def test_s07_discounted_sums_are_pairs():
    x = np.array([(0.5, 1.0)] * 4, [("g", np.float64), ("b", np.float64)])
    found = host(device.inclusive_scan(to_device(x), lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), policy=DEFAULT))
    assert found["b"].tolist() == [1, 1.5, 1.75, 1.875]
    assert "a * g + b" in device.inclusive_scan.__doc__


@large(5)
@pytest.mark.parametrize("n", [2**31 - 1, 2**31 + 10])
def test_s08_more_items_than_32_bits_count(n):
    x, out = cuda.device_array(n, np.uint8), cuda.device_array(n, np.uint8)
    cuda.cudadrv.driver.device_memset(x, 0, n)
    for place in (0, n - 1):
        x[place : place + 1].copy_to_device(np.array([1], np.uint8))
    device.cumsum(x, out=out)
    for place, right in ((0, 1), (1, 1), (n // 2, 1), (n - 2, 1), (n - 1, 2)):
        assert out[place : place + 1].copy_to_host()[0] == right
    assert device.sum(out) == n + 1
    device.inclusive_scan(x, operators.last_nonzero, out=x, reverse=True)
    assert device.sum(x) == n


def test_s09_extents_multiply_in_64_bits():
    """A view of a few bytes that has more items than 32 bits count, of which few are asked for."""
    x = np.broadcast_to(np.ones((1, 2), np.int8), (2**30, 3, 2)) if SIMULATOR else None
    view = to_device(np.broadcast_to(np.int8(1), (2**17, 2**16)) if x is None else x)
    same(host(device.cumsum(view, num_items=300, policy=SMALL)), np.arange(1, 301))


def test_s10_rounding_is_stated_and_float64_is_there():
    x = np.random.default_rng(4).random(many(500, 200_000), np.float32)
    wide = host(device.cumsum(to_device(x), dtype=np.float64, policy=DEFAULT))
    assert wide.dtype == np.float64
    assert (np.diff(wide) >= 0).all()
    assert "monotonic" in device.scan.__doc__


@pytest.mark.gpu
def test_s11_another_kernel_fills_the_gpu():
    @cuda.jit
    def busy(x, turns):
        i = cuda.grid(1)
        v = x[i]
        for _ in range(turns):
            v = v * np.float32(1.0001) + np.float32(0.5)
        x[i] = v

    n, side, stream = 6_000_000, cuda.to_device(np.ones(1 << 20, np.float32)), wk.Stream()
    x, out, other = cuda.to_device(np.ones(n, np.int32)), rubbish(n, np.int64), cuda.stream()
    busy[4096, 256, other](side, 1)
    for turns in (1000, 50_000, 200_000):
        busy[4096, 256, other](side, turns)
        for _ in range(20):
            device.cumsum(x, out=out, stream=stream)
        stream.synchronize()
        same(out.copy_to_host(), np.arange(1, n + 1))


@pytest.mark.gpu
def test_s12_sizes_around_all_threads_of_the_gpu():
    resident = cuda.get_current_device().MULTIPROCESSOR_COUNT * 2048
    for n in (resident - 1, resident, resident + 1, 4 * resident + 1):
        for policy in POLICIES:
            same(host(device.cumsum(to_device(np.ones(n, np.int32)), policy=policy)), np.arange(1, n + 1))


def test_s13_several_streams_through_one_plan():
    n = many(400, 100_000)
    streams = [wk.Stream() for _ in range(4)]
    arrays = [cuda.to_device(np.full(n, k + 1)) for k in range(4)]
    outs = [rubbish(n, np.int64) for _ in range(4)]
    for _ in range(many(2, 50)):
        for x, out, stream in zip(arrays, outs, streams):
            device.cumsum(x, out=out, stream=stream, policy=RINGS)
    for k, (out, stream) in enumerate(zip(outs, streams)):
        stream.synchronize()
        same(out.copy_to_host(), np.arange(1, n + 1) * (k + 1))


@pytest.mark.parametrize("shape", [0, (0, 3), (3, 0)])
def test_s14_nothing_to_scan(shape):
    x = to_device(np.zeros(shape, np.int32))
    found = device.exclusive_scan(x, wk.add, init=9)
    assert (found.size, found.dtype) == (0, np.int64)
    out = rubbish(5, np.int64)
    assert device.cumsum(to_device(np.arange(5)), out=out, num_items=0) is out
    assert (out.copy_to_host() == 77).all()
    assert device.cumsum(x, out=rubbish(0, np.int64)).size == 0


def test_s18_no_room_for_scratch():
    """Memory pressure raises, leaves the output as it was and the library usable."""
    from warpkit.simt import machine

    x, out = to_device(np.ones(2000, np.float32)), rubbish(2000, np.float32)
    stream = machine.stream_create()
    device.cumsum(x, out=out, num_items=2, policy=SMALL)
    out.copy_to_device(np.full(2000, 77, np.float32))
    with no_room(), pytest.raises(MemoryError, match=r"^allocation of \d+ bytes: "):
        device.cumsum(x, out=out, stream=stream, policy=SMALL)
    assert (out.copy_to_host() == 77).all()
    device.cumsum(x, out=out, stream=stream, policy=SMALL)
    machine.stream_synchronize(stream)
    same(out.copy_to_host(), np.arange(1, 2001, dtype=np.float32))


@pytest.mark.gpu
def test_s20_no_limit_of_a_grid():
    n = 128 * 65_536 + 1
    x = np.zeros(n, np.int8)
    x[-2:] = 1
    tiles = device.ScanPolicy(ring_from=1 << 40, tile_threads=32, tile_items=1, **NONE_FEW)
    assert host(device.cumsum(to_device(x), policy=tiles))[-3:].tolist() == [0, 1, 2]


def test_s21_a_part_of_a_wider_matrix():
    big = np.arange(60).reshape(6, 10)
    there = cuda.to_device(big)
    same(host(device.cumsum(there[:4, :7], policy=DEFAULT)), np.cumsum(big[:4, :7]))
    device.cumsum(there[2], out=there[2], policy=DEFAULT)  # a row at a time
    big[2] = np.cumsum(big[2])
    same(there.copy_to_host(), big)


def test_s22_what_is_promised_of_floats():
    n = many(600, 250_000)
    found = [host(device.cumsum(to_device(np.full(n, 0.1)), policy=DEFAULT)) for _ in range(2)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[0], 0.1 * np.arange(1, n + 1), rtol=1e-9)
    assert "depends on timing" in device.scan.__doc__


def test_s23_counts_of_bools_every_time():
    n = many(700, 524_288)
    x, out = to_device(np.ones(n, np.bool_)), rubbish(n, np.int64)
    for _ in range(many(3, 200)):
        device.cumsum(x, out=out, policy=DEFAULT)
        assert out[n - 1 :].copy_to_host()[0] == n
    same(out.copy_to_host(), np.arange(1, n + 1))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=label)
def test_r12_small_integers_widen(dtype):
    same(
        host(device.cumsum(to_device(np.ones(300, dtype)), policy=SMALL)),
        np.arange(1, 301).astype(np.int64 if dtype == np.int8 else np.uint64),
    )


def test_r13_halves_are_added_in_float32():
    x = np.full(3000, 1, np.float16)
    x[0] = 2048  # in float16 nothing that is added to it counts
    found = host(device.cumsum(to_device(x), policy=DEFAULT))
    same(found, (2047 + np.arange(1.0, 3001.0)).astype(np.float16))


class TestRefusals:
    """One sentence: which scan, what it got, what to do instead."""

    def test_axis(self):
        x = to_device(np.ones((3, 4)))
        for function, more in ((device.cumsum, ()), (device.cumprod, ()), (device.inclusive_scan, (wk.add,))):
            with pytest.raises(TypeError, match=rf"^{function.__name__}: axis= does not exist"):
                function(x, *more, axis=0)

    @pytest.mark.parametrize("reverse", ["no", 1, None, np.ones(2, bool)], ids=repr)
    def test_a_direction_is_a_bool(self, reverse):
        x, out = to_device(np.arange(5)), to_device(np.zeros(5, np.int64))
        calls = [(device.cumsum,), (device.cumprod,), (device.inclusive_scan, wk.add), (device.exclusive_scan, plus)]
        for function, *more in calls:
            with pytest.raises(TypeError, match=rf"^{function.__name__}: reverse must be True or False, not"):
                function(x, *more, reverse=reverse)
            with pytest.raises(TypeError, match=rf"^{function.__name__}: reverse must be True or False, not"):
                function(x, *more, out=out, reverse=reverse)
        same(host(device.cumsum(x, reverse=np.True_)), np.array([10, 10, 9, 7, 4]))

    def test_several_arrays(self):
        x = to_device(np.ones(4))
        with pytest.raises(TypeError, match=r"^inclusive_scan: x must be one array; several.*structured"):
            device.inclusive_scan((x, x), plus)

    def test_a_host_array(self):
        with pytest.raises(TypeError, match="x"):
            device.cumsum(np.ones(4))

    def test_no_init(self):
        with pytest.raises(ValueError, match=r"^exclusive_scan: there is no init"):
            device.exclusive_scan(to_device(np.ones(4)), plus)

    def test_an_init_that_does_not_go_in(self):
        with pytest.raises(TypeError, match=r"^cumsum: init 0.5 does not go into int64"):
            device.cumsum(to_device(np.ones(4, np.int32)), init=0.5)

    def test_no_operator(self):
        for op in (None, 3, np.hypot.__name__):
            with pytest.raises(TypeError, match=r"^inclusive_scan: op must be a function"):
                device.inclusive_scan(to_device(np.ones(4)), op)
        with pytest.raises(TypeError, match=r"^inclusive_scan: .*2"):
            device.inclusive_scan(to_device(np.ones(4)), lambda a: a)

    def test_an_operator_that_is_not_defined(self):
        with pytest.raises(TypeError, match=r"^exclusive_scan: minimum is not defined on complex64"):
            device.exclusive_scan(to_device(np.ones(4, np.complex64)), wk.minimum)
        with pytest.raises(TypeError, match=r"^inclusive_scan: bit_or needs integers"):
            device.inclusive_scan(to_device(np.ones(4)), operator.or_)

    def test_an_out_that_does_not_fit(self):
        x = to_device(np.ones(40, np.float32))
        with pytest.raises(ValueError, match=r"^cumsum: out must have 40 elements"):
            device.cumsum(x, out=rubbish(39, np.float32))
        with pytest.raises(TypeError, match=r"^cumsum: float32 does not go into out of int32"):
            device.cumsum(x, out=rubbish(40, np.int32))
        with pytest.raises(TypeError, match=r"^cumsum: out .* has axes that do not line up"):
            device.cumsum(x, out=cuda.to_device(np.ones((4, 20), np.float32))[:, :10])

    def test_a_number_of_items_that_is_none(self):
        with pytest.raises(ValueError, match=r"^cumsum: num_items must be 0 to 40"):
            device.cumsum(to_device(np.ones(40)), num_items=41)

    def test_policies(self):
        with pytest.raises(TypeError, match=r"^ScanPolicy: threads must be a multiple of 32"):
            device.ScanPolicy(threads=100)
        with pytest.raises(TypeError, match=r"^ScanPolicy: stages must be 2 to 8"):
            device.ScanPolicy(stages=1)
        with pytest.raises(TypeError, match=r"^cumsum: policy must be a ScanPolicy"):
            device.cumsum(to_device(np.ones(4)), policy=device.ReducePolicy())
