"""Every public name has a page of the reference, and no page names a function that does not exist."""

import ast
import re
import sys

import pytest

import warpkit
from docs.generate import reference

from . import PAGES

pytestmark = pytest.mark.everywhere

OURS = re.compile(
    r"\b(?:warp|block|lookback|grid|sync|tile)_[a-z_]+\b|\bcompute_warp_size\b|\b(?:shared|local)_array\b"
)
# Names that are not ours, wherever they stand.
OTHERS = {"block_prefix_callback_op", "block_aggregate", "warp_aggregate", "warp_transpose", "grid_group"}
OTHERS |= {"warp_shuffle_idx", "warp_transpose_timesliced"}


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_follows_wk_exists(page):
    names = re.findall(r"\bwk\.(\w+)", page.read_text(encoding="utf-8"))

    assert [name for name in names if not hasattr(warpkit, name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_to_contracts_lead_to_public_names(page):
    links = re.findall(r"\]\[(warpkit[\w.]+)\]", page.read_text(encoding="utf-8"))

    assert set(links) <= set(reference.targets().values())


def test_every_public_name_is_on_one_page_of_the_reference():
    placed = [name for page in reference.pages() for name, _ in page.items]

    assert sorted(placed) == sorted(warpkit.__all__)


def test_pages_have_paths_of_their_own_and_are_in_the_navigation():
    paths = [path for path, _ in reference.files()]
    shown = re.findall(r"reference/[\w/-]+\.md", str(reference.navigation()))

    assert len(set(paths)) == len(paths)
    assert sorted(shown) == sorted(paths)


def test_an_anchor_is_where_the_name_is_defined():
    for name, full in reference.targets().items():
        module, _, last = full.rpartition(".")

        assert last == name
        assert hasattr(sys.modules[module], name)
