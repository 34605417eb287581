"""Every example runs on the machine at hand and comes to its end, which is behind its comparison with NumPy."""

import runpy

import pytest

from . import EXAMPLES, FOLDER


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_agrees_with_numpy(example, capsys, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)  # as for `python examples/name.py`
    monkeypatch.setattr("sys.argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")

    assert capsys.readouterr().out
