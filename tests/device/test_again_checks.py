"""Calls that come again: what protects users at the first call does so at the others, also where these are quick."""

import sys

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.capture import Capture
from tests.host.interop_objects import fake_cupy, fake_torch, installed
from tests.room import give_back, no_room
from warpkit import device
from warpkit.device import again
from warpkit.host import streams_in
from warpkit.simt import machine

from .again import CASES, check, items, kept, later, odd, outputs
from .gpu import on_eight_threads

N = 100


def known(case, n=N, **options):
    """Make calls that are known from now on; return (x, outputs) of the last one."""
    there = cuda.to_device(items(n, 1))
    for _ in range(2):
        outs = outputs(case, n)
        case.call(there, outs, **options)
    return there, outs


# ------------------------------------------------------------------ memory that is shared


@pytest.mark.parametrize("name", ["select", "select_flagged", "unique", "run_length_encode"])
def test_in_place_and_beside_in_turn(quickly, name):
    case = CASES[name]
    if name == "select_flagged":
        case = case._replace(call=lambda x, o, **k: device.select_flagged(x, flags, out=o[0], **k))
        flags = cuda.to_device(items(N, 1))
    for turn in range(4):
        x = items(N, 1)
        there = cuda.to_device(x)
        outs = outputs(case, N)
        if turn % 2:
            outs = (there, *outs[1:])
        case.call(there, outs)
        for out, expected in zip(outs, case.expected(x)):
            np.testing.assert_array_equal(out.copy_to_host()[: len(expected)], expected)
    assert quickly == [False, name == "run_length_encode", True, True]  # `out` is `x`: maybe another kernel


@pytest.mark.parametrize("name", ["cumsum", "exclusive_scan", "a user's scan"])
def test_scans_in_place_and_beside_in_turn(quickly, name):
    """They may be different kernels: one that has read all before it writes, and one that need not."""
    case, x = CASES[name], items(N, 1)
    for turn in range(6):
        there, outs = cuda.to_device(x), outputs(case, N)
        outs = [outs, (there,), (there[:],)][turn % 3]
        case.call(there, outs)
        check(case, x, outs)
    assert quickly == [False, False, False, True, True, False]


@pytest.mark.parametrize("name", CASES)
def test_memory_that_is_shared_is_refused(quickly, name):
    case = CASES[name]
    known(case)
    memory = cuda.to_device(np.arange(4 * N) % 5)
    before = memory.copy_to_host()
    x, shifted, more = memory[N : 2 * N], memory[N + 1 : 2 * N + 1], [memory[3 * N :]] * (len(case.outs) - 1)
    if more:
        more = [cuda.to_device(np.full(N, 77, case.outs[1]))]
    for out in (shifted, memory[1 : N + 1]):
        with pytest.raises(ValueError, match=r"^[a-z_]+: out shares memory with (x|flags)"):
            case.call(x, (out, *more))
    np.testing.assert_array_equal(memory.copy_to_host(), before)
    assert not any(quickly[-2:])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.told])
def test_a_count_in_another_array_is_refused(quickly, name):
    case, memory = CASES[name], cuda.to_device(np.arange(4 * N) % 5)
    known(case, count_out=cuda.to_device(np.zeros(1, np.int64)))
    x, outs = memory[:N], (memory[N : 2 * N], *outputs(case, N)[1:])
    for count, said in ((memory[3:4], "x|flags"), (memory[N + 3 : N + 4], "out")):
        with pytest.raises(ValueError, match=f"count_out shares memory with ({said});"):
            case.call(x, outs, count_out=count)
    case.call(x, outs, count_out=memory[2 * N : 2 * N + 1])
    assert quickly[-3:] == [False, False, True]
    number, count = (cuda.to_device(np.full(1, N)) for _ in range(2))
    for _ in range(2):
        case.call(x, outs, count_out=count, num_items=number)
    with pytest.raises(ValueError, match="count_out shares memory with num_items;"):
        case.call(x, outs, count_out=number, num_items=number)
    assert quickly[-3:] == [False, True, False]


def test_partition_never_works_in_place(quickly):
    x, _ = known(CASES["partition"])
    with pytest.raises(ValueError, match="partition: out shares memory with x"):
        device.partition(x, odd, out=x)


# ------------------------------------------------------------------ kinds of arrays


def test_other_dtypes_and_sizes_are_looked_at_anew(quickly):
    x, outs = known(CASES["select"], count_out=cuda.to_device(np.zeros(1, np.int64)))
    for call, said in (
        (lambda: device.select(x, odd, out=cuda.to_device(np.zeros(N, np.int32))), "out must be of dtype int64"),
        (lambda: device.select(x, odd, out=cuda.to_device(np.zeros((2, N)))[:, :3]), "out must"),
        (lambda: device.select(x, odd, out=outs[0], count_out=cuda.to_device(np.zeros(2, int))), "one element"),
        (lambda: device.select(x, odd, out=outs[0], count_out=cuda.to_device(np.zeros(1))), "count_out must be"),
        (lambda: device.select(np.ones(N, int), odd, out=outs[0]), "x is a NumPy array"),
        (lambda: device.select(x, odd, out=3), "out is"),
        (lambda: device.select(x, 3, out=outs[0]), "pred must be a function"),
        (lambda: device.select(x, odd, out=outs[0], stream="none"), "stream"),
        (lambda: device.select_flagged(x, cuda.to_device(np.ones(7)), out=outs[0]), "a flag for each"),
        (lambda: device.partition(x, odd, out=cuda.to_device(np.zeros(N - 1, int))), "room for all"),
        (lambda: device.run_length_encode(x, out=outs[0]), "a pair"),
        (lambda: device.select(x, odd, count_out=outs[0][:1]), "goes with out="),
    ):
        for _ in range(2):
            with pytest.raises((wk.Refused, ValueError), match=said):
                call()


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["select", "cumsum", "run_length_encode"])
def test_tensors_that_no_kernel_takes_are_refused(monkeypatch, at_once, name):
    torch, case = installed(monkeypatch, fake_torch()), CASES[name]
    host, column = [np.zeros(N, dtype) for dtype in case.outs], np.zeros((N, 2), np.int64)
    outs = tuple([torch.Tensor(array) for array in host])
    for turn in range(3):
        column[:, 0] = x = items(N, turn)
        case.call(torch.Tensor(column[:, 0]), outs)
        np.testing.assert_array_equal(host[0][: len(case.expected(x)[0])], case.expected(x)[0])
    assert at_once == [False, True, True]
    for options, said in (
        ({"requires_grad": True}, "requires grad"),
        ({"device": -1}, "move it to the GPU"),
        ({"neg": True}, "negated"),
        ({"device": 1}, "is on device 1, and device 0 is current"),
    ):
        with pytest.raises(wk.Refused, match=said):
            case.call(torch.Tensor(column[:, 0], **options), outs)
        with pytest.raises(wk.Refused, match=said.replace("negated", "requires grad")):
            case.call(torch.Tensor(column[:, 0]), (torch.Tensor(host[0], **(
                {"requires_grad": True} if "neg" in options else options)), *outs[1:]))  # fmt: skip


@pytest.mark.simulator
def test_arrays_of_another_gpu_than_the_current_one_are_refused(monkeypatch, at_once):
    torch, x = installed(monkeypatch, fake_torch()), items(N, 1)
    out, other = np.zeros(N, np.int64), {"device": 1}
    monkeypatch.setattr(machine, "device_count", lambda: 2)
    for _ in range(2):
        device.select(torch.Tensor(x), odd, out=torch.Tensor(out))
    with pytest.raises(wk.Refused, match="is on device 1, and device 0 is current"):
        device.select(torch.Tensor(x, **other), odd, out=torch.Tensor(out, **other))
    assert at_once == [False, True, False]


@pytest.mark.simulator
def test_words_are_for_addresses_that_fit_them(monkeypatch, at_once):
    """Eight bytes of complex64 move as one word, unless they lie at half of one."""
    torch, words = installed(monkeypatch, fake_torch()), np.zeros(2 * N + 3, np.float32)
    words = words[words.ctypes.data % 8 // 4 :]
    flags, out = torch.Tensor(np.arange(N) % 3 == 0), np.zeros(N, np.complex64)
    for turn, half in enumerate((1, 1, 0, 0, 1, 0)):
        x = words[half : half + 2 * N].view(np.complex64)
        x[:] = np.arange(N) + turn
        device.select_flagged(torch.Tensor(x), flags, out=torch.Tensor(out))
        np.testing.assert_array_equal(out[:34], x[::3])
    assert at_once == [False, False, False, True, False, True]


# ------------------------------------------------------------------ streams


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["select", "cumsum", "run_length_encode"])
def test_order_on_another_stream_than_the_frameworks_own(monkeypatch, at_once, name):
    torch, case = installed(monkeypatch, fake_torch()), CASES[name]
    ordered, mine, theirs = [], wk.Stream(), wk.Stream()
    x, outs = torch.Tensor(items(N, 1)), tuple([torch.Tensor(np.zeros(N, dtype)) for dtype in case.outs])
    case.call(x, outs)
    order = streams_in.order
    monkeypatch.setattr(streams_in, "order", lambda *both: (ordered.append(both), order(*both)))
    case.call(x, outs, stream=mine)
    assert ordered == [(0, mine.handle)]
    theirs.wait(mine)
    torch.current[0] = theirs.handle
    case.call(x, outs)  # their current stream is meant, and nobody waits
    case.call(x, outs, stream=theirs)
    assert ordered == [(0, mine.handle)]
    assert at_once == [False, False, True, True]


@pytest.mark.simulator
def test_arrays_of_two_frameworks_are_known_but_not_at_once(monkeypatch, at_once):
    torch, cupy, x = installed(monkeypatch, fake_torch()), installed(monkeypatch, fake_cupy()), items(N, 1)
    out = np.zeros(N, np.int64)
    for _ in range(3):
        device.select(torch.Tensor(x), odd, out=cupy.ndarray(out))
        np.testing.assert_array_equal(out[: kept(CASES["select"], x)], x[x & 1 == 1])
    assert not any(at_once)


def test_another_stream(quickly):
    case, stream = CASES["select"], wk.Stream()
    there, _ = known(case)
    for _ in range(2):
        outs = outputs(case, N)
        wk.synchronize()
        case.call(there, outs, stream=stream)
        stream.synchronize()
        check(case, items(N, 1), outs)
    assert quickly[-2:] == [True, True]


# ------------------------------------------------------------------ functions of the user's


def test_a_captured_number_that_changes_is_seen(quickly):
    least, x = 0, items(N, 1)

    def pred(v):
        return v > least

    def op(a, b):
        return a + b + least

    there, outs, sums = cuda.to_device(x), outputs(CASES["select"], N), outputs(CASES["cumsum"], N)
    for turn in range(9):
        least = turn // 3
        device.select(there, pred, out=outs[0])
        np.testing.assert_array_equal(outs[0].copy_to_host()[: (x > least).sum()], x[x > least])
        device.inclusive_scan(there, op, out=sums[0])
        np.testing.assert_array_equal(sums[0].copy_to_host(), np.cumsum(x) + least * np.arange(N))
    assert quickly == [False, False, True, True, True, True] * 3


def test_a_called_function_that_changes_is_seen(quickly):
    x = items(N, 1)
    there, outs = cuda.to_device(x), outputs(CASES["select"], N)

    def called(v):
        return v > 0

    def pred(v):
        return called(v)

    for turn in range(6):
        if turn == 3:

            def called(v):
                return v > 1

        device.select(there, pred, out=outs[0])
        wanted = x[x > turn // 3]
        np.testing.assert_array_equal(outs[0].copy_to_host()[: wanted.size], wanted)
    assert quickly == [False, True, True] * 2


def test_what_changes_while_a_call_is_decided_is_not_remembered(quickly, monkeypatch):
    least, x, as_argument = 0, items(N, 1), again.as_argument
    there, outs = cuda.to_device(x), outputs(CASES["select"], N)

    def pred(v):
        return v > least

    def meanwhile(*given):
        nonlocal least
        least = 1
        return as_argument(*given)

    with monkeypatch.context() as patch:
        patch.setattr(again, "as_argument", meanwhile)
        device.select(there, pred, out=outs[0])
    least = 0
    device.select(there, pred, out=outs[0])
    np.testing.assert_array_equal(outs[0].copy_to_host()[: (x > 0).sum()], x[x > 0])
    assert quickly == [False, False]


def test_captured_arrays_are_read_at_every_call(quickly):
    x = items(N, 1)
    least = cuda.to_device(np.zeros(1, np.int64))

    def pred(v):
        return v > least[0]

    there, outs = cuda.to_device(x), outputs(CASES["select"], N)
    for turn in range(6):
        if turn == 3:
            least = cuda.to_device(np.zeros(1, np.int64))
        least.copy_to_device(np.array([turn % 3]))
        device.select(there, pred, out=outs[0])
        wanted = x[x > turn % 3]
        np.testing.assert_array_equal(outs[0].copy_to_host()[: wanted.size], wanted)


# ------------------------------------------------------------------ on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_under_capture(quickly, name):
    """A known call in a graph has scratch of its own, and takes what is there at every replay."""
    case, n, stream = CASES[name], 100_000, wk.Stream()
    there, outs = known(case, n)
    wk.synchronize()
    with Capture(stream) as graph:
        case.call(there, outs, stream=stream)
    assert quickly[-1]
    for turn in range(3):
        x = items(n, turn)
        there.copy_to_device(x)
        for out in outs:
            out.copy_to_device(np.full(n, 77, out.dtype))
        graph()
        check(case, x, outs)
        case.call(there, outputs(case, n))  # in between, on the scratch of all others


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["select", "partition", "cumsum"])
def test_no_room_for_scratch_leaves_out_as_it_was(quickly, monkeypatch, name):
    case, n, stream = CASES[name], 1 << 22, wk.Stream()
    monkeypatch.setattr(
        sys.modules["warpkit.host.scratch"], "_pool", {}
    )  # else what an earlier stream has left is room
    there, outs = known(case, n)
    outs[0].copy_to_device(np.full(n, 77))
    give_back()  # what others have left in the pool would be room
    with no_room(), pytest.raises(MemoryError):
        case.call(there, outs, stream=stream)
    assert (outs[0].copy_to_host() == 77).all()
    case.call(there, outs, stream=stream)
    stream.synchronize()
    check(case, items(n, 1), outs)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["select", "run_length_encode", "a user's scan"])
def test_threads_make_one_call_with_their_own_arrays(name):
    case, n, wrong = CASES[name], 30_000, []

    def work(stream):
        x, outs = items(n, id(stream) % 1000), outputs(case, n)
        there = cuda.to_device(x)
        for _ in range(100):
            case.call(there, outs, stream=stream)
        wk.synchronize()
        try:
            check(case, x, outs)
        except AssertionError as error:
            wrong.append(error)

    known(case, n)
    wk.synchronize()
    on_eight_threads(work)
    assert not wrong


def test_an_operator_is_known_by_itself(quickly):
    """Two that look alike are two."""
    x = items(N, 1)
    there, outs = cuda.to_device(x), outputs(CASES["cumsum"], N)
    for op in (later, lambda a, b: a + b, later, wk.add):
        device.inclusive_scan(there, op, out=outs[0])
        expected = CASES["a user's scan"].expected(x)[0] if op is later else np.cumsum(x)
        np.testing.assert_array_equal(outs[0].copy_to_host(), expected)
    assert quickly[2] is True
