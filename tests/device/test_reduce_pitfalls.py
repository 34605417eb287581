"""Public bugs of reductions elsewhere, by the row of the collection that they come from: each must not happen here."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

from tests.reference import maximum, minimum
from tests.room import large, no_room
from tests.warp.matrix import REALS, SIMULATOR, label
from warpkit import device
from warpkit.simt import ops

from .reductions import DEFAULT, POLICY, result, same, to_device


def many(small, large):
    """Return how many items: a few in the simulator."""
    return small if SIMULATOR else large


class TestR01Layouts:
    """Strides are read, or refused; never taken for contiguous."""

    def test_every_other_item(self):
        assert device.sum(to_device(np.arange(20)[::2]), policy=POLICY) == 90

    def test_transposed(self):
        x = np.arange(12).reshape(3, 4).T
        assert device.sum(to_device(x), policy=POLICY) == 66
        assert device.argmax(to_device(x), policy=POLICY) == np.argmax(x)

    def test_columns(self):
        x = np.arange(30.0).reshape(6, 5)[:, :2]
        assert device.sum(to_device(x), policy=POLICY) == x.sum()

    def test_a_stride_of_an_axis_of_one_says_nothing(self):
        x = to_device(np.arange(5.0).reshape(1, 5))
        x.__cuda_array_interface__["strides"] = (12345, 8)
        assert device.sum(x, policy=POLICY) == 10

    def test_backwards(self):
        x = np.arange(9)[::-1]
        assert device.argmax(to_device(x), policy=POLICY) == 0
        assert device.reduce(to_device(x), lambda a, b: b, policy=POLICY) == 0


def test_r02_a_strided_output_element():
    """The result goes to the one element, its neighbours stay."""
    memory = np.zeros(6, np.int64)
    out = to_device(memory[3:4])
    device.sum(to_device(np.arange(10)), out=out, policy=POLICY)
    assert out.memory.copy_to_host().view(np.int64).tolist() == [0, 0, 0, 45, 0, 0]


def test_r03_broadcast_with_stride_0():
    assert device.sum(to_device(np.broadcast_to(np.int32(3), 5)), policy=POLICY) == 15
    assert device.sum(to_device(np.broadcast_to(np.arange(3), (100, 3))), policy=POLICY) == 300


@pytest.mark.parametrize("shape", [(0,), (10, 0), (0, 3)], ids=str)
def test_r04_empty_arrays_of_any_shape(shape):
    x = to_device(np.zeros(shape, np.float32))
    same(device.sum(x), np.float32(0))
    same(device.prod(x), np.float32(1))
    same(device.max(x, init=5), np.float32(5))


@pytest.mark.parametrize("dtype", REALS, ids=label)
def test_r05_minima_away_from_identities(dtype):
    x = to_device(np.array([2, 7, 5], dtype))
    same(device.min(x, policy=POLICY), dtype(2))
    same(device.max(x, policy=POLICY), dtype(7))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
@pytest.mark.parametrize("at", [0, 1, 0.5, -1])
def test_r06_nan_wins_wherever_it_is(dtype, at):
    n = many(600, 5000)
    x = np.arange(n).astype(dtype)
    place = int(at * n) if isinstance(at, float) else at % n
    x[place] = np.nan
    there = to_device(x)
    assert np.isnan(device.min(there, policy=POLICY))
    assert np.isnan(device.max(there, policy=POLICY))
    assert all(map(np.isnan, device.minmax(there, policy=POLICY)))
    assert device.argmin(there, policy=POLICY) == device.argmax(there, policy=POLICY) == place


def test_r06_all_nan_and_builtin_max_which_skips_nan():
    x = np.full(100, np.nan, np.float32)
    assert np.isnan(device.min(to_device(x), policy=POLICY))
    assert device.argmax(to_device(x), policy=POLICY) == 0
    x[60] = 4
    assert device.reduce(to_device(x), max, policy=POLICY) == 4
    assert np.isnan(device.reduce(to_device(x), np.maximum, policy=POLICY))


def test_r07_infinities():
    for value, find, take in ((np.inf, device.argmin, device.min), (-np.inf, device.argmax, device.max)):
        x = to_device(np.full(10, value, np.float32))
        assert find(x) == 0
        assert take(x) == value
    assert device.minmax(to_device(np.array([np.inf, np.inf]))) == (np.inf, np.inf)


def test_r08_extremes_are_those_of_the_type():
    assert device.max(to_device(np.array([-5, -3]))) == -3
    assert device.max(to_device(np.array([0, 0], np.uint8))) == 0
    assert device.max(to_device(np.array([-2.0, -1.0]))) == -1
    least = np.iinfo(np.int64).min
    assert device.max(to_device(np.full(70, least)), policy=POLICY) == least
    assert device.argmax(to_device(np.full(70, least)), policy=POLICY) == 0


@pytest.mark.parametrize("n", [1, 2, 400])
def test_r09_init_counts_once_and_there_is_no_hidden_one(n):
    ones = to_device(np.ones(n, np.int32))
    assert device.sum(ones, init=100, policy=POLICY) == 100 + n
    assert device.reduce(ones, lambda a, b: a + b, init=100, policy=POLICY) == 100 + n
    assert device.max(to_device(np.array([-4, -9] * n)), policy=POLICY) == -4
    assert device.prod(to_device(np.array([3, 5])), policy=POLICY) == 15


class TestR10Ties:
    """Of equal items the first, whatever the grid; operands in their order."""

    @pytest.mark.parametrize("policy", [POLICY, DEFAULT], ids=["small", "default"])
    def test_the_smallest_index(self, policy):
        x = to_device(np.arange(many(800, 2000)) % 3)
        assert device.argmax(x, policy=policy) == 2
        assert device.argmin(x, policy=policy) == 0

    def test_all_equal(self):
        zeros = to_device(np.zeros(many(1000, 10**6), np.float32))
        assert device.argmax(zeros, policy=POLICY) == device.argmin(zeros, policy=POLICY) == 0

    def test_the_last_of_two(self):
        x = np.zeros(many(900, 10**6), np.int32)
        x[[-5, -2]] = 7
        assert device.argmax(to_device(x), policy=POLICY) == len(x) - 5

    def test_order_of_operands(self):
        x = np.zeros(many(900, 10**6), np.int32)
        x[[3, 500, -2]] = 1, 2, 3
        last = device.reduce(to_device(x), lambda a, b: b if b != 0 else a, policy=POLICY)
        first = device.reduce(to_device(x), lambda a, b: a if a != 0 else b, policy=POLICY)
        assert (last, first) == (3, 1)


def test_r11_a_map_step_instead_of_an_operator_that_is_not_associative():
    x = to_device(np.arange(1, 5))
    assert device.transform_reduce(x, lambda v: v * v, operator.add) == 30
    assert "a + b * b" in device.reduce.__doc__


def test_r12_small_integers_widen():
    assert device.sum(to_device(np.ones(200, np.int8)), policy=POLICY) == 200
    assert device.sum(to_device(np.full(300, 255, np.uint8)), policy=POLICY) == 76500
    same(device.sum(to_device(np.ones(300, np.bool_)), policy=POLICY), np.int64(300))
    same(device.sum(to_device(np.ones(300, np.int8)), dtype=np.int8, policy=POLICY), np.int8(44))


def test_r13_halves_are_added_in_float32():
    same(device.sum(to_device(np.ones(4096, np.float16)), policy=DEFAULT), np.float32(4096))
    same(device.sum(to_device(np.full(9000, 8, np.float16))), np.float32(72_000))
    same(device.mean(to_device(np.full(9000, 8, np.float16))), np.float32(8))
    n = many(9, 70_000)
    same(device.sum(to_device(np.ones(n, np.float16))), np.float32(n))


def test_r14_errors_of_trees():
    n = many(9_000, 10**6)
    assert abs(float(device.sum(to_device(np.full(n, 0.1, np.float32)))) / (n * float(np.float32(0.1))) - 1) < 1e-6
    ones = many(9_000, 20 * 10**6)
    assert device.sum(to_device(np.ones(ones, np.float32))) == ones


class TestR15ResultDtypes:
    """The result is converted to the dtype of out, or refused."""

    @pytest.mark.parametrize("dtype", [np.float64, np.int8, np.int32, np.complex64, np.float16], ids=label)
    def test_converted(self, dtype):
        out = result(dtype)
        device.sum(to_device(np.array([1, 2, 3], np.int32)), out=out)
        assert out.copy_to_host()[0] == 6

    def test_integers_wrap(self):
        out = result(np.int8)
        device.sum(to_device(np.array([100, 100], np.int32)), out=out)
        assert out.copy_to_host()[0] == -56

    @pytest.mark.parametrize(
        ("items", "out"), [(np.float32, np.int32), (np.complex64, np.float32), (np.int32, np.uint8)]
    )
    def test_refused(self, items, out):
        target = result(out)
        with pytest.raises(TypeError, match=r"^sum: \w+ does not go into out of \w+;"):
            device.sum(to_device(np.ones(3, items)), out=target)
        assert target.copy_to_host()[0] == 77


def test_r16_items_totals_and_results_are_three_types():
    x = to_device(np.array([5, 2, 9], np.int16))  # totals (int16, int64), results int64
    out = result(np.int8)
    device.argmin(x, out=out)
    assert out.copy_to_host()[0] == 1
    halves = device.transform_reduce(x, lambda v: (v, v * 0.5), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    assert halves.item() == (16, 8.0)
    assert [halves.dtype[name] for name in halves.dtype.names] == [np.int16, np.float64]


class TestR17Records:
    """Fields are where the dtype says, holes and misalignment included."""

    HOLES = np.dtype({"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [0, 8], "itemsize": 16})
    PACKED = np.dtype([("a", "i1"), ("b", "f8"), ("c", "f2"), ("d", "c8"), ("e", "?")])

    def test_offsets_and_holes(self):
        total = device.sum(to_device(np.array([(1, 0.5)] * 10, self.HOLES)))
        assert total.item() == (10, 5.0)
        assert (total.dtype["a"], total.dtype["b"]) == (np.int64, np.float32)

    def test_packed(self):
        rng = np.random.default_rng(1)
        x = np.zeros(many(200, 9000), self.PACKED)
        for name in x.dtype.names:
            x[name] = rng.integers(0, 5, len(x))
        total = device.sum(to_device(x), policy=POLICY)
        for name in x.dtype.names:
            assert total[name] == x[name].sum(dtype=np.complex128 if name == "d" else np.float64)
        real = x[["a", "b", "c", "e"]]
        least = device.min(
            to_device(np.array(real.tolist(), [(n, x.dtype[n]) for n in real.dtype.names])), policy=POLICY
        )
        assert least.item() == tuple(x[name].min() for name in real.dtype.names)

    def test_an_operator_on_tuples(self):
        x = np.zeros(many(300, 9000), self.HOLES)
        rng = np.random.default_rng(2)
        x["a"], x["b"] = rng.choice([-1, 1], len(x)), rng.integers(-3, 4, len(x))
        compose = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
        assert device.reduce(to_device(x), compose, policy=POLICY).item() == functools.reduce(compose, x.tolist())

    def test_into_a_record(self):
        out = to_device(np.zeros(1, self.HOLES))
        device.max(to_device(np.array([(1, 0.5), (-3, 7), (0, 1)], self.HOLES)), out=out)
        assert out.memory.copy_to_host().view(self.HOLES).tolist() == [(1, 7.0)]


@large(3)
def test_r18_more_items_than_32_bits_count():
    n = 2**31 + 10
    memory = cuda.device_array(n, np.uint8)
    cuda.cudadrv.driver.device_memset(memory, 0, n)
    for place in (0, 2**31 - 1, 2**31, n - 1):
        memory[place : place + 1].copy_to_device(np.array([200], np.uint8))
    assert device.sum(memory) == 800
    assert device.count_nonzero(memory) == 4
    assert device.argmax(memory) == 0
    assert device.argmax(memory[1:]) == 2**31 - 2
    assert device.max(memory) == 200
    assert device.reduce(memory, lambda a, b: b if b != 0 else a) == 200
    assert device.sum(to_device(np.broadcast_to(np.uint8(1), 2**32 + 5))) == 2**32 + 5


@pytest.mark.parametrize("n", [1003, 64 * 4 * 3 + 1] if SIMULATOR else [1_000_003, 4096 * 7 + 1, 4096 * 133 - 1])
def test_r19_nothing_pads(n):
    assert device.min(to_device(np.full(n, 7.5, np.float32))) == 7.5
    assert device.min(to_device(np.full(n, 7.5, np.float32)), policy=POLICY) == 7.5


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257])
def test_r20_small_sizes(n):
    x = to_device(np.arange(1, n + 1, dtype=np.int32))
    assert device.sum(x, policy=POLICY) == n * (n + 1) // 2
    assert device.reduce(x, lambda a, b: b, policy=POLICY) == n
    assert device.minmax(x, policy=POLICY) == (1, n)


def test_r21_nothing_to_reduce():
    empty = to_device(np.zeros((3, 0), np.float32))
    assert device.sum(empty) == 0
    for function in (device.min, device.max, device.argmin, device.argmax, device.minmax):
        with pytest.raises(ValueError, match="there are no items and no init"):
            function(empty)
    with pytest.raises(ValueError, match="there are no items and no init"):
        device.reduce(empty, lambda a, b: a)
    assert np.isnan(device.mean(empty))
    assert (device.any(empty), device.all(empty)) == (False, True)


def test_r22_the_same_bits_every_time():
    x = to_device(np.random.default_rng(9).random(many(2500, 10**7), np.float32) - np.float32(0.4))
    runs = 3 if SIMULATOR else 50
    assert len({device.sum(x, policy=DEFAULT).tobytes() for _ in range(runs)}) == 1


def test_a_sum_of_negative_zeros_is_zero_as_that_of_numpy():
    for n in (1, 2, many(40, 5000)):
        for function in (np.sum, np.mean):
            x = np.full(n, -0.0)
            same(getattr(device, function.__name__)(to_device(x), policy=POLICY), function(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
def test_r23_signs_of_zeros(dtype):
    rng = np.random.default_rng(3)
    for x in (np.array([-0.0, 0.0]), np.array([0.0, -0.0]), rng.choice([0.0, -0.0], many(300, 10_000))):
        x = x.astype(dtype)
        same(device.max(to_device(x), policy=POLICY), functools.reduce(maximum, x))
        same(device.min(to_device(x), policy=POLICY), functools.reduce(minimum, x))
        assert not np.signbit(device.max(to_device(x), policy=POLICY))
        assert np.signbit(device.min(to_device(x), policy=POLICY))


class TestR24Bools:
    """A bool is one byte, counted as an integer; a result of 0 or 1."""

    def test_counted(self):
        same(device.sum(to_device(np.ones(300, np.bool_)), policy=POLICY), np.int64(300))
        same(device.any(to_device(np.zeros(300, np.bool_)), policy=POLICY), np.False_)
        same(device.all(to_device(np.ones(300, np.bool_)), policy=POLICY), np.True_)

    def test_bytes_of_results(self):
        out = to_device(np.full(1, 77, np.uint8).view(np.bool_))
        device.any(to_device(np.full(9, 64, np.int32)), out=out)
        assert out.memory.copy_to_host().tolist() == [1]

    def test_operators(self):
        x = np.zeros(500, np.bool_)
        x[450] = True
        assert device.reduce(to_device(x), operator.or_, policy=POLICY) == True  # noqa: E712
        assert device.reduce(to_device(x), ops.logical_and, policy=POLICY) == False  # noqa: E712
        assert device.reduce(to_device(x), lambda a, b: a or b, policy=POLICY) == True  # noqa: E712


def test_s18_no_room_for_scratch():
    """Memory pressure raises, leaves the output as it was and the library usable."""
    from warpkit.host import scratch
    from warpkit.simt import machine

    x, out = to_device(np.ones(2000, np.float32)), result(np.float32)
    stream = machine.stream_create()
    with no_room(), pytest.raises(MemoryError, match=r"^allocation of \d+ bytes: "):
        device.sum(x, out=out, stream=stream, policy=POLICY)
    assert out.copy_to_host()[0] == 77
    before = scratch.held_bytes()
    device.sum(x, out=out, stream=stream, policy=POLICY)
    machine.stream_synchronize(stream)
    assert out.copy_to_host()[0] == 2000
    assert scratch.held_bytes() > before
