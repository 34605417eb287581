"""The tour as a whole: what it prints and which exit status it ends with."""

import types

import numpy as np
import pytest

from warpkit.cli import tour
from warpkit.cli.steps import checksum


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "[odd] name.txt"
    path.write_bytes(b"Some text\nwith a second line\n")
    return path


def test_all_steps_agree(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    status = tour.tour(str(file))

    printed = capsys.readouterr().out
    assert status == 0
    assert "2 lines" in printed
    assert "line 2: 18 bytes" in printed
    assert f"File: {file}, 29 bytes." in printed
    assert printed.endswith("Beside NumPy all 13 steps agree.\n")


def test_a_step_that_differs_is_named_and_ends_in_1(file, capsys, monkeypatch):
    lie = types.SimpleNamespace(**vars(checksum))
    lie.run = lambda data: {"checksum": checksum.expected(data)["checksum"] ^ np.uint32(1)}
    monkeypatch.setattr(tour, "STEPS", (checksum, lie))

    status = tour.tour(str(file))

    printed = capsys.readouterr().out
    assert status == 1
    assert "Checksum differs from NumPy: checksum[0]: " in printed
    assert printed.endswith("Beside NumPy 1 of 2 steps differ.\n")


def test_a_long_file_is_cut_and_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tour, "SIMULATED_BYTES", 100)
    monkeypatch.setattr(tour, "GPU_BYTES", 100)
    path = tmp_path / "long"
    path.write_bytes(b"abc\n" * 1000)

    assert tour.tour(str(path)) == 0
    assert "the first 100 of 4,000 bytes." in capsys.readouterr().out


def test_output_that_is_not_unicode_gets_words(file, capsys, monkeypatch):
    monkeypatch.setattr("rich.console.Console.encoding", property(lambda self: "ascii"))

    assert tour.tour(str(file)) == 0
    printed = capsys.readouterr().out
    assert "ok" in printed
    assert printed.isascii()


def test_an_empty_file_is_a_sentence(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.touch()

    assert tour.tour(str(empty)) == 0
    assert capsys.readouterr().out.startswith(f"{empty} is empty")


@pytest.mark.parametrize("make", ["nothing", "folder"])
def test_a_file_that_cannot_be_read_is_one_sentence_and_ends_in_2(make, tmp_path, capsys):
    path = tmp_path if make == "folder" else tmp_path / "nothing"

    assert tour.tour(str(path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Cannot read {path}: ")
    assert err.count("\n") == 1


def test_the_default_file_is_a_text_of_this_python():
    size, text = tour.read(tour.default_file(), 5000)

    assert size > 4096
    assert text.size == 5000
    assert (text < 128).mean() > 0.9
