"""Selections against NumPy: dtypes, sizes, layouts, densities, arguments, refusals, prepared calls."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import NUMBERS, SIMULATOR, label
from warpkit import device
from warpkit.simt import machine

from .reductions import LAYOUTS, laid_out, result, to_device
from .refusing import check_refusal
from .selections import (
    DENSITIES,
    FEW,
    LARGE,
    ODD,
    POLICIES,
    POLICY,
    POLICY_NAMES,
    RECORD,
    SIZES,
    SOME,
    changes,
    encoded,
    flags,
    parted,
    runs,
    same,
    some,
    values,
)

ALL = [*map(np.dtype, NUMBERS), np.dtype(np.bool_)]
RECORDS = [RECORD, LARGE, ODD]


def above(v):
    """A predicate for every kind of number."""
    return v > 0


# ------------------------------------------------------------------ dtypes


@pytest.mark.parametrize("dtype", [*ALL, *RECORDS], ids=label)
def test_flagged_of_every_dtype(dtype):
    x = values(dtype, some(dtype))
    keep = flags(x.size, 0.5)
    same(device.select_flagged(to_device(x), to_device(keep), policy=POLICY), x[keep])


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype.kind != "c"], ids=label)
def test_select_of_every_dtype(dtype):
    x = values(dtype, some(dtype))
    with np.errstate(invalid="ignore"):
        same(device.select(to_device(x), above, policy=POLICY), x[x > 0])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=label)
def test_select_of_complex_numbers(dtype):
    x = values(dtype, some(dtype))
    same(device.select(to_device(x), lambda v: v.imag > 0.5, policy=POLICY), x[x.imag > 0.5])


def test_select_by_the_fields_of_records():
    x = values(RECORD, SOME)
    x["b"] = values(np.float32, SOME)
    same(device.select(to_device(x), lambda v: (v[0] & 1) == 0 or v[1] > 0, policy=POLICY),
         x[((x["a"] & 1) == 0) | (x["b"] > 0)])  # fmt: skip


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int64, np.complex128, RECORD], ids=label)
def test_partition_of_some_dtypes(dtype):
    x = values(dtype, some(dtype))
    if x.dtype.names:
        keep, pred = (x["a"] & 1) == 0, lambda v: (v[0] & 1) == 0
    else:
        keep, pred = x == 0, lambda v: v == 0
    for _ in range(2):  # the second time on the same scratch
        items, count = device.partition(to_device(x), pred, policy=POLICY)
        same(items, parted(x, keep))
        assert count == keep.sum()


@pytest.mark.parametrize("dtype", ALL, ids=label)
def test_nonzero_of_every_dtype(dtype):
    x = values(dtype, some(dtype))
    same(device.nonzero(to_device(x), policy=POLICY), np.flatnonzero(x))


@pytest.mark.parametrize("dtype", ALL, ids=label)
def test_unique_and_runs_of_every_dtype(dtype):
    x = runs(dtype, some(dtype), 3)
    same(device.unique(to_device(x), policy=POLICY), x[changes(x)])
    got, lengths, count = device.run_length_encode(to_device(x), policy=POLICY)
    wanted = encoded(x)
    same(got, wanted[0])
    same(lengths, wanted[1])
    assert count == len(wanted[0])
    assert type(count) is int


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.complex64, np.uint64], ids=label)
def test_flags_of_every_kind(dtype):
    x, keep = values(np.int32, SOME), values(dtype, SOME)
    same(device.select_flagged(to_device(x), to_device(keep), policy=POLICY), x[keep != 0])


# ------------------------------------------------------------------ sizes, densities, layouts


# By policy first: each compiles kernels of its own, and neighbours are run by one process. What differs in data alone
# is gone through in one test.
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("policy", POLICIES, ids=POLICY_NAMES)
def test_every_size_and_density(n, policy):
    for density in DENSITIES[n % 2 :: 2] if SIMULATOR else DENSITIES:
        keep = flags(n, density)
        x = np.where(keep, np.arange(n) + 1, -1 - np.arange(n)).astype(np.int32)
        same(device.select(to_device(x), above, policy=policy), x[keep])
        same(device.select_flagged(to_device(x), to_device(keep), policy=policy), x[keep])
        same(device.nonzero(to_device(keep), policy=policy), np.flatnonzero(keep))
        items, count = device.partition(to_device(x), above, policy=policy)
        same(items, parted(x, keep))
        assert count == keep.sum()
        assert type(count) is int


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("policy", POLICIES, ids=POLICY_NAMES)
def test_runs_of_every_size_and_length(n, policy):
    for mean in ((2, 1e9) if n % 2 else (1, 100)) if SIMULATOR else (1, 2, 100, 1e9):
        x = runs(np.int32, n, mean)
        wanted = encoded(x)
        same(device.unique(to_device(x), policy=policy), wanted[0])
        got, lengths, count = device.run_length_encode(to_device(x), policy=policy)
        same(got, wanted[0])
        same(lengths, wanted[1])
        assert count == len(wanted[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    x = laid_out(layout, 180 if SIMULATOR else 50_000, lambda count: values(np.int32, count))
    y = laid_out(layout, 180 if SIMULATOR else 50_000, lambda count: values(np.int32, count, 5))
    same(device.select(to_device(x), above, policy=POLICY), x[x > 0])
    same(device.select_flagged(to_device(x), to_device(y), policy=FEW), x[y != 0])
    same(device.select_flagged(to_device(x.reshape(-1)), to_device(y), policy=POLICY), x[y != 0])
    same(device.nonzero(to_device(x), policy=FEW), np.flatnonzero(x))
    same(device.unique(to_device(x), policy=POLICY), encoded(x)[0])
    same(device.partition(to_device(x), above, policy=FEW)[0], parted(x, x > 0))


# ------------------------------------------------------------------ out, count_out, num_items, stream


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64], ids=label)
def test_out_and_count(kind):
    x = values(np.int32, 300)
    out, count = cuda.to_device(np.full(300, 77, np.int32)), result(kind)
    assert device.select(to_device(x), above, out=out, count_out=count, policy=POLICY) is out
    kept = x[x > 0]
    assert count.copy_to_host() == len(kept)
    assert out.copy_to_host().tolist() == [*kept.tolist(), *[77] * (300 - len(kept))]


def test_out_without_a_count():
    x, keep, out = values(np.int32, 300), flags(300, 0.5), result(np.int32, 300)
    assert device.select_flagged(to_device(x), to_device(keep), out=out, policy=POLICY) is out
    assert out.copy_to_host()[: keep.sum()].tolist() == x[keep].tolist()


@pytest.mark.parametrize("room", [0, 50, 97])
def test_a_small_out_gets_what_fits_and_the_count_is_that_of_all(room):
    x, keep, count = values(np.int32, 300), flags(300, 0.5), result(np.int64)
    around = np.full(room + 20, 77, np.int32)
    memory = cuda.to_device(around)
    device.select_flagged(to_device(x), to_device(keep), out=memory[10 : 10 + room], count_out=count, policy=POLICY)
    around[10 : 10 + room] = x[keep][:room]
    assert memory.copy_to_host().tolist() == around.tolist()
    assert count.copy_to_host() == keep.sum()
    got, lengths = result(np.int32, room), result(np.int64, room + 1)
    runs_of_x = encoded(x)
    assert device.run_length_encode(to_device(x), out=(got, lengths), count_out=count, policy=POLICY)[0] is got
    assert got.copy_to_host().tolist() == runs_of_x[0][:room].tolist()
    assert lengths.copy_to_host().tolist() == runs_of_x[1][: room + 1].tolist()
    assert count.copy_to_host() == len(runs_of_x[0])


def test_a_strided_out_keeps_what_is_between():
    x, keep, count = values(np.uint8, 30), flags(30, 0.5), result(np.int64)
    out = to_device(np.full(60, 7, np.uint8)[::2])
    assert device.select_flagged(to_device(x), to_device(keep), out=out, count_out=count, policy=POLICY) is out
    wanted = np.full(60, 7, np.uint8)
    wanted[::2][: keep.sum()] = x[keep]
    assert out.memory.copy_to_host().tolist() == wanted.tolist()


def test_places_and_lengths_of_other_dtypes():
    x = runs(np.int32, 300, 3)
    lengths = result(np.int32, 300)
    _, got = device.run_length_encode(to_device(x), out=(result(np.int32, 300), lengths), policy=POLICY)
    assert got is lengths
    assert got.copy_to_host()[: len(encoded(x)[1])].tolist() == encoded(x)[1].tolist()


@pytest.mark.parametrize("kind", [np.int32, np.uint64], ids=label)
def test_fewer_items(kind):
    x, keep, number = runs(np.int32, 400, 2), flags(400, 0.5), result(kind)
    for n in (0, 1, 130, 400, 900):
        number.copy_to_device(np.array([n], kind))
        for count in (number, *[n] * (n in (130, 400) if SIMULATOR else n <= 400)):
            same(device.select(to_device(x), above, num_items=count, policy=POLICY), x[:n][x[:n] > 0])
            same(device.select_flagged(to_device(x), to_device(keep), num_items=count, policy=POLICY),
                 x[:n][keep[:n]])  # fmt: skip
            same(device.nonzero(to_device(x), num_items=count, policy=POLICY), np.flatnonzero(x[:n]))
            got, lengths, number_of_runs = device.run_length_encode(to_device(x), num_items=count, policy=POLICY)
            same(got, encoded(x[:n])[0])
            same(lengths, encoded(x[:n])[1])
            assert number_of_runs == len(got)
            items, kept = device.partition(to_device(x), above, num_items=count, policy=POLICY)
            same(items, parted(x[:n], x[:n] > 0))
            assert kept == (x[:n] > 0).sum()


def test_the_count_of_one_is_the_number_of_items_of_the_next():
    x, kept, count, last = values(np.int32, 400), result(np.int32, 400), result(np.int64), result(np.int64)
    device.select(to_device(x), above, out=kept, count_out=count, policy=POLICY)
    with pytest.raises(ValueError, match=r"^unique: count_out shares memory with num_items"):
        device.unique(kept, out=result(np.int32, 400), num_items=count, count_out=count)
    out = device.unique(kept, out=result(np.int32, 400), num_items=count, count_out=last, policy=POLICY)
    wanted = encoded(x[x > 0])[0]
    assert last.copy_to_host() == len(wanted)
    assert out.copy_to_host()[: len(wanted)].tolist() == wanted.tolist()


def test_what_follows_a_select_into_too_small_an_out_takes_what_is_there():
    x, kept, count, sums = values(np.int32, 400), result(np.int32, 50), result(np.int64), result(np.int64, 50)
    device.select(to_device(x), above, out=kept, count_out=count, policy=POLICY)
    device.cumsum(kept, num_items=count, out=sums)
    assert count.copy_to_host() == (x > 0).sum() > 50
    assert sums.copy_to_host().tolist() == np.cumsum(x[x > 0][:50], dtype=np.int64).tolist()


def test_select_scan_histogram_without_a_look_at_the_count():
    n = 200
    x, kept, sums = cuda.device_array(n, np.int32), result(np.int32, n), result(np.int64, n)
    count, bins = result(np.int64), result(np.int64, 4)
    small = device.ScanPolicy(threads=32) if SIMULATOR else None
    calls = [
        wk.prepare(device.select, x, above, out=kept, count_out=count, policy=POLICY),
        wk.prepare(device.inclusive_scan, kept, wk.add, out=sums, num_items=count, policy=small),
        wk.prepare(device.histogram, sums, 4, (0, n), out=bins, num_items=count),
    ]
    for seed in (1, 2):
        data = np.random.default_rng(seed).integers(-2 * seed, 4, n).astype(np.int32)
        x.copy_to_device(data)
        for call in calls:
            call()
        wanted = np.cumsum(data[data > 0], dtype=np.int64)
        assert count.copy_to_host() == len(wanted)
        assert sums.copy_to_host()[: len(wanted)].tolist() == wanted.tolist()
        assert bins.copy_to_host().tolist() == np.histogram(wanted, 4, (0, n))[0].tolist()


def test_on_several_streams():
    x = values(np.int32, 400)
    there, kept = to_device(x), x[x > 0].tolist()
    for stream in (wk.Stream(), wk.Stream(), 2, None):
        out = result(np.int32, 400)
        for _ in range(2):
            device.select(there, above, out=out, stream=stream, policy=POLICY)
        machine.synchronize()
        assert out.copy_to_host()[: len(kept)].tolist() == kept
        same(device.select(there, above, stream=stream, policy=POLICY), x[x > 0])


def test_in_place():
    x, count = values(np.int32, 400), result(np.int64)
    for call, wanted in (
        (lambda there: device.select(there, above, out=there, count_out=count, policy=POLICY), x[x > 0]),
        (lambda there: device.unique(there, out=there, count_out=count, policy=POLICY), encoded(x)[0]),
        (
            lambda there: device.select(there[::2], above, out=there[::2], count_out=count, policy=FEW),
            x[::2][x[::2] > 0],
        ),
    ):
        got = call(cuda.to_device(x)).copy_to_host()
        assert count.copy_to_host() == len(wanted)
        assert got[: len(wanted)].tolist() == wanted.tolist()
    columns = x.reshape(20, 20)
    there = cuda.to_device(columns)
    device.select(there, above, out=there, policy=POLICY)
    assert there.copy_to_host().reshape(-1)[: (x > 0).sum()].tolist() == x[x > 0].tolist()


def test_captured_numbers_and_arrays_are_seen():
    x, table = values(np.int32, 300), cuda.to_device(np.array([True, False, True, False, True]))
    for least in (0, 1):
        same(device.select(to_device(x), lambda v, least=least: v > least, policy=POLICY), x[x > least])
    limit = 0

    def over(v):
        return v > limit

    same(device.select(to_device(x), over, policy=POLICY), x[x > 0])
    limit = 1
    same(device.select(to_device(x), over, policy=POLICY), x[x > 1])
    small = np.clip(x, -2, 2)

    def listed(v):
        return table[v + 2]

    same(device.select(to_device(small), listed, policy=POLICY), small[small % 2 == 0])
    table.copy_to_device(np.array([False, True, False, True, False]))
    same(device.select(to_device(small), listed, policy=POLICY), small[small % 2 != 0])


@cuda.jit(device=True)
def odd(v):
    """A device function."""
    return v & 1


def test_device_functions_and_numbers_as_answers():
    x = values(np.int32, 300)
    same(device.select(to_device(x), odd, policy=POLICY), x[x % 2 != 0])
    f = values(np.float32, 300)
    same(device.select(to_device(f), lambda v: v, policy=POLICY), f[f != 0])  # NaN is true


def test_prepared():
    x, out, count = cuda.to_device(values(np.int32, 400)), result(np.int32, 400), result(np.int64)
    call = wk.prepare(device.select, x, above, out=out, count_out=count, policy=POLICY)
    for seed in (3, 4):
        data = values(np.int32, 400, seed)
        x.copy_to_device(data)
        assert call() is out
        n = int(count.copy_to_host()[0])
        assert out.copy_to_host()[:n].tolist() == data[data > 0].tolist()
    short = np.array([1, -1, 5], np.int32)
    call.bind(x=to_device(short))()
    assert count.copy_to_host() == 2
    assert out.copy_to_host()[:2].tolist() == [1, 5]
    with pytest.raises(TypeError, match=r"^bind: select has no argument 'pred' to replace, only x, out, count_out"):
        call.bind(pred=above)


def test_prepared_without_outputs():
    x = runs(np.int32, 400, 3)
    there = cuda.to_device(x)
    kept, count = wk.prepare(device.unique, there, policy=POLICY)()
    same(kept[: int(count.copy_to_host()[0])], encoded(x)[0])
    call = wk.prepare(device.run_length_encode, there, policy=POLICY)
    for mean in (3, 40):
        x = runs(np.int32, 400, mean)
        there.copy_to_device(x)
        got, lengths, count = call()
        n = int(count.copy_to_host()[0])
        same(got[:n], encoded(x)[0])
        same(lengths[:n], encoded(x)[1])
    got, lengths, count = call.bind(x=to_device(np.array([7, 7], np.int32)))()
    assert (got.copy_to_host()[0], lengths.copy_to_host()[0], count.copy_to_host()[0]) == (7, 2, 1)


# ------------------------------------------------------------------ refusals

X = np.arange(10, dtype=np.int32)
THERE = cuda.to_device(X) if SIMULATOR or cuda.is_available() else None
REFUSED = {
    "no function": (lambda x: device.select(x, 3), "^select: pred must be a function of an item, not 3; for flags"),
    "a class": (lambda x: device.select(x, float), "^select: pred must be a function, not the class float"),
    "two values": (lambda x: device.select(x, lambda a, b: a), "^select: pred is called with 1 values?, which"),
    "a tuple": (lambda x: device.select(x, lambda v: (v, v)), "^select: pred returns a tuple"),
    "fewer flags": (
        lambda x: device.select_flagged(x, to_device(X[:3])),
        "^select_flagged: there must be a flag for each of the 10 items, not 3",
    ),
    "flags of records": (
        lambda x: device.select_flagged(x, to_device(np.zeros(10, RECORD))),
        "^select_flagged: flags must hold numbers or bools, not records",
    ),
    "unique records": (lambda x: device.unique(to_device(np.zeros(3, RECORD))), "^unique: no record .* equals another"),
    "records as numbers": (lambda x: device.nonzero(to_device(np.zeros(3, RECORD))), "^nonzero: no record .* is 0"),
    "out of another dtype": (
        lambda x: device.unique(x, out=result("i8", 10)), "^unique: out must be of dtype int32, not int64"
    ),
    "a count of two": (
        lambda x: device.unique(x, out=result("i4", 10), count_out=result("i8", 2)),
        r"^unique: count_out must have one element, not shape \(2,\)",
    ),
    "a small count": (
        lambda x: device.unique(x, out=result("i4", 10), count_out=result("i2")),
        "^unique: count_out must be of dtype one of int64, int32, uint32, uint64, not int16",
    ),
    "a count alone": (lambda x: device.unique(x, count_out=result("i8")), "^unique: count_out= goes with out="),
    "a short out": (
        lambda x: device.partition(x, above, out=result("i4", 9)),
        "^partition: out must have room for all 10 items, not for 9",
    ),
    "parts in place": (lambda x: device.partition(x, above, out=x), "^partition: out shares memory with x"),
    "an overlapping out": (
        lambda x: device.unique(THERE[:8], out=THERE[2:]), "^unique: out shares memory with x without being x"
    ),
    "a count among the items": (
        lambda x: device.unique(THERE, out=result("i4", 10), count_out=THERE[3:4]),
        "^unique: count_out shares memory with x",
    ),
    "none of two": (lambda x: device.run_length_encode(x, out=(x, None)), "^run_length_encode: out must be a pair"),
    "one of two": (lambda x: device.run_length_encode(x, out=x), "^run_length_encode: out must be a pair"),
    "two axes apart": (
        lambda x: device.unique(x, out=to_device(np.zeros((4, 6), np.int32)[:, ::2])),
        "^unique: out must have one axis, or be contiguous",
    ),
    "too many items": (lambda x: device.unique(x, num_items=11), "^unique: num_items must be 0 to 10"),
    "a policy": (lambda x: device.unique(x, policy=3), "^unique: policy must be a SelectPolicy, not a int"),
    "threads": (lambda x: device.SelectPolicy(threads=48), "^SelectPolicy: threads must be a power of two"),
    "stages": (lambda x: device.SelectPolicy(stages=1), "^SelectPolicy: stages must be 2 to 8, not 1"),
    "a NumPy array": (lambda x: device.unique(X), "^x is a NumPy array"),
    "items too large": (
        lambda x: device.select_flagged(to_device(np.zeros(2, [("a", "i8", 10_000)])), to_device(X[:2])),
        "^select_flagged: items of 80000 bytes .* are too large to be moved by a block",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], to_device(X))
