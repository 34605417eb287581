"""The floors: imports point only down, and above the waist nobody asks for the machine or reaches into Numba."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "warpkit"
# From the ground up; a module may import its own floor and those below.
FLOORS = [
    "_versions",
    "_collector",
    "errors",
    "simt",
    "ops",
    "warp",
    "block",
    "host",
    "device",
    "cli",
    "__main__",
    "__init__",
]
PORTABLE = ["ops", "warp", "block", "host", "device"]  # both machines run these: plain Python over the waist
COMPILER = {"numba", "numba_cuda", "llvmlite", "cuda", "ctypes", "greenlet"}
MACHINE_NAMES = {"SIMULATOR", "ENABLE_CUDASIM", "simulator", "numba_cuda"}
PTX = re.compile(r"\b(asm|shfl|redux|vote|match|bar|ld|st|mov|cvt|fence|membar|atom|red)\.[a-z]+[.\w]*\s")


def modules():
    """Return (dotted name inside warpkit, source) of every module."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield (".".join(parts), path.read_text(encoding="utf-8"))


def floor(name):
    """Return the floor's name: the first part."""
    return name.partition(".")[0]


def imports(name, source):
    """Return the dotted names that a module imports; those of warpkit without `warpkit.`, relative ones resolved."""
    package = name.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = ["warpkit", *package[: len(package) - node.level + 1], *base]
            found = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        yield from found


def upward(name, source):
    """Return the imports of higher floors, and of the other implementation inside the waist."""
    wrong = []
    for dotted in imports(name, source):
        if dotted == "warpkit" or not dotted.startswith("warpkit."):
            if dotted == "warpkit" and floor(name) not in ("cli", "__main__", "__init__"):
                wrong.append(dotted)
            continue
        target = dotted.removeprefix("warpkit.")
        if floor(target) in FLOORS:
            higher = FLOORS.index(floor(target)) > FLOORS.index(floor(name))
        else:
            higher = floor(name) not in ("cli", "__main__", "__init__")  # a flat name: that is warpkit/__init__ itself
        pair = {".".join(name.split(".")[:2]), ".".join(target.split(".")[:2])}
        if higher or pair == {"simt.simulator", "simt.numba_cuda"}:
            wrong.append(dotted)
    return wrong


def unportable(name, source):
    """Return what only one machine understands: compiler imports, machine names, PTX in a string, generated code."""
    tree = ast.parse(source)
    wrong = [dotted for dotted in imports(name, source) if dotted.partition(".")[0] in COMPILER]
    docstrings = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            if word in MACHINE_NAMES or word in ("exec", "eval"):
                wrong.append(word)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value not in docstrings and PTX.search(node.value):
                wrong.append(node.value)
    return wrong


MODULES = list(modules())
IDS = [name for name, _ in MODULES]
ABOVE = [module for module in MODULES if floor(module[0]) in PORTABLE]


@pytest.mark.parametrize(("name", "source"), MODULES, ids=IDS)
def test_every_module_stands_on_a_floor(name, source):
    assert floor(name) in FLOORS


def test_contributors_are_told_of_every_floor():
    told = re.findall(r"^warpkit/(\w+) ", (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == [name for name in FLOORS if (ROOT / name).is_dir()]


@pytest.mark.parametrize(("name", "source"), MODULES, ids=IDS)
def test_imports_point_only_down(name, source):
    assert upward(name, source) == []


@pytest.mark.parametrize(("name", "source"), ABOVE, ids=[name for name, _ in ABOVE])
def test_above_the_waist_there_is_one_machine(name, source):
    assert unportable(name, source) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("simt.lanes", "from warpkit.warp import reduce"),
        ("simt.lanes", "from ..warp.reduce import warp_reduce"),
        ("warp.scan", "from .. import block"),
        ("warp.scan", "import warpkit.block.reduce"),
        ("warp.scan", "def f():\n    from warpkit import warp_active_sum"),
        ("warp.__init__", "import warpkit"),
        ("simt.simulator.kernel", "from ..numba_cuda import lanes"),
        ("errors", "from .simt import lanes"),
    ],
    ids=str,
)
def test_an_import_upward_is_seen(name, source):
    assert len(upward(name, source)) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("warp.__init__", "from .reduce import warp_reduce"),
        ("warp.scan", "from ..simt import lanes, types\nfrom .reduce import f\nimport numpy as np"),
        ("simt.numba_cuda.lanes", "from .. import lanes\nfrom ...errors import Refused"),
        ("cli.steps.lines", "import warpkit as wk\nfrom warpkit.simt import machine"),
    ],
    ids=str,
)
def test_an_import_downward_is_none_of_its_business(name, source):
    assert upward(name, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "from numba import cuda",
        "import llvmlite.ir",
        "def f():\n    from numba.cuda.extending import intrinsic",
        "from ..simt import machine\nif machine.SIMULATOR:\n    pass",
        "from ..simt.machine import SIMULATOR as s\nx = 1 if SIMULATOR else 2",
        "TEXT = 'shfl.sync.idx.b32 $0, $1;'",
        "def f(x):\n    exec('y = x')",
    ],
    ids=str,
)
def test_what_belongs_in_the_waist_is_seen(source):
    assert unportable("warp.scan", source)


def test_a_docstring_may_name_an_instruction():
    assert unportable("warp.scan", 'def f(x):\n    """Cost: one redux.sync in all."""\n    return x') == []
