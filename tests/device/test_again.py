"""Calls that come again: on a GPU, and in the simulator with arrays that are read quickly, as there on a GPU."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR
from warpkit import device
from warpkit.device import again, reduce_call
from warpkit.device.reduce_families import Family, combining

from .again import CASES, LARGE, SIZES, TOLD, check, filled, items, later, odd, outputs
from .selections import POLICY

SEVERAL = SIZES["several"]
SLOW = ["exclusive_scan", "nonzero", "select", "partition"] if SIMULATOR else CASES  # with several tiles: one of a kind
PAIRS = [(name, n) for n in SIZES.values() for name in (CASES if n < SEVERAL else SLOW)]
TURNS = 2 if SIMULATOR else 4


@pytest.mark.parametrize(("name", "n"), PAIRS)
def test_the_second_call_is_the_drivers_own(quickly, name, n):
    """The second one with these arrays, of any addresses: Numba's carry what was read of them the first time."""
    case, held = CASES[name], []
    for turn in range(TURNS):
        x = items(n, turn)
        there, outs = cuda.to_device(x), outputs(case, n)
        count = cuda.to_device(np.full(1, 77)) if case.told else None
        options = {"count_out": count} if case.told else {}
        held.append((there, outs))
        case.call(there, outs, **options)
        check(case, x, outs, count)
        x = items(n, turn + 10)
        for out in outs:
            out.copy_to_device(np.full(n, 77, out.dtype))
        there.copy_to_device(x)
        quickly.clear()
        returned = case.call(there, outs, **options)
        assert quickly == [True]
        assert returned is (outs if len(outs) > 1 else outs[0])
        check(case, x, outs, count)


NEW = {
    "cumsum": (device.cumsum, np.cumsum),
    "reverse": (lambda x: device.cumsum(x, reverse=True), lambda x: np.cumsum(x[::-1])[::-1]),
    "mixed": (lambda x: device.exclusive_scan(x, wk.add), lambda x: np.cumsum(x) - x),
    "a user's": (lambda x: device.inclusive_scan(x, later), filled),
}


@pytest.mark.parametrize("n", SIZES.values())
@pytest.mark.parametrize("name", NEW)
def test_calls_that_return_a_new_array_come_again_as_calls_into_one(quickly, name, n):
    """Each has an array of its own; other numbers of items have arrays of other sizes, none at all too."""
    call, expected = NEW[name]
    results = []
    for turn in range(3):
        for count in (n, n - 1, 0):
            x = items(count, turn)
            results.append((call(cuda.to_device(x)), expected(x)))
    assert quickly == [False] * 2 + [True] * 2
    assert len({id(array) for array, _ in results}) == len(results)
    for array, wanted in results:
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array.copy_to_host(), wanted)


def test_a_new_array_where_results_are_of_another_type_and_x_has_axes(quickly):
    for turn in range(4):
        x = items(300, turn).astype(np.int8).reshape(3, 100)
        result = device.cumsum(cuda.to_device(x))
        assert result.dtype == np.int64
        np.testing.assert_array_equal(result.copy_to_host(), np.cumsum(x))
        half = cuda.to_device(x)[:, ::2]
        np.testing.assert_array_equal(device.cumsum(half).copy_to_host(), np.cumsum(x[:, ::2]))
    assert quickly[:2] == [False] * 2
    assert any(quickly)


REDUCTIONS = {
    "sum": (device.sum, lambda x: [x.sum()]),
    "max": (device.max, lambda x: [x.max()]),
    "argmin": (device.argmin, lambda x: [x.argmin()]),
    "minmax": (device.minmax, lambda x: [x.min(), x.max()]),
    "reduce": (lambda x, out: device.reduce(x, wk.bit_or, out=out), lambda x: [np.bitwise_or.reduce(x.reshape(-1))]),
}


@pytest.mark.parametrize("n", [60, 600 if SIMULATOR else 1_000_000], ids=["few", "many"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_second_reduction_is_the_drivers_own(quickly, name, n):
    """Of arrays of several axes that do not line up too."""
    call, expected = REDUCTIONS[name]
    for part in ((slice(None), slice(None)), (slice(None), slice(1, 3))):
        quickly.clear()
        for turn in range(TURNS):
            x = (items(n, turn) + turn).reshape(-1, 4)
            wanted = np.array(expected(x[part]))
            there, out = cuda.to_device(x)[part], cuda.to_device(np.full(wanted.size, 77))
            call(there, out=out)
            np.testing.assert_array_equal(out.copy_to_host(), wanted)
            assert call(there, out=out) is out
            np.testing.assert_array_equal(out.copy_to_host(), wanted)
        assert quickly[1::2] == [True] * TURNS


def test_a_reduction_by_several_blocks(quickly, monkeypatch):
    """Its scratch stands between its arrays."""
    policy = device.ReducePolicy(threads=32, single_threads=32, single_loads=1, least_loads=1, loads=1)
    monkeypatch.setattr(reduce_call, "policy_for", lambda *given: policy)
    family, out = Family("sum", combining(wk.add)), cuda.to_device(np.zeros(1, np.int64))
    for turn in range(4):
        x = items(600, turn)
        reduce_call.run(family, cuda.to_device(x), out, None, None, None, None, None)
        assert out.copy_to_host()[0] == x.sum()
    assert quickly == [False, True, True, True]
    assert [known._use.slots > 1 for known in family.calls.now().values()] == [True]


def test_reductions_of_nothing_and_into_what_does_not_hold_them(quickly):
    x, nothing = cuda.to_device(np.arange(300)), cuda.to_device(np.zeros(0, np.int64))
    for _ in range(3):
        device.argmax(x, out=cuda.to_device(np.zeros(1, np.int16)))
        device.sum(nothing, out=cuda.to_device(np.zeros(1, np.int64)))
        for call, said in (
            (lambda: device.argmax(x, out=cuda.to_device(np.zeros(1, np.int8))), "signed integers that hold 299"),
            (lambda: device.max(nothing, out=cuda.to_device(np.zeros(1, np.int64))), "there are no items"),
            (lambda: device.sum(x, out=cuda.to_device(np.zeros(1, np.int32)[:0])), "out must have 1 neighbouring"),
            (lambda: device.sum(x, out=cuda.to_device(np.zeros(1, bool))), "out"),
        ):
            with pytest.raises((wk.Refused, ValueError), match=said):
                call()


@pytest.mark.parametrize("name", TOLD)
def test_without_a_count_and_with_one_are_two_calls(quickly, name):
    case, x = CASES[name], items(200, 1)
    there, count = cuda.to_device(x), cuda.to_device(np.full(1, 77))
    for _ in range(3):
        outs = outputs(case, 200)
        case.call(there, outs)
        check(case, x, outs)
        assert count.copy_to_host()[0] == 77
    outs = outputs(case, 200)
    case.call(there, outs, count_out=count)
    check(case, x, outs, count)
    assert quickly[-1] is False


@pytest.mark.parametrize("name", TOLD)
def test_a_number_of_items_on_the_device_is_one_more_array(quickly, name):
    case, n = CASES[name], 200
    there = cuda.to_device(items(n, 1))
    number, count = cuda.to_device(np.zeros(1, np.int64)), cuda.to_device(np.full(1, 77))
    for some in (50, 120, 200):
        outs = outputs(case, n)
        number.copy_to_device(np.array([some]))
        case.call(there, outs, count_out=count, num_items=number)
        check(case, items(n, 1)[:some], outs, count)
    for option in ("count_out", "num_items"):  # as many arrays of the same layouts
        number.copy_to_device(np.array([90]))
        for at_once in (False, True):
            outs = outputs(case, n)
            case.call(there, outs, **{option: number})
            check(case, items(n, 1)[: n if option == "count_out" else 90], outs)
            assert quickly[-1] is at_once


@pytest.mark.parametrize("name", TOLD)
def test_a_number_of_items_of_the_hosts_is_never_taken_for_another(quickly, name):
    case, n = CASES[name], 200
    there = cuda.to_device(items(n, 1))
    for some in (n, n, 50, 0, 120, np.int64(70), np.array(30)):
        outs = outputs(case, n)
        case.call(there, outs, num_items=some)
        check(case, items(n, 1)[: int(some)], outs)
    assert not any(quickly)


def test_a_policy_tells_calls_apart(quickly):
    x, out = cuda.to_device(items(400, 1)), cuda.to_device(np.zeros(400, np.int64))
    for policy in (POLICY, None, POLICY, None):
        device.select(x, odd, out=out, policy=policy)
    assert quickly == [False, False, True, True]
    with pytest.raises(wk.Refused, match="policy must be a SelectPolicy"):
        device.select(x, odd, out=out, policy=[1])


def test_more_tile_states_than_before(quickly):
    """The pool's memory grows between two calls of the same layouts: the launch is told its new size."""
    case = CASES["select"]
    for n in (SEVERAL, SEVERAL, LARGE, SEVERAL, SEVERAL):
        x, outs = items(n, n), outputs(case, n)
        there = cuda.to_device(x)
        case.call(there, outs)
        check(case, x, outs)
        device.cumsum(there, out=outs[0])
        np.testing.assert_array_equal(outs[0].copy_to_host(), np.cumsum(x))


@pytest.mark.parametrize("dtype", [np.complex64, [("a", np.int32), ("b", np.int32)], np.float16], ids=str)
def test_items_of_every_kind_come_again(quickly, dtype):
    host = np.zeros(100, dtype)
    host[host.dtype.names[0] if host.dtype.names else ...] = np.arange(100) % 5
    x, out, flags = cuda.to_device(host), cuda.to_device(host), cuda.to_device(np.arange(100) % 3 == 0)
    for _ in range(3):
        device.select_flagged(x, flags, out=out)
        np.testing.assert_array_equal(out.copy_to_host()[:34], host[::3])
    sums = cuda.to_device(device.cumsum(x).copy_to_host())  # not an array of the library's pool, which has a stream
    for _ in range(3):
        assert device.cumsum(x, out=sums) is sums
    name = host.dtype.names
    assert sums.copy_to_host()[-1].item() == ((200, 0) if name else 200)
    assert quickly[-2:] == [True, True]
    assert quickly[1:3] == [True, True]


def test_arrays_of_several_axes_are_known_but_not_at_once(quickly, monkeypatch):
    said, with_arguments = [], again.Known.with_arguments

    def listening(*given):
        said.append(with_arguments(*given))
        return said[-1]

    monkeypatch.setattr(again.Known, "with_arguments", listening)
    whole = np.arange(600).reshape(20, 30) % 7
    x, outs = cuda.to_device(whole)[:, 3:20], outputs(CASES["select"], 340)
    flat = whole[:, 3:20].reshape(-1)
    for _ in range(3):
        device.select(x, odd, out=outs[0])
        check(CASES["select"], flat, outs)
        device.cumsum(x, out=outs[0])
        np.testing.assert_array_equal(outs[0].copy_to_host(), np.cumsum(flat))
        outs = outputs(CASES["select"], 340)
    assert not any(quickly)
    assert said == [True] * 4  # from the second time on


def test_a_launch_that_fails_leaves_scratch_as_new(quickly, monkeypatch):
    def failing(*given):
        raise RuntimeError("not launched")

    case, x, done = CASES["select"], items(SEVERAL, 1), []
    there, outs = cuda.to_device(x), outputs(case, SEVERAL)
    monkeypatch.setattr(again.Known, "_template", lambda known, slots: failing)
    monkeypatch.setattr(again, "reset", lambda memory, stream: done.append((memory.slots > 0, stream)))

    def pred(v):
        return v & 1

    device.select(there, pred, out=outs[0], policy=POLICY)
    with pytest.raises(RuntimeError, match="not launched"):
        device.select(there, pred, out=outs[0], policy=POLICY)
    assert done == [(True, 0)]
    assert len(quickly) == 2
