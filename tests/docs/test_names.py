"""Every public name has a page of the reference, and no page names a function that does not exist."""

import ast
import re
import sys

import pytest

import warpkit
from docs.generate import reference

from . import PAGES, ROOT

pytestmark = pytest.mark.everywhere

README = ROOT / "README.md"

OURS = re.compile(
    r"\b(?:warp|block|lookback|grid|sync|tile)_[a-z_]+\b|\bcompute_warp_size\b|\b(?:shared|local)_array\b"
)
# Names that are not ours, wherever they stand.
OTHERS = {"block_prefix_callback_op", "block_aggregate", "warp_aggregate", "warp_transpose", "grid_group"}
OTHERS |= {"warp_shuffle_idx", "warp_transpose_timesliced"}
OTHERS |= {"tile_items"}  # a field of what `lookback_pass` returns


def code_of(page):
    """Yield what a page shows as code of ours: inline code and blocks, but not the foreign side of a table."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and page.parent.name == "coming-from":
            line = line.strip("| ").rsplit("|", 1)[-1]
        yield from re.findall(r"`([^`]+)`", line)
    yield from re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_only_functions_that_exist(page):
    defined = {
        node.name
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.FunctionDef)
    }
    named = {name for code in code_of(page) for name in OURS.findall(code)} - OTHERS - defined

    # What ends in _ is the start of several names.
    assert {name for name in named if not name.endswith("_") and not hasattr(warpkit, name)} == set()


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.stem)
def test_what_follows_wk_exists(page):
    names = re.findall(r"\bwk\.(device\.\w+|\w+)", page.read_text(encoding="utf-8"))

    assert [name for name in names if name not in reference.public() and not hasattr(warpkit, name)] == []


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.stem)
def test_array_functions_exist(page):
    names = {name for code in code_of(page) for name in re.findall(r"\bdevice\.(\w+)", code)}

    assert {name for name in names if f"device.{name}" not in reference.public()} == set()


FOREIGN = [page for page in PAGES if page.parent.name == "coming-from"]
METHODS = {"list": warpkit.CommandList, "stream": warpkit.Stream, "event": warpkit.Event, "p": warpkit.Prepared}
PYTHON = {"if", "while", "print"}


def ours(page):
    """Yield the names that a table gives as substitutes: not those of Numba, nor what is said not to be offered."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            cell = line.strip("| ").rsplit("|", 1)[-1]
            cell = re.sub(
                r"(?:Numba's|NumPy's|torch's|CuPy's) (`[^`]+`(?:,| and|, and)? ?)+|`[^`]+` is not offered", "", cell
            )
            yield from re.findall(r"`(?!WARPKIT_)(\w[\w.]+)(?:\([^`]*\))?`", cell)


@pytest.mark.parametrize("page", FOREIGN, ids=lambda page: page.stem)
def test_what_a_table_offers_is_public(page):
    names = set(ours(page)) - PYTHON
    methods = {name for name in names if name.partition(".")[0] in METHODS}
    missing = {name for name in methods if not hasattr(METHODS[name.partition(".")[0]], name.partition(".")[2])}

    assert names
    assert missing | {name for name in names - methods if name not in reference.public()} == set()


def test_a_table_that_offers_what_there_is_not_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("| a | `sort(x)`, Numba's `cuda.grid`; `rotate` is not offered |\n")

    assert list(ours(page)) == ["sort"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_to_contracts_lead_to_public_names(page):
    links = re.findall(r"\]\[(warpkit[\w.]+)\]", page.read_text(encoding="utf-8"))

    assert set(links) <= set(reference.targets().values())


def test_every_public_name_is_on_one_page_of_the_reference():
    placed = [name for page in reference.pages() for name, _ in page.items]

    assert sorted(placed) == sorted([*warpkit.__all__, *(f"device.{name}" for name in warpkit.device.__all__)])


def test_pages_have_paths_of_their_own_and_are_in_the_navigation():
    paths = [path for path, _ in reference.files()]
    shown = re.findall(r"reference/[\w/-]+\.md", str(reference.navigation()))

    assert len(set(paths)) == len(paths)
    assert sorted(shown) == sorted(paths)


def test_an_anchor_is_where_the_name_is_defined():
    for name, full in reference.targets().items():
        module, _, last = full.rpartition(".")

        assert last == name.removeprefix("device.")
        assert hasattr(sys.modules[module], last)


def test_array_functions_lead_to_each_other_by_their_short_names():
    assert reference.link_on("device")("cumsum") == "warpkit.device.scan.cumsum"
    assert reference.link_on("device")("Stream") == "warpkit.host.streams.Stream"
    assert reference.link_on("warp")("cumsum") is None  # nor does `sum` on pages written by hand


def test_a_policy_is_on_the_page_of_its_functions():
    pages = {name: page.path for page in reference.pages() for name, _ in page.items}

    assert pages["device.ScanPolicy"] == pages["device.cumsum"] == "reference/device/scan.md"


def test_what_array_functions_share_is_on_their_page_as_a_contract():
    text = dict(reference.files())["reference/device/select.md"]

    assert "Args (keyword-only)\n:   - `out`: " in text
    assert "- `count_out`: " in text
    assert "Order\n:   " in text
