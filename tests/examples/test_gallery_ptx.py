"""Every kernel of every example compiles for a GPU, also where there is none."""

import pytest

from . import EXAMPLES, FOLDER
from .compiling import stores_of


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_kernels_compile_and_store_something(example, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    source = example.read_text(encoding="utf-8")
    stores = stores_of(source, str(example), monkeypatch)

    assert stores or ("wk.device." in source and "cuda.jit" not in source)
    assert min(stores, default=1) > 0
