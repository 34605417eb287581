"""Every kernel of every example compiles for a GPU, also where there is none."""

import ast
import types

import numba
import numpy as np
import pytest
from numba import cuda

from tests.ptx import count
from warpkit.simt import machine

from . import EXAMPLES, FOLDER


class HostArray(np.ndarray):
    """An array of this process in the part of a device array."""

    def copy_to_host(self):
        return np.array(self)


def host_array(shape, dtype=np.float64):
    return np.zeros(shape, dtype).view(HostArray)


class Compiled:
    """A kernel that is compiled, and counts its stores, where it would be launched."""

    def __init__(self, kernel, compile_ptx, stores):
        self.kernel, self.compile_ptx, self.stores = kernel, compile_ptx, stores

    def __getitem__(self, configuration):
        return self.launch

    def launch(self, *args):
        plain = [np.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        ptx = self.compile_ptx(self.kernel, *map(numba.typeof, plain))
        self.stores.append(sum(count(ptx, name) for name in ("st.global", "atom", "red.")))


class WithoutAsserts(ast.NodeTransformer):
    """Nothing is computed here, so nothing can be compared."""

    def visit_Assert(self, node):
        return ast.Pass()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_kernels_compile_and_store_something(example, compile_ptx, monkeypatch):
    stores = []

    def jit(function=None, **options):
        if function is None or options.get("device"):
            return cuda_jit(function, **options) if function else lambda inner: jit(inner, **options)
        return Compiled(function, compile_ptx, stores)

    cuda_jit = cuda.jit
    monkeypatch.setattr(cuda, "jit", jit)
    monkeypatch.setattr(cuda, "to_device", lambda array, **_: np.array(array, order="C").view(HostArray))
    monkeypatch.setattr(cuda, "device_array", host_array)
    monkeypatch.setattr(machine, "zeros", host_array)
    monkeypatch.setattr("sys.argv", [str(example)])
    monkeypatch.syspath_prepend(FOLDER)
    program = ast.fix_missing_locations(WithoutAsserts().visit(ast.parse(example.read_text(encoding="utf-8"))))
    module = types.ModuleType("__main__")
    exec(compile(program, example, "exec"), module.__dict__)

    assert stores
    assert min(stores) > 0
