"""What the README shows works: its example runs, its links lead somewhere, its commands name what there is."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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


def test_nobody_is_told_to_install_the_other_package():
    for document in ROOT.glob("*.md"):
        assert not re.search(r"pip install (-\S+ )*['\"]?warpkit", document.read_text(encoding="utf-8"))
