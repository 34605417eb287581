"""`python -m warpkit examples`: what it lists, runs and refuses, from a checkout and from an installed package."""

import ast
import io
import os
import shutil
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, FOLDER
from tests.processes import path_first
from warpkit.cli import examples

ROOT = FOLDER.parent
NAMES = [path.stem for path in EXAMPLES]
MOST_LINES = 60


def lines_of_code(source):
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    code, beside = set(), (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*beside, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(code)


def test_lines_of_code_are_counted_as_said():
    assert lines_of_code('"""Text.\n\nMore.\n"""\n\n# why\nx = [\n    1,  # what\n]\n\n\ndef f():\n    """F."""\n') == 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_says_what_it_shows_and_compares(path):
    source = path.read_text(encoding="utf-8")

    assert lines_of_code(source) <= MOST_LINES
    assert len(examples.headline(path).splitlines()) == 1
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))


def run(*arguments, root=ROOT, folder=ROOT, **variables):
    """Run `python -m warpkit examples` with the package in `root`."""
    environment = os.environ | path_first(root) | variables
    command = [sys.executable, "-m", "warpkit", "examples", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120
    )


def test_the_list_has_a_line_for_each(capsys):
    assert examples.show_list() == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES


def test_one_runs_by_its_name_with_its_output():
    done = run("grouped_softmax", PYTHONUTF8="1")

    assert done.returncode == 0, done.stderr
    assert "the greatest share is" in done.stdout
    assert f"Source: {FOLDER / 'grouped_softmax.py'}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("no_such",), f"There is no example 'no_such'; there are {', '.join(NAMES)}."),
        (
            ("softmax", "p.png"),
            "The example softmax draws no picture; these do: equalise, mipmap, parallel_loop, run_lengths.",
        ),
    ],
)
def test_what_cannot_be_run_as_asked_ends_in_2(arguments, sentence, capsys):
    assert examples.run_one(*arguments) == 2
    assert capsys.readouterr().err.strip() == sentence


def test_a_picture_without_matplotlib_says_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setattr(examples, "find_spec", lambda name: None)

    assert examples.run_one("mipmap", "p.png") == 2
    assert "pip install matplotlib" in capsys.readouterr().err


@pytest.fixture
def installed(tmp_path):
    """Lay the package out as its wheel does, with two examples of our own."""
    shutil.copytree(ROOT / "warpkit", tmp_path / "warpkit", ignore=shutil.ignore_patterns("__pycache__"))
    gallery = tmp_path / "warpkit" / "examples"
    gallery.mkdir()
    (gallery / "good.py").write_text('"""Shows nothing."""\nfrom _part import ANSWER\n\nassert ANSWER == 42\n')
    (gallery / "wrong.py").write_text('"""Fails."""\nassert 1 == 2, "one is not two"\n')
    (gallery / "_part.py").write_text("import warpkit\n\nANSWER = 42 if 'warpkit' in warpkit.__file__ else 0\n")
    return tmp_path


def test_an_installed_package_has_its_own_examples_and_one_that_fails_is_named(installed):
    done = run(root=installed, folder=installed)

    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Machine:", "good", "wrong", "Failed:"]
    assert "FAILED  Fails." in done.stdout
    assert "one is not two" in done.stderr
    assert done.stdout.endswith("Failed: wrong.\n")


def test_all_good_ends_in_0(installed):
    (installed / "warpkit" / "examples" / "wrong.py").unlink()

    done = run(root=installed, folder=installed)

    assert done.returncode == 0
    assert done.stdout.endswith("All 1 agree with NumPy.\n")


def test_a_single_one_that_fails_ends_in_1(installed):
    assert run("wrong", root=installed, folder=installed).returncode == 1


def test_wheel_and_source_distribution_hold_the_examples():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]

    assert built["wheel"]["force-include"]["examples"] == "warpkit/examples"
    assert "/examples" in built["sdist"]["include"]
    assert not Path(ROOT / "warpkit" / "examples").exists()
