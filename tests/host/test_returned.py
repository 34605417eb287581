"""What functions return is asked once, then known from disk, and never for a function that is another by now."""

import functools
import types

import numpy as np
import pytest

from warpkit.errors import Refused
from warpkit.host import cache, returned
from warpkit.simt.specs import Returned, array_spec, scalar_spec

pytestmark = pytest.mark.everywhere

F32, F64, I32 = np.dtype("f4"), np.dtype("f8"), np.dtype("i4")
NESTED = np.dtype([("f0", "?"), ("f1", [("f0", "<i8"), ("f1", "<c8")])])
FACTOR = 2


class Machine:
    """Answers what is asked, and counts."""

    def __init__(self, monkeypatch):
        self.answer, self.asked, self.meanwhile, self.capability = Returned(F32), [], None, (9, 0)
        for name in ("returned_dtype", "returned_by"):
            monkeypatch.setattr(returned.machine, name, functools.partial(self.ask, name))
        monkeypatch.setattr(
            returned.machine, "properties", lambda: types.SimpleNamespace(compute_capability=self.capability)
        )

    def ask(self, name, *given):
        """Answer one question."""
        self.asked.append((name, *given))
        if self.meanwhile:
            self.meanwhile()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine that is asked, and a cache of the test's own."""
    monkeypatch.setenv("WARPKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WARPKIT_CACHE", raising=False)
    monkeypatch.setattr(cache, "_built_from", lambda: "this build")
    return Machine(monkeypatch)


def scaled(value):
    return value * FACTOR


def below(value):
    return scaled(value)


def scaling(k):
    def scale(value):
        return value * k

    return scale


def asks(machine, function, dtypes=(F32,)):
    """Return how often the machine is asked what a function returns."""
    before = len(machine.asked)
    returned.returned_dtype(function, dtypes)
    return len(machine.asked) - before


@pytest.mark.parametrize("dtype", [F32, np.dtype("?"), np.dtype("f2"), np.dtype("u8"), np.dtype("c16"), NESTED])
def test_it_is_asked_once(machine, dtype):
    machine.answer = Returned(dtype)
    for _ in range(2):
        assert returned.returned_dtype(scaled, [F32]) == dtype
        assert returned.returned_by(scaled, (scalar_spec(F32),), (1.0,)) == dtype
    assert machine.asked == [("returned_dtype", scaled, [F32]), ("returned_by", scaled, (scalar_spec(F32),), (1.0,))]


def test_types_and_capability_count(machine):
    assert asks(machine, scaled) == 1
    assert [asks(machine, scaled, given) for given in ((F64,), (I32,), (F32, F32), (NESTED,), (F32,))] == [
        1,
        1,
        1,
        1,
        0,
    ]
    machine.capability = (8, 0)
    assert asks(machine, scaled) == 1
    arrays = [(array_spec(F32, 1),), (array_spec(F32, 2),), (array_spec(F32, 1, False),), (array_spec(F32, 1),)]
    before = len(machine.asked)
    for specs in arrays:
        returned.returned_by(scaled, specs, ())
    assert len(machine.asked) - before == 3


def test_another_function_is_asked_for(machine, monkeypatch):
    assert [asks(machine, function) for function in (scaled, below, lambda v: v * 3, lambda v: v * 4)] == [1] * 4
    assert [asks(machine, scaling(k)) for k in (3, 3.0, True, 3)] == [1, 1, 1, 0]
    assert [asks(machine, function) for function in (np.sqrt, np.exp, abs, np.sqrt)] == [1, 1, 1, 0]
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert [asks(machine, function) for function in (scaled, below)] == [1, 1]
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert [asks(machine, function) for function in (scaled, below)] == [0, 0]
    monkeypatch.setattr(scaled, "__code__", (lambda value: value > FACTOR).__code__)
    assert [asks(machine, function) for function in (scaled, below)] == [1, 1]


def test_what_cannot_be_known_elsewhere_is_asked_again(machine, monkeypatch):
    thing = object()
    assert [asks(machine, lambda v: thing) for _ in range(2)] == [1, 1]
    machine.answer = Returned(F32, storable=False)
    assert [asks(machine, scaled) for _ in range(2)] == [1, 1]
    machine.answer = Returned(F32)
    monkeypatch.setenv("WARPKIT_CACHE", "0")
    assert [asks(machine, scaled) for _ in range(2)] == [1, 1]
    monkeypatch.delenv("WARPKIT_CACHE")
    monkeypatch.setattr(cache, "_built_from", lambda: None)  # as in the simulator
    assert [asks(machine, scaled) for _ in range(2)] == [1, 1]


def test_what_changed_while_it_was_asked_is_not_kept(machine, monkeypatch):
    machine.meanwhile = lambda: monkeypatch.setitem(globals(), "FACTOR", 2.5)
    assert asks(machine, scaled) == 1
    machine.meanwhile = None
    assert asks(machine, scaled) == 1
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert asks(machine, scaled) == 1


def test_what_is_refused_is_asked_again(machine):
    machine.answer = Refused("returns none")
    for _ in range(2):
        with pytest.raises(Refused, match="returns none"):
            asks(machine, scaled)
    machine.answer = Returned(F32)
    assert asks(machine, scaled) == 1


def test_a_dtype_that_text_does_not_tell_is_asked_again(machine):
    """Names and types of fields do not say how they are placed."""
    machine.answer = Returned(np.dtype([("f0", "u1"), ("f1", "f8")], align=True))
    assert [asks(machine, scaled) for _ in range(2)] == [1, 1]
