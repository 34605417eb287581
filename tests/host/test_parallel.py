"""parallel_for: every index of a range once, none outside; bodies and arguments of every kind; streams; prepared."""

import itertools
import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.host.loops import HITS, INT64, device, device_function, expected, seed_ranges
from warpkit.errors import Refused
from warpkit.host import parallel_calls
from warpkit.host.launch import launch
from warpkit.host.parallel import layout_of
from warpkit.host.parallel_kernels import THREADS, TILE, each_item
from warpkit.host.ranges import dimensions_of
from warpkit.host.ranges_walk import divisor, walk_of
from warpkit.simt import machine

MOST = (2**31 - 1, 65535, 65535)
FACTOR = 3


# ------------------------------------------------------------------ each index once, none outside


def test_p05_every_small_range_visits_what_pythons_does():
    cases = list(itertools.product(range(-7, 8), range(-7, 8), (-3, -2, -1, 1, 2, 3)))
    hits = device(np.zeros((len(cases), 32), np.int32))
    for row, case in enumerate(cases):
        wk.parallel_for(wk.Range(*case), HITS[1], hits, row)
    got = hits.copy_to_host()
    for row, case in enumerate(cases):
        wanted = np.zeros(32, np.int32)
        wanted[[i + 16 for i in range(*case)]] = 1
        assert (got[row] == wanted).all(), case


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_the_seeds_60_ranges(ndim):
    cases = [case for case in seed_ranges() if len(case) == ndim]
    assert len(seed_ranges()) == 60
    extents = [max(case[axis].stop for case in cases) + 4 for axis in range(ndim)]
    extents[0] += 16 if ndim == 1 else 0
    hits = device(np.zeros((len(cases), *extents), np.int32))
    for row, case in enumerate(cases):
        begin, end, step = (tuple(getattr(r, part) for r in case) for part in ("start", "stop", "step"))
        wk.parallel_for(wk.Range(begin, end, step), HITS[ndim], hits, row)
    for row, case in zip(hits.copy_to_host(), cases):
        wanted = np.zeros(extents, np.int32)
        for place in expected(*case):
            wanted[(place[0] + 16,) if ndim == 1 else place] = 1
        assert (row == wanted).all(), case


@pytest.mark.parametrize(
    "case",
    [
        (range(3), range(5)),
        (range(10, 0, -3), range(2, 9, 3)),
        (range(4, -1, -1), range(1), range(6, 0, -2)),
        (range(2), range(3), range(5), range(7)),
        (range(1), range(1), range(1), range(1)),
        (range(3, 0, -1), range(0, 9, 4), range(1, 2), range(7, 0, -3)),
        (range(1), range(4, 0, -3), range(1), range(2, 11, 2)),
    ],
    ids=str,
)
def test_samples_of_up_to_four_dimensions(case):
    shape = (12,) * len(case)
    hits = device(np.zeros(shape if len(case) == 4 else (1, *shape), np.int32))
    wk.parallel_for(case, HITS[len(case)], hits, 1 if len(case) == 4 else 0)
    wanted = np.zeros(shape, np.int32)
    for place in expected(*case):
        wanted[place] = 1
    assert (hits.copy_to_host().reshape(shape) == wanted).all()


@pytest.mark.parametrize("items", [1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 4608, 5000])
def test_sizes_around_tiles_of_one_and_of_two_items_a_thread(items):
    hits = device(np.zeros((1, items + 64), np.int32))
    wk.parallel_for(items, HITS[1], hits, 0)
    got = hits.copy_to_host()[0]
    assert (got[16 : 16 + items] == 1).all()
    assert not got[:16].any()
    assert not got[16 + items :].any()


@pytest.mark.parametrize("shape", [(71, 73), (1, 5000), (5000, 1), (17, 19, 16), (1, 4500, 1), (3, 7, 11, 23)], ids=str)
def test_full_tiles_of_several_dimensions(shape):
    hits = device(np.zeros(shape if len(shape) == 4 else (1, *shape), np.int32))
    wk.parallel_for(shape, HITS[len(shape)], hits, 1 if len(shape) == 4 else 0)
    assert (hits.copy_to_host() == 1).all()


@pytest.mark.parametrize("begin", [INT64 - 5, INT64 - 9, -INT64, 2**31 - 3, 2**32 - 3, -4], ids=str)
@pytest.mark.parametrize("step", [1, 2, -1, -2])
def test_ranges_at_the_end_of_an_index_type(begin, step):
    indices = [begin + step * k for k in range(4)]
    if not all(-INT64 <= i < INT64 for i in indices):
        begin, indices = begin - 4 * step, [i - 4 * step for i in indices]
    out = device(np.zeros(4, np.int64))

    def keep(i, out, begin, step):
        for k in range(4):
            if begin + step * k == i:
                out[k] = i

    wk.parallel_for(range(begin, begin + 4 * step, step), keep, out, begin, step)
    assert out.copy_to_host().tolist() == indices


def test_indices_are_int64_whatever_is_used_inside():
    out = device(np.zeros(3, np.int64))

    def widths(i, j, out):
        out[i] = (i + 2**40) * (j + 1) + (i - 5)

    wk.parallel_for((3, 1), widths, out)
    assert out.copy_to_host().tolist() == [(i + 2**40) + (i - 5) for i in range(3)]


def wide_numbers(shape):
    """Return what a kernel gets for a dense range in 64 bits, however small it is."""
    numbers, below = [], int(np.prod(shape))
    for outer, inner in itertools.pairwise(shape):
        below //= outer
        numbers += [*divisor(below, 64), -inner % 2**64]
    return tuple(np.uint64(n) for n in numbers)


@pytest.mark.parametrize("shape", [(700,), (23, 31), (7, 11, 9), (3, 7, 5, 7)], ids=str)
@pytest.mark.parametrize("grid", [(3, 1, 1), (2, 2, 1), (1, 2, 3)], ids=str)
def test_64_bits_and_grids_of_three_axes_walk_the_same(shape, grid):
    items, ndim = int(np.prod(shape)), len(shape)
    hits = device(np.zeros(shape if ndim == 4 else (1, *shape[:-1], shape[-1] + 32), np.int32))
    kernel = each_item(machine.as_device(HITS[ndim]), ndim, False, True)
    tile = 64 * -(-items // (64 * int(np.prod(grid))))
    counts = (np.uint64(items), np.uint64(0), np.uint64(tile))
    launch(kernel, grid, tile, *counts, wide_numbers(shape), (), (hits, 1 if ndim == 4 else 0))
    got = hits.copy_to_host()
    assert got.sum() == items
    assert got.max() == 1


def test_64_bit_numbers_are_those_of_the_walk():
    dimensions = dimensions_of((3, 1 << 20, 1 << 20))
    assert walk_of(dimensions).numbers == wide_numbers((3, 1 << 20, 1 << 20))


# ------------------------------------------------------------------ the shape of a launch


@pytest.mark.everywhere
@pytest.mark.parametrize("items", [1, 100, 256, 4096, 4097, 10**6, 2**31, 2**31 + 1, 10**12, 2**40 + 7, 2**63], ids=str)
def test_a_layout_covers_every_item_and_full_tiles_are_full(items):
    shape = layout_of(items, 4096, MOST)
    blocks = int(np.prod([int(n) for n in shape.grid], dtype=object))
    assert blocks * shape.tile_items >= items
    assert (blocks - 1) * shape.tile_items < items or blocks >= 2**31
    assert all(0 < extent <= most for extent, most in zip(shape.grid, MOST))
    assert shape.threads % 32 == 0
    assert shape.threads <= THREADS
    assert (shape.tile_items == shape.threads) == (items <= 4096)
    assert shape.full_items == (0 if items <= 4096 else items // TILE * TILE)
    assert blocks * shape.tile_items < 2**64


# ------------------------------------------------------------------ bodies and arguments


def add_index(i, x, amount):
    """Add to an item, as a plain function of a module."""
    x[i] += amount + i


@pytest.mark.parametrize("make", [lambda f: f, device_function], ids=["python", "device function"])
def test_a_body_is_a_python_function_or_a_device_function(make):
    x = device(np.zeros(10))
    wk.parallel_for(10, make(add_index), x, 0.5)
    assert x.copy_to_host().tolist() == [0.5 + i for i in range(10)]


def test_a_body_is_a_lambda():
    x, y = device(np.arange(10.0)), device(np.zeros(10))
    wk.parallel_for(10, lambda i: operator.setitem(y, i, 2 * x[i]))
    assert y.copy_to_host().tolist() == [2.0 * i for i in range(10)]


def test_a_body_calls_functions_and_reads_globals():
    y = device(np.zeros(8, np.int64))

    def inner(i):
        return FACTOR * i + 1

    def body(i):
        y[i] = inner(i)

    wk.parallel_for(8, body)
    assert y.copy_to_host().tolist() == [3 * i + 1 for i in range(8)]


def test_a_body_without_arguments_or_result_and_one_that_returns():
    wk.parallel_for(5, lambda i: None)
    wk.parallel_for((2, 2), lambda i, j: i + j)


def filling(y, k):
    """Return a body that reads a captured number and a global."""

    def fill(i):
        y[i] = k + FACTOR

    return fill


def test_p13_captured_numbers_are_seen_when_they_change(monkeypatch):
    y = device(np.zeros(4, np.int64))
    for k in (4, 8):
        fill = filling(y, k)
        wk.parallel_for(4, fill)
        assert y.copy_to_host().tolist() == [k + FACTOR] * 4
    monkeypatch.setitem(globals(), "FACTOR", 100)
    wk.parallel_for(4, fill)
    assert y.copy_to_host().tolist() == [108] * 4


def test_captured_arrays_are_seen_when_they_or_their_contents_change():
    y = device(np.zeros(6, np.int64))
    table = device(np.arange(6))

    def read(i):
        y[i] = table[i]

    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == list(range(6))
    table.copy_to_device(np.arange(6) * 10)
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [10 * i for i in range(6)]
    table = device(np.arange(6) + 7)
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [i + 7 for i in range(6)]


def test_captured_numpy_arrays_are_copied_at_every_call():
    y = device(np.zeros(6, np.int64))
    table = np.arange(6)

    def read(i):
        y[i] = table[i]

    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == list(range(6))
    table[3] = -1
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [0, 1, 2, -1, 4, 5]


RECORD = np.dtype([("scale", np.float32), ("table", np.float32, 8)], align=True)


def test_tuples_and_records_are_arguments():
    y = device(np.zeros(8, np.float32))
    x, record = device(np.arange(8, dtype=np.float32)), np.zeros(1, RECORD)[0]
    record["scale"], record["table"] = 2, np.arange(8) / 4

    def body(i, y, pair, held):
        y[i] = pair[0][i] * held.scale + held.table[i & 7] + pair[1][1]

    wk.parallel_for(8, body, y, (x, (5, 0.5)), record)
    assert y.copy_to_host().tolist() == [i * 2 + i / 4 + 0.5 for i in range(8)]


@pytest.mark.parametrize("bytes_of_table", [2048, 8192])
def test_a_large_table_is_read_by_a_run_time_index(bytes_of_table):
    entries = bytes_of_table // 4
    table = np.random.default_rng(5).random(entries).astype(np.float32)
    y = device(np.zeros(500, np.float32))

    def look_up(i):
        y[i] = table[(i * 37) % entries]

    wk.parallel_for(500, look_up)
    assert (y.copy_to_host() == table[(np.arange(500) * 37) % entries]).all()


def test_strided_arrays_are_arguments():
    x, y = device(np.arange(40).reshape(5, 8)), device(np.zeros((8, 5), np.int64))

    def transpose(i, j, x, y):
        y[i, j] = x[i, j]

    wk.parallel_for((8, 5), transpose, x.T, y)
    assert (y.copy_to_host() == np.arange(40).reshape(5, 8).T).all()


WRONG = [
    (lambda x: wk.parallel_for(3, 5), Refused, "the body must be a function, not a int"),
    (lambda x: wk.parallel_for(3, int), Refused, "not the class int"),
    (lambda x: wk.parallel_for(wk.Range(0, 3, 0), add_index, x, 1), ValueError, "step 0"),
    (lambda x: wk.parallel_for(wk.Range(0, 3, "2.0"), add_index, x, 1), TypeError, "'2.0'"),
    (lambda x: wk.parallel_for((1 << 40, 1 << 40), add_index, x, 1), ValueError, r"2\*\*63"),
    (lambda x: wk.parallel_for(3, add_index, np.zeros(3), 1), Refused, "to_device"),
    (lambda x: wk.parallel_for(3, add_index, x, "one"), Refused, "str"),
    (lambda x: wk.parallel_for(0, add_index, x, "one"), Refused, "str"),
    (lambda x: wk.parallel_for(3, add_index, x, 1, stream="fast"), Refused, "stream"),
    (lambda x: wk.prepare(wk.parallel_for, 3, add_index, x, 1.0).bind(y=x), Refused, "'y', only x, amount"),
    (lambda x: wk.prepare(wk.parallel_for, 3, add_index, x, 1.0).bind(amount=1), Refused, "amount was prepared as"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_one_sentence_and_launches_nothing(number):
    call, kind, said = WRONG[number]
    x = device(np.zeros(3))
    with pytest.raises(kind, match=said) as found:
        call(x)
    assert "\n" not in str(found.value)
    assert not x.copy_to_host().any()


# ------------------------------------------------------------------ empty ranges, streams, prepared calls


@pytest.fixture
def no_launch(monkeypatch):
    """Make every launch an error."""

    def launched(*_):
        raise AssertionError("a kernel was launched")

    monkeypatch.setattr(machine.Kernel, "launch", launched)
    monkeypatch.setattr(machine.Kernel, "bind", launched)


@pytest.mark.parametrize(
    "given", [0, -5, range(0), range(10, 0), (0, 7), (7, 0), (3, 0, 2), wk.Range(5, 5), (1 << 62, 0, 1 << 62)], ids=str
)
def test_p01_p02_an_empty_range_launches_nothing(no_launch, given):
    ndim = len(dimensions_of(given))
    wk.parallel_for(given, [lambda i: None, lambda i, j: None, lambda i, j, k: None][ndim - 1])
    wk.prepare(wk.parallel_for, given, lambda *_: None)()


def test_p01_an_empty_range_in_a_list_keeps_its_callback():
    stream, called = wk.Stream(), []
    work = wk.CommandList()
    work.parallel_for(0, lambda i: None)
    work.add_callback(lambda: called.append(1))
    stream.submit(work.commit())
    stream.synchronize()
    assert called == [1]


def test_work_goes_to_the_stream_that_is_given():
    stream = wk.Stream()
    x = device(np.zeros(100))
    wk.parallel_for(100, add_index, x, 1.0, stream=stream)
    wk.parallel_for(100, add_index, x, 1.0, stream=stream.handle)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [2 * (1 + i) for i in range(100)]


def test_a_prepared_call_repeats_and_takes_other_arguments():
    x, y = device(np.zeros(5000)), device(np.zeros(5000))
    call = wk.prepare(wk.parallel_for, 5000, add_index, x, 1.0)
    assert not x.copy_to_host().any()
    call()
    wk.synchronize()
    call(wk.Stream())
    wk.synchronize()
    assert (x.copy_to_host() == 2 * (1 + np.arange(5000.0))).all()
    call.bind(x=y, amount=0.5)()
    assert (y.copy_to_host() == 0.5 + np.arange(5000.0)).all()


def test_a_prepared_call_keeps_the_arrays_that_its_body_captures():
    y = device(np.zeros(10))
    call = wk.prepare(wk.parallel_for, 10, capturing(y))
    call()
    assert y.copy_to_host().tolist() == [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def capturing(y):
    """Return a body that captures a new array of 0 … 9 and nothing else keeps alive."""
    x = device(np.arange(10.0))
    return lambda i: operator.setitem(y, i, x[i])


def test_it_is_a_command_of_a_list():
    stream, x, host = wk.Stream(), device(np.zeros(300)), np.zeros(300)
    work = wk.CommandList()
    work.parallel_for(300, add_index, x, 1.0).parallel_for(300, add_index, x, 2.0).download(host, x)
    stream.submit(work.commit())
    stream.synchronize()
    assert (host == 3 + 2 * np.arange(300.0)).all()


def plus_one(x, y):
    """Return a body that captures two arrays."""
    return lambda i: operator.setitem(y, i, x[i] + 1)


@pytest.mark.gpu  # in the simulator every function is a kernel of its own
def test_p12_equal_bodies_with_other_arrays_are_one_kernel():
    def call(n):
        y = device(np.zeros(n, np.int64))
        wk.parallel_for(n, plus_one(device(np.arange(n)), y))
        assert y.copy_to_host().tolist() == list(range(1, n + 1))

    call(1)
    before = len(parallel_calls._kernels)
    for n in range(2, 101):
        call(n)
    assert len(parallel_calls._kernels) == before


def test_a_body_may_use_collectives_of_a_warp():
    out = device(np.zeros(64, np.int64))

    def body(i):
        out[i] = wk.warp_active_sum(np.int64(i))

    wk.parallel_for(64, body)
    assert out.copy_to_host().tolist() == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32


@cuda.jit(device=True)
def squared(x):
    """Return x * x."""
    return x * x


def test_a_body_uses_device_functions():
    out = device(np.zeros(9, np.int64))
    wk.parallel_for((3, 3), lambda i, j, out: operator.setitem(out, 3 * i + j, squared(i) + j), out)
    assert out.copy_to_host().tolist() == [i * i + j for i in range(3) for j in range(3)]
