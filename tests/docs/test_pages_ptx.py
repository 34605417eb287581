"""Every kernel that the site shows compiles for a GPU, also where there is none."""

import pytest

from tests.examples.compiling import stores_of

from .blocks import blocks_of
from .test_pages import FAULTS, WITH_CODE


@pytest.mark.parametrize("page", [page for page in WITH_CODE if page.stem != FAULTS], ids=lambda page: page.stem)
def test_the_kernels_of_a_page_compile_and_store_something(page, monkeypatch):
    source = "\n".join(block.text for block in blocks_of(page) if block.kind == "python")
    stores = stores_of(source, str(page), monkeypatch)

    assert min(stores, default=1) > 0
