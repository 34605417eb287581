"""Selections of few items, from registers: by one block, or by several that look back at one another."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import NUMBERS, SIMULATOR, label
from warpkit import device
from warpkit.device import select_plan

from .reductions import LAYOUTS, laid_out, result, to_device
from .selections import DENSITIES, LARGE, NOT_ALONE, ODD, RECORD, changes, encoded, flags, parted, runs, same, values

MOST = 700  # items that registers hold


def policy_of(**few):
    """Return a policy of one form; what is not for it has small tiles."""
    return device.SelectPolicy(32, 20, 3, 2, few_threads=32, few_nbytes=20, **NOT_ALONE | few)


FORMS = {
    "one": policy_of(one_threads=256, one_items=4, one_until=MOST),
    "look": policy_of(
        look_threads=32, look_items=2, look_states=2, look_until=MOST, one_threads=256, wide_until=MOST,
        look_large_from=300, look_large_threads=64, look_large_items=4, look_large_states=1,
        whole_tiles=1 << 20,
    ),
    "look wider": policy_of(look_threads=512, look_items=1, look_tiles=1, look_until=MOST, whole_tiles=1 << 20),
}  # fmt: skip
SIZES = [0, 1, 33, 64, 65, 257, MOST] if SIMULATOR else [0, 1, 31, 32, 33, 63, 64, 65, 129, 257, 513, MOST, MOST + 1]
every_form = pytest.mark.parametrize("form", FORMS)


def above(v):
    """A predicate for every kind of number."""
    return v > 0


def check_all(x, keep, policy):
    """Assert that all selections of `x` are right."""
    there, mask, flat, kept = to_device(x), to_device(keep), x.reshape(-1), keep.reshape(-1)
    same(device.select_flagged(there, mask, policy=policy), flat[kept])
    if x.dtype.names:
        return
    if x.dtype.kind != "c":
        same(device.select(there, above, policy=policy), flat[flat > 0])
        items, count = device.partition(there, above, policy=policy)
        same(items, parted(x, x > 0))
        assert count == (flat > 0).sum()
    same(device.nonzero(there, policy=policy), np.flatnonzero(flat))
    same(device.unique(there, policy=policy), flat[changes(flat)])
    got, lengths, count = device.run_length_encode(there, policy=policy)
    same(got, encoded(x)[0])
    same(lengths, encoded(x)[1])
    assert count == len(encoded(x)[0])


@pytest.mark.parametrize("form", ["one", "look"])  # the others read and write as these do
@pytest.mark.parametrize("dtype", [*map(np.dtype, NUMBERS), np.dtype(np.bool_), RECORD, LARGE, ODD], ids=label)
def test_every_dtype(dtype, form):
    x = values(dtype, 150) if np.dtype(dtype).names else runs(dtype, 150, 2)
    with np.errstate(invalid="ignore"):
        check_all(x, flags(150, 0.5), FORMS[form])


@every_form
@pytest.mark.parametrize("n", SIZES)
def test_every_size_and_density(n, form):
    for density in DENSITIES[2:] if SIMULATOR else DENSITIES:
        check_all(runs(np.int32, n, 1 + 9 * density), flags(n, density), FORMS[form])


@every_form
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout, form):
    x = laid_out(layout, 180, lambda count: values(np.int32, count))
    y = laid_out(layout, 180, lambda count: values(np.int16, count, 5))
    check_all(x, y != 0, FORMS[form])
    same(
        device.select_flagged(to_device(x.reshape(-1)), to_device(y), policy=FORMS[form]),
        x.reshape(-1)[y.reshape(-1) != 0],
    )


@every_form
def test_what_has_no_room_is_counted(form):
    x, keep, count, policy = values(np.int32, 300), flags(300, 0.5), result(np.int64), FORMS[form]
    kept, (firsts, lengths) = x[keep], encoded(x)
    for room in (0, 1, 60, len(kept) - 1, len(kept)):
        around = np.full(room + 20, 77, np.int32)
        memory = cuda.to_device(around)
        device.select_flagged(to_device(x), to_device(keep), out=memory[10 : 10 + room], count_out=count, policy=policy)
        around[10 : 10 + room] = kept[:room]
        assert memory.copy_to_host().tolist() == around.tolist()
        assert count.copy_to_host() == len(kept)
        places = result(np.int64, room + 1)
        device.nonzero(to_device(keep), out=places[:room], count_out=count, policy=policy)
        assert places.copy_to_host().tolist() == [*np.flatnonzero(keep)[:room].tolist(), 77]
        assert count.copy_to_host() == len(kept)
        got, ends, half = result(np.int32, room), result(np.int32, room + 1), room // 2
        device.run_length_encode(to_device(x), out=(got, ends[:half]), count_out=count, policy=policy)
        assert got.copy_to_host().tolist() == firsts[:room].tolist()
        assert ends.copy_to_host().tolist() == [*lengths[:half].tolist(), *[77] * (room + 1 - half)]
        assert count.copy_to_host() == len(firsts)


@every_form
@pytest.mark.parametrize("kind", [np.int32, np.uint64], ids=label)
def test_a_number_of_items_on_the_device(kind, form):
    x, keep, number, count = runs(np.int32, 400, 2), flags(400, 0.5), result(kind), result(kind)
    there, mask, out, lengths = to_device(x), to_device(keep), result(np.int32, 400), result(np.int64, 400)
    options = {"num_items": number, "count_out": count, "policy": FORMS[form]}

    def check(*arrays):
        assert count.copy_to_host() == len(arrays[0])
        for got, wanted in zip((out, lengths), arrays):
            assert got.copy_to_host()[: len(wanted)].tolist() == wanted.tolist()

    for n in (0, 1, 130, 400, 900, *[-5] * (np.dtype(kind).kind == "i")):
        number.copy_to_device(np.array([n], kind))
        given = x[: max(n, 0)]
        device.select(there, above, out=out, **options)
        check(given[given > 0])
        device.select_flagged(there, mask, out=out, **options)
        check(given[keep[: max(n, 0)]])
        device.unique(there, out=out, **options)
        check(encoded(given)[0])
        device.run_length_encode(there, out=(out, lengths), **options)
        check(*encoded(given))
        items, kept = device.partition(there, above, num_items=number, policy=FORMS[form])
        same(items, parted(given, given > 0))
        assert kept == (given > 0).sum()


def test_a_small_number_of_items_for_many_blocks():
    """What all tiles add up to is known where few of the blocks have any."""
    x, number = values(np.int32, 1400), result(np.int64)
    policy = policy_of(look_threads=32, look_items=1, look_until=1 << 20, whole_tiles=1 << 20)
    for n in (0, 1, 40, 1030, 1400):
        number.copy_to_device(np.array([n]))
        items, kept = device.partition(to_device(x), above, num_items=number, policy=policy)
        same(items, parted(x[:n], x[:n] > 0))
        assert kept == (x[:n] > 0).sum()


@every_form
@pytest.mark.parametrize("n", [60, 500])
def test_in_place_and_not_in_turn(n, form):
    x, keep, count, other = values(np.int32, n), flags(n, 0.5), result(np.int64), result(np.int32, n)
    mask, policy = to_device(keep), FORMS[form]
    calls = {
        "select": (lambda there, out, **k: device.select(there, above, out=out, **k), x[x > 0]),
        "flagged": (lambda there, out, **k: device.select_flagged(there, mask, out=out, **k), x[keep]),
        "unique": (lambda there, out, **k: device.unique(there, out=out, **k), encoded(x)[0]),
    }
    for call, wanted in calls.values():
        for place in ("apart", "in place", "by another view", "in place", "apart", "by another view"):
            there = cuda.to_device(x)
            out = {"apart": other, "in place": there, "by another view": there[:]}[place]
            call(there, out, count_out=count, policy=policy)
            assert count.copy_to_host() == len(wanted)
            assert out.copy_to_host()[: len(wanted)].tolist() == wanted.tolist()
            if out is other:
                assert there.copy_to_host().tolist() == x.tolist()
    there, lengths = cuda.to_device(x), result(np.int64, n)
    device.run_length_encode(there, out=(there, lengths), policy=policy)
    assert there.copy_to_host()[: len(encoded(x)[0])].tolist() == encoded(x)[0].tolist()
    assert lengths.copy_to_host()[: len(encoded(x)[1])].tolist() == encoded(x)[1].tolist()


@pytest.mark.parametrize("form", ["one", "look"])
def test_blocks_that_look_back_never_work_in_place(form, monkeypatch):
    decided, launch = [], select_plan.Plan.launch

    def spying(*arguments):
        found = launch(*arguments)
        decided.append(found.apart)
        return found

    monkeypatch.setattr(select_plan.Plan, "launch", spying)
    x, other, keep = values(np.int32, 300), result(np.int32, 300), to_device(flags(300, 0.5))
    for place, wanted in (("apart", [form == "look"]), ("in place", [False]), ("by a view", [False] * 3)):
        decided.clear()
        for _ in range(3):
            there = cuda.to_device(x)
            out = {"apart": other, "in place": there, "by a view": there[:]}[place]
            device.select_flagged(there, keep, out=out, policy=FORMS[form])
        # What is known is launched at once; but a kernel that may not work in place is not known for a view of `x`.
        assert decided == (wanted if form == "look" or place != "by a view" else [])


@every_form
def test_strided_outputs_keep_what_is_between(form):
    x, keep, count = values(np.uint8, 300), flags(300, 0.5), result(np.int64)
    out = to_device(np.full(600, 7, np.uint8)[::2])
    device.select_flagged(to_device(x), to_device(keep), out=out, count_out=count, policy=FORMS[form])
    wanted = np.full(600, 7, np.uint8)
    wanted[::2][: keep.sum()] = x[keep]
    assert out.memory.copy_to_host().tolist() == wanted.tolist()


@every_form
def test_captured_arrays_and_prepared_calls(form):
    x, table = values(np.int32, 300) & 3, cuda.to_device(np.array([True, False, True, False]))
    there, out, count = cuda.to_device(x), result(np.int32, 300), result(np.int64)

    def listed(v):
        return table[v]

    same(device.select(there, listed, policy=FORMS[form]), x[x % 2 == 0])
    table.copy_to_device(np.array([False, True, False, False]))
    same(device.select(there, listed, policy=FORMS[form]), x[x == 1])
    call = wk.prepare(device.select, there, above, out=out, count_out=count, policy=FORMS[form])
    for given in (x, x[::-1] - 1, x[:40]):
        there.copy_to_device(np.resize(given, 300))
        (call if given.size == 300 else call.bind(x=there[: given.size]))()
        assert count.copy_to_host() == (given > 0).sum()
        assert out.copy_to_host()[: (given > 0).sum()].tolist() == given[given > 0].tolist()
