"""What was typed, for `explain`: dtype, compute capability, and a process in which the compiler works."""

import argparse
import os
import subprocess
import sys
from typing import Any

import numpy as np

from ...simt.machine import SIMULATOR, describe
from ..probe import probe

DEFAULT = (9, 0)  # without a GPU
KINDS = {"f": ("float", 16), "i": ("int", 8), "u": ("uint", 8), "c": ("complex", 64)}  # with the fewest bits of each
# f32 for float32, and so on. Where NumPy counts bytes and has the name too (f16, i8, u8), bits are meant.
SHORT = {
    f"{letter}{bits}": f"{kind}{bits}"
    for letter, (kind, fewest) in KINDS.items()
    for bits in (8, 16, 32, 64, 128)
    if fewest <= bits <= (128 if letter == "c" else 64)
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what `explain` takes."""
    parser.add_argument("name", metavar="NAME", help="warp_…, block_…, or an array function: device.sum, or sum")
    parser.add_argument("--dtype", default="float32", metavar="D", help="the items' type, float32 or f32, … (float32)")
    parser.add_argument("--width", type=int, default=32, metavar="W", help="lanes of a logical warp (32)")
    parser.add_argument("--threads", type=int, default=256, metavar="T", help="threads of a block (256)")
    parser.add_argument("--items", type=int, default=0, metavar="N", help="items a thread (4), or of the array (2^24)")
    parser.add_argument("--op", default="add", metavar="OP", help="operator, where there is one to choose (add)")
    parser.add_argument("--cc", metavar="M.N", help="compute capability (that of the GPU here, else 9.0)")


def command(chosen: argparse.Namespace, arguments: list[str]) -> int:
    """Explain what was asked for, and return the exit status; in the simulator's process in another one."""
    if SIMULATOR:  # which has no compiler
        environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "0"}
        return subprocess.run([sys.executable, "-m", "warpkit", *arguments], env=environment, check=False).returncode
    from .calls import OPERATORS
    from .report import Asked, explain

    try:
        dtype, capability = dtype_of(chosen.dtype), capability_of(chosen.cc)
    except (TypeError, ValueError) as error:
        print(f"explain: {error}", file=sys.stderr)
        return 2
    fault = None
    if chosen.op not in OPERATORS:
        fault = f"there is no operator {chosen.op!r}; there are {', '.join(OPERATORS)}."
    elif not 1 <= chosen.threads <= 1024:
        fault = f"a block has 1 to 1024 threads, not {chosen.threads}."
    elif chosen.items < 0:
        fault = f"--items must not be negative, as {chosen.items} is."
    if fault:
        print(f"explain: {fault}", file=sys.stderr)
        return 2
    return explain(Asked(chosen.name, dtype, chosen.width, chosen.threads, chosen.items, chosen.op, capability))


def dtype_of(text: str) -> np.dtype[Any]:
    """Return the dtype of a name, NumPy's or a short one; TypeError for what is none."""
    return np.dtype(SHORT.get(text, text))


def capability_of(text: str | None) -> tuple[int, int]:
    """Return the compute capability that was given, or that of the GPU here; ValueError for what is none."""
    if text is None:
        found = describe()["compute_capability"] if probe().gpu else DEFAULT
        return found[0], found[1]
    major, _, minor = text.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise ValueError(f"--cc must be a compute capability such as 9.0, not {text!r}.")
    if (int(major), int(minor)) < (7, 0):
        raise ValueError(f"--cc must be 7.0 or more, not {text}.")
    return int(major), int(minor)
