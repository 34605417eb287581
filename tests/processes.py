"""What tests that start another Python share."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]


def path_first(folder: Path) -> dict[str, str]:
    """Return the PYTHONPATH that finds `folder` before everything this process finds by that variable."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


def run_apart(code: str, folder: Path, **variables: str) -> str:
    """Run a program in a process of its own, with an empty cache of kernels in `folder`; return what it printed."""
    source = folder / "program.py"
    source.write_text(textwrap.dedent(code), encoding="utf-8")
    environment = os.environ | path_first(ROOT) | {"WARPKIT_CACHE_DIR": str(folder / "cache")} | variables
    done = subprocess.run([sys.executable, str(source)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
