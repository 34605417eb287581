"""Every code block of the site runs and does what the page says."""

import pytest
from numba import cuda

from . import PAGES, ROOT
from .blocks import blocks_of, run

# This page shows what only the simulator sees.
FAULTS = "troubleshooting"

WITH_CODE = [page for page in PAGES if any(block.kind == "python" for block in blocks_of(page))]
CASES = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.simulator] if page.stem == FAULTS else []) for page in WITH_CODE
]


@pytest.mark.parametrize("page", CASES)
def test_the_blocks_run(page):
    assert run(page) > 0
    cuda.synchronize()


@pytest.fixture
def written(tmp_path):
    def write(text):
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        return page

    return write


def test_a_block_that_prints_something_else_is_seen(written):
    page = written("```python\nprint(1)\n```\n\n```text\n2\n```\n")

    with pytest.raises(AssertionError, match=r":1 gives '1'"):
        run(page)


def test_a_block_that_does_not_raise_what_it_says_is_seen(written):
    page = written("```python\nx = 1\n```\n\n```text\nValueError: too small\n```\n")

    with pytest.raises(AssertionError, match="gives ''"):
        run(page)


def test_a_block_that_raises_and_does_not_say_so_is_seen(written):
    with pytest.raises(ZeroDivisionError):
        run(written("text\n```python\n1 / 0\n```\n"))


def test_an_error_names_the_line_of_the_page(written):
    page = written("text\n\n```python\nx = 1\nraise ValueError('no')\n```\n")

    with pytest.raises(ValueError) as caught:
        run(page)
    assert caught.traceback[-1].lineno + 1 == 5


def test_blocks_have_a_kind_that_is_known():
    kinds = {block.kind for page in PAGES for block in blocks_of(page)}

    assert kinds <= {"python", "sh", "text"}
    assert (ROOT / "docs").is_dir()
