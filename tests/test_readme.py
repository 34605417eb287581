"""What the README shows works: its example runs, its links lead somewhere, its commands name what there is."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from docs.generate import figures
from tests.processes import path_first
from warpkit.cli.probe import probe

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    program = tmp_path / "example.py"
    program.write_text(code, encoding="utf-8")
    simulator = {} if probe().gpu else {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, str(program)],
        env=os.environ | path_first(ROOT) | simulator,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "assert" in code


def test_links_lead_to_files_of_the_repository():
    targets = re.findall(r"[^\]]\]\((?!https:)([^)#]+)\)", re.sub(r"```.*?```", "", README, flags=re.DOTALL))

    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_two_commands_install_extras_that_exist_and_run_what_exists():
    commands = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    assert len(commands) == 2
    for command in commands:
        assert set(re.search(r"'\.\[(.+)\]'", command)[1].split(",")) <= set(extras)
    assert commands[0].endswith("-m warpkit tour\n")
    assert commands[1].endswith(" tests/run.py\n")
    assert (ROOT / "tests/run.py").exists()


def measured():
    """Return what is in the newest record of each suite: times, those of peers, ratios, shares of a copy."""
    rows = [row for suite, (_, record) in figures.newest().items() for row in record["suites"][suite]["rows"]]
    found = [row.get(key) for row in rows for key in ("ours", "peer", "ratio", "copy_percent")]
    return [value for value in found if value is not None]


def figures_of(text):
    """Return the numbers in the tables of a text, but for those of the first column."""
    cells = [cell for line in text.splitlines() if line.startswith("|") for cell in line.split("|")[2:]]
    return [number for cell in cells for number in re.findall(r"(?<![\w^.])\d+(?:\.\d+)?(?![\w^])", cell)]


def test_figures_are_in_the_newest_results():
    shown = figures_of(re.search(r"## How fast\n(.*?)\n## ", README, re.DOTALL)[1])
    known = measured()

    def is_rounded(number):
        half = 0.5001 * 10.0 ** -len(number.partition(".")[2])
        return any(abs(value - float(number)) <= half for value in known)

    assert figures_of("| 12 cases | 3.5 of 2^20 | u8 |") == ["3.5"]
    assert len(shown) > 50
    assert [number for number in shown if not is_rounded(number)] == []


def test_nobody_is_told_to_install_the_other_package():
    for document in ROOT.glob("*.md"):
        assert not re.search(r"pip install (-\S+ )*['\"]?warpkit", document.read_text(encoding="utf-8"))
