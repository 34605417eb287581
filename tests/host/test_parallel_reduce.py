"""parallel_reduce: sums of the seed, dtypes, `out`, empty ranges, streams, prepared calls, refusals."""

import itertools
import math
import operator

import numpy as np
import pytest

import warpkit as wk
from tests.host.loops import device
from tests.warp.matrix import SIMULATOR
from warpkit.errors import Refused
from warpkit.host import parallel_reduce_plan
from warpkit.host.parallel_reduce_kernels import ROW, THREADS, TILE, WARPS
from warpkit.host.parallel_reduce_plan import layout_of
from warpkit.host.ranges import dimensions_of

# The seed's sums of all coordinates. The large ones take minutes in the simulator; they have smaller neighbours.
SUMS = [
    (wk.Range(3, 10, 2), 24),
    (8193, 33558528),
    (range(1, 16386, 2), 67125249),
    (wk.Range((1, 2, 3), (4, 7, 8), (2, 3, 2)), 126),
    ((17, 31), 12121),
    ((64, 64), 258048),
    ((2, 3, 5, 7), 1365),
    ((1, 20000), 199990000),
    ((3, 5, 9000), 607837500),
    (wk.Range((1, 0, 3), (3, 2, 30000), (1, 1, 3)), 600019992),
    ((4, 300, 40), 8184000),
    (0, 0),
    ((5, 0, 7), 0),
]
BODIES = [
    lambda i: i,
    lambda i, j: i + j,
    lambda i, j, k: i + j + k,
    lambda i, j, k, m: i + j + k + m,
]
MOST = 10_000 if SIMULATOR else 1 << 40


def summed(given, **options):
    """Return the sum of all coordinates."""
    return wk.parallel_reduce_sum(given, BODIES[len(dimensions_of(given)) - 1], **options)


def size(given):
    """Return how many items a range has."""
    return math.prod(d.length for d in dimensions_of(given))


@pytest.mark.parametrize(("given", "total"), [case for case in SUMS if size(case[0]) <= MOST], ids=str)
def test_sums_of_coordinates(given, total):
    assert summed(given) == total


@pytest.mark.parametrize(
    "given", [range(10, -10, -3), (range(5, 0, -2), 7), (3, range(-4, 9, 5), 2), (2, range(6, 2, -1), 3, 5)], ids=str
)
def test_sums_of_ranges_with_negative_steps(given):
    dimensions = [range(d.begin, d.begin + d.step * d.length, d.step) for d in dimensions_of(given)]
    assert summed(given) == sum(map(sum, itertools.product(*dimensions)))


@pytest.mark.parametrize("items", [1, 2, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4097, 6500])
def test_sizes_around_warps_blocks_and_tiles(items):
    x = np.random.default_rng(items).integers(-1000, 1000, items)
    out = device(np.array([91]))
    assert wk.parallel_reduce_sum(items, lambda i, x: x[i], device(x), out=out) is out
    assert out.copy_to_host()[0] == x.sum()


def test_out_is_overwritten_twice_in_a_row():
    out = device(np.array([91]))
    for _ in range(2):
        summed(5000, out=out)
        assert out.copy_to_host().tolist() == [sum(range(5000))]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_out_has_one_element_in_any_shape(shape):
    out = device(np.full(shape, 91.0))
    summed(10, out=out)
    assert out.copy_to_host().reshape(-1).tolist() == [45.0]


@pytest.mark.parametrize("given", [0, (3, 0), range(5, 5)], ids=str)
def test_an_empty_range_gives_0_or_init(given):
    body = [lambda i: 1.5, lambda i, j: 1.5][len(dimensions_of(given)) - 1]
    out = device(np.array([91.0]))
    wk.parallel_reduce_sum(given, body, out=out)
    assert out.copy_to_host().tolist() == [0]
    assert wk.parallel_reduce(given, body, min, math.inf, out=out) is out
    assert out.copy_to_host().tolist() == [math.inf]
    assert wk.parallel_reduce_sum(given, body) == 0
    assert wk.parallel_reduce(given, body, operator.mul, 7) == 7
    result = wk.parallel_reduce(given, body, operator.mul, 7, dtype=np.float32)
    assert (result, result.dtype) == (7, np.float32)


# ------------------------------------------------------------------ dtypes

RESULTS = {
    "b1": "i8", "i1": "i8", "i2": "i8", "i4": "i8", "i8": "i8", "u1": "u8", "u2": "u8", "u4": "u8", "u8": "u8",
    "f2": "f4", "f4": "f4", "f8": "f8", "c8": "c8", "c16": "c16",
}  # fmt: skip


@pytest.mark.parametrize("dtype", RESULTS)
def test_a_sum_has_numpys_dtype(dtype):
    x = (np.arange(300) % 90).astype(dtype)
    result = wk.parallel_reduce_sum(300, lambda i, x: x[i], device(x))
    assert result.dtype == np.dtype(RESULTS[dtype])
    assert result == x.astype(RESULTS[dtype]).sum()


@pytest.mark.parametrize("dtype", ["i4", "f4", "u2", "f8"])
def test_other_operators_keep_the_bodys_dtype(dtype):
    x = np.random.default_rng(3).permutation(300).astype(dtype)
    result = wk.parallel_reduce(300, lambda i, x: x[i], max, 0, device(x))
    assert (result, result.dtype) == (299, np.dtype(dtype))


def test_dtype_and_out_decide_what_is_computed_in():
    x = device(np.full(1000, 1e-3, np.float32))
    exact = wk.parallel_reduce_sum(1000, lambda i, x: x[i], x, dtype=np.float64)
    assert exact.dtype == np.float64
    assert exact == pytest.approx(1000 * float(np.float32(1e-3)), rel=1e-12)
    out = device(np.zeros(1))
    wk.parallel_reduce_sum(1000, lambda i, x: x[i], x, out=out)
    assert out.copy_to_host()[0] == exact
    small = device(np.array([91], np.int8))
    summed(300, out=small)
    assert small.copy_to_host()[0] == np.int64(sum(range(300))).astype(np.int8)
    assert summed(300, dtype=np.float32).dtype == np.float32


def test_halves_are_added_up_in_single_precision():
    x = device(np.ones(5000, np.float16))
    assert wk.parallel_reduce_sum(5000, lambda i, x: x[i], x) == 5000  # a float16 stops at 2048


def test_tuples_are_summed_part_by_part():
    result = wk.parallel_reduce_sum((20, 30), lambda i, j: (i, 0.5 * j, np.float32(1)))
    assert result == (sum(range(20)) * 30, 0.5 * sum(range(30)) * 20, 600)
    assert [part.dtype.str for part in result] == ["<i8", "<f8", "<f4"]


# ------------------------------------------------------------------ streams, memory, prepared calls


def test_four_streams_at_once():
    streams = [wk.Stream() for _ in range(4)]
    outs = [device(np.array([91])) for _ in streams]
    for _ in range(3):
        for n, (stream, out) in enumerate(zip(streams, outs)):
            wk.parallel_reduce_sum(3000 + n, BODIES[0], out=out, stream=stream)
    wk.synchronize()
    assert [int(out.copy_to_host()[0]) for out in outs] == [sum(range(3000 + n)) for n in range(4)]


def test_nothing_is_allocated_in_steady_state(monkeypatch):
    out = device(np.array([91]))
    summed(5000, out=out)

    def allocated(*_, **__):
        raise AssertionError("memory was allocated")

    for name in ("allocate", "device_array", "pinned"):
        monkeypatch.setattr(parallel_reduce_plan.machine, name, allocated)
    for n in (5000, 4000, 300, 5000):
        summed(n, out=out)
        assert out.copy_to_host()[0] == sum(range(n))


def test_a_prepared_sum_repeats_and_takes_other_arguments():
    x, y = device(np.arange(5000)), device(np.ones(5000, np.int64))
    out, other = device(np.array([91])), device(np.array([91]))
    call = wk.prepare(wk.parallel_reduce_sum, 5000, lambda i, x: x[i], x, out=out)
    assert out.copy_to_host()[0] == 91
    assert call() is out
    wk.synchronize()
    call(wk.Stream())
    wk.synchronize()
    assert out.copy_to_host()[0] == sum(range(5000))
    call.bind(x=y, out=other)()
    assert other.copy_to_host()[0] == 5000
    with pytest.raises(Refused, match="has no argument 'z'"):
        call.bind(z=y)


def test_a_prepared_reduction_without_out_has_a_device_array_of_its_own():
    call = wk.prepare(wk.parallel_reduce, (30, 40), BODIES[1], wk.maximum, 0)
    assert call().copy_to_host().tolist() == [68]
    assert wk.prepare(wk.parallel_reduce, 0, BODIES[0], wk.maximum, 3, dtype="i4")().copy_to_host().tolist() == [3]


def test_it_is_a_command_of_a_list():
    stream, out, host = wk.Stream(), device(np.array([91])), np.zeros(1, np.int64)
    work = wk.CommandList()
    work.parallel_reduce_sum(5000, BODIES[0], out=out).download(host, out)
    stream.submit(work.commit())
    stream.synchronize()
    assert host[0] == sum(range(5000))


# ------------------------------------------------------------------ refusals, layouts

WRONG = [
    (lambda x: wk.parallel_reduce_sum(3, 5), Refused, "the body must be a function, not a int"),
    (lambda x: wk.parallel_reduce(3, BODIES[0], 5, 0), Refused, "op must be a function"),
    (
        lambda x: wk.parallel_reduce(3, BODIES[0], lambda a: a, 0),
        Refused,
        r"op is called with 2 values, which <lambda>\(a\)",
    ),
    (lambda x: wk.parallel_reduce_sum(3, BODIES[1]), Refused, "1 indices and 0 arguments"),
    (lambda x: wk.parallel_reduce(3, BODIES[0], np.hypot, 0), Refused, "ufunc hypot"),
    (lambda x: wk.parallel_reduce_sum(3, lambda i: None), Refused, "return a number or a tuple of numbers"),
    (lambda x: wk.parallel_reduce_sum(3, lambda i, x: x[i] * 0.5, x, dtype=np.int32), Refused, "float64"),
    (lambda x: wk.parallel_reduce(3, BODIES[0], min, 0.5), Refused, "init 0.5 does not go into int64"),
    (lambda x: wk.parallel_reduce(3, BODIES[0], min, "a"), Refused, "init must be a number"),
    (
        lambda x: wk.parallel_reduce(3, lambda i: (i, i), lambda a, b: b, 1),
        Refused,
        "init must have one value for each",
    ),
    (lambda x: wk.parallel_reduce(3, lambda i: 0.5 * i, wk.bit_and, 0), Refused, "bit_and"),
    (lambda x: wk.parallel_reduce_sum(3, BODIES[0], out=device(np.zeros(2))), ValueError, "out must have one element"),
    (lambda x: wk.parallel_reduce_sum(3, BODIES[0], out=np.zeros(1)), Refused, "to_device"),
    (lambda x: wk.parallel_reduce_sum(3, BODIES[0], dtype="O"), Refused, "dtype"),
    (lambda x: wk.parallel_reduce_sum(wk.Range(0, 3, 0), BODIES[0]), ValueError, "step 0"),
    (lambda x: wk.parallel_reduce_sum((1 << 40, 1 << 40), BODIES[1]), ValueError, r"2\*\*63"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_one_sentence(number):
    call, kind, said = WRONG[number]
    with pytest.raises(kind, match=said) as found:
        call(device(np.zeros(3)))
    assert "\n" not in str(found.value)


@pytest.mark.everywhere
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("items", [1, 33, 2048, 2049, 10**5, 10**7, 2**31, 2**31 + 5, 2**40, 2**63], ids=str)
def test_every_block_of_a_layout_has_items_and_all_have_one(items, free):
    for resident in (1, 4, 132 * 8, 132 * 7):
        shape = layout_of(items, resident, free)
        of_block = shape.run if free else shape.run * WARPS
        assert of_block * shape.blocks >= items > of_block * (shape.blocks - 1)
        assert shape.blocks <= max(resident, 1)
        assert shape.run % (THREADS if free else ROW) == 0
        assert shape.threads == THREADS or (shape.blocks == 1 and items <= shape.threads * (1 if free else ROW // 32))
        assert shape.run % TILE == 0 or not free or shape.run < TILE
