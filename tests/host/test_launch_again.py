"""A launch that comes again: what changed since is seen, and what was refused at first is refused now."""

import sys
import threading

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import Refused
from warpkit.host import launch_again, streams_in
from warpkit.simt import machine

from .interop_objects import fake_cupy, fake_torch, installed

N = 32


@cuda.jit
def combine(out, x, y, factor):
    """Kernel."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor + y[i]


@pytest.fixture
def again(monkeypatch):
    """Count the launches that a template did; gives the list of their results."""
    done, launched = [], launch_again.launched_again

    def counted(*given):
        done.append(launched(*given))
        return done[-1]

    monkeypatch.setattr(sys.modules["warpkit.host.launch"], "launched_again", counted)
    return done


def values(seed):
    """Return N floats."""
    return np.random.default_rng(seed).random(N)


class Fake:
    """Arrays of a framework that is not there, over memory that the simulator has."""

    def __init__(self, make, current):
        self.make, self.current = make, current


@pytest.fixture(params=["torch", "cupy"])
def fake(request, monkeypatch):
    if request.param == "torch":
        module = installed(monkeypatch, fake_torch())
        return Fake(lambda array, **options: module.Tensor(array, **options), module)
    module = installed(monkeypatch, fake_cupy())
    return Fake(lambda array: module.ndarray(array), module)


@pytest.mark.simulator
def test_other_arrays_and_numbers_are_seen(fake, again):
    for turn in range(6):
        x, y, out = values(turn), values(turn + 10), np.zeros(N)
        wk.launch(combine, 1, N, *map(fake.make, (out, x, y)), float(turn))
        np.testing.assert_array_equal(out, x * turn + y)
    assert again[2:] == [True] * 4


def test_numba_arrays_and_numbers_of_every_kind(again):
    out, x, y = (machine.to_device(values(seed)) for seed in range(3))
    for _ in range(3):
        for factor in (2.5, 3, True, np.float32(1.5), np.int8(-3), np.uint64(2**63), np.float16(0.5)):
            wk.launch(combine, 1, N, out, x, y, factor)
            np.testing.assert_allclose(out.copy_to_host(), values(1) * float(factor) + values(2))
    assert again.count(True) == (0 if machine.SIMULATOR else 7)  # there every array is looked at each time


def test_a_number_that_no_longer_fits_is_refused_in_a_sentence():
    out = machine.to_device(np.zeros(1, np.int64))

    @cuda.jit
    def put(out, value):
        out[0] = value

    for value in (1, 2, 3, 2**63 - 1):
        wk.launch(put, 1, 1, out, value)
        assert out.copy_to_host()[0] == value
    with pytest.raises(Refused, match="argument 1 is 9223372036854775808, which int64 does not hold"):
        wk.launch(put, 1, 1, out, 2**63)
    assert out.copy_to_host()[0] == 2**63 - 1


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("options", "said"),
    [({"requires_grad": True}, "requires grad"), ({"device": -1}, "move it to the GPU"), ({"neg": True}, "negated")],
    ids=["grad", "cpu", "neg"],
)
def test_tensors_that_no_kernel_takes_are_refused_the_third_time_too(monkeypatch, options, said):
    torch = installed(monkeypatch, fake_torch())
    column = np.zeros((N, 2))
    arrays = [np.zeros(N), column[:, 0], np.zeros(N)]
    for _ in range(3):
        wk.launch(combine, 1, N, *map(torch.Tensor, arrays), 1.0)
    wrong = [torch.Tensor(arrays[0]), torch.Tensor(arrays[1], **options), torch.Tensor(arrays[2])]
    with pytest.raises(Refused, match=f"^argument 1 is a.* {said}"):
        wk.launch(combine, 1, N, *wrong, 1.0)


@pytest.mark.simulator
def test_order_and_memory_on_another_stream_than_the_frameworks_own(monkeypatch, again):
    torch = installed(monkeypatch, fake_torch())
    ordered, mine, theirs = [], wk.Stream(), wk.Stream()
    arrays = [torch.Tensor(np.zeros(N)) for _ in range(3)]
    for _ in range(3):
        wk.launch(combine, 1, N, *arrays, 1.0)
    order = streams_in.order
    monkeypatch.setattr(streams_in, "order", lambda *both: (ordered.append(both), order(*both)))
    wk.launch(combine, 1, N, *arrays, 1.0, stream=mine)
    assert ordered == [(0, mine.handle)]
    theirs.wait(mine)
    torch.current[0] = theirs.handle
    wk.launch(combine, 1, N, *arrays, 1.0)  # their current stream is meant, and nobody waits
    wk.launch(combine, 1, N, *arrays, 1.0, stream=theirs)
    assert ordered == [(0, mine.handle)]
    assert again[2:] == [True, False, True, True]


def test_grids_blocks_and_empty_ones(again):
    out, x, y = (machine.to_device(values(seed)) for seed in range(3))
    for _ in range(3):
        wk.launch(combine, (2, 1), (N // 2, 1, 1), out, x, y, 2.0)
    wk.launch(combine, 0, N, out, x, y, 7.0)
    wk.launch(combine, (4, 0), N, out, x, y, 7.0)
    np.testing.assert_allclose(out.copy_to_host(), values(1) * 2 + values(2))
    with pytest.raises(ValueError, match="at most"):
        wk.launch(combine, 1, 4096, out, x, y, 2.0)
    wk.launch(combine, 1, N, out, x, y, 3.0)
    np.testing.assert_allclose(out.copy_to_host(), values(1) * 3 + values(2))


def test_a_changed_captured_value_is_seen_by_a_launch_that_comes_again():
    out = machine.to_device(np.zeros(1, np.int64))

    def put(out):
        out[0] = CAPTURED

    for turn in range(9):
        globals()["CAPTURED"] = turn // 3
        wk.launch(put, 1, 1, out)
        assert out.copy_to_host()[0] == turn // 3


CAPTURED = 0


@pytest.mark.gpu
def test_threads_launch_the_same_kernel_with_their_own_arrays():
    wrong = []

    def work(seed):
        out, x, y = (machine.to_device(values(seed + part)) for part in range(3))
        for turn in range(200):
            wk.launch(combine, 1, N, out, x, y, float(turn))
            if not np.allclose(out.copy_to_host(), values(seed + 1) * turn + values(seed + 2)):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(10 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
