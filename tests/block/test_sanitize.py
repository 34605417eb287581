"""What is run under the sanitizers is right without them, and names every block collective."""

import inspect

import pytest

import warpkit.block
from tests import sanitize, sanitized

NO_COLLECTIVES = {"bank_conflicts", "padded_index", "padded_size", "swizzled_index"}


@pytest.mark.parametrize("case", sanitize.CASES)
def test_case(case):
    sanitize.CASES[case]()


@pytest.mark.everywhere
def test_every_block_collective_is_there():
    text = inspect.getsource(sanitize) + inspect.getsource(sanitized)
    missing = [name for name in warpkit.block.__all__ if f"wk.{name}(" not in text]
    assert set(missing) == NO_COLLECTIVES


@pytest.mark.everywhere
def test_a_wrong_result_is_reported(monkeypatch, capsys):
    monkeypatch.setitem(sanitize.CASES, "count", lambda: sanitize.check(None, lambda part: [part]))
    monkeypatch.setattr(sanitize, "run", lambda kernel, threads, x, out: out)
    assert sanitize.main(["count"]) == 1
    assert "count: WRONG" in capsys.readouterr().out
    assert sanitize.main(["no such case"]) == 2
