"""Running a program with its kernels compiled instead of launched, where there is no GPU."""

import ast
import types

import numba
import numpy as np
from numba import cuda

from tests.ptx import compile_ptx, count
from warpkit.simt import machine


class HostArray(np.ndarray):
    """An array of this process in the part of a device array."""

    def copy_to_host(self):
        return np.array(self)


def host_array(shape, dtype=np.float64):
    return np.zeros(shape, dtype).view(HostArray)


class Compiled:
    """A kernel that is compiled, and counts its stores, where it would be launched."""

    def __init__(self, kernel, stores):
        self.kernel, self.stores = kernel, stores

    def __getitem__(self, configuration):
        return self.launch

    def launch(self, *args):
        plain = [np.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        ptx = compile_ptx(self.kernel, *map(numba.typeof, plain))
        self.stores.append(sum(count(ptx, name) for name in ("st.global", "atom", "red.")))


class WithoutAsserts(ast.NodeTransformer):
    """Nothing is computed here, so nothing can be compared."""

    def visit_Assert(self, node):
        return ast.Pass()


def stores_of(source, name, monkeypatch):
    """Run a program that way, its asserts left out; return how many stores each kernel that it launches has."""
    stores, cuda_jit = [], cuda.jit

    def jit(function=None, **options):
        if function is None or options.get("device"):
            return cuda_jit(function, **options) if function else lambda inner: jit(inner, **options)
        return Compiled(function, stores)

    monkeypatch.setattr(cuda, "jit", jit)
    monkeypatch.setattr(cuda, "to_device", lambda array, **_: np.array(array, order="C").view(HostArray))
    monkeypatch.setattr(cuda, "device_array", host_array)
    monkeypatch.setattr(machine, "zeros", host_array)
    monkeypatch.setattr("sys.argv", [name])
    program = ast.fix_missing_locations(WithoutAsserts().visit(ast.parse(source)))
    exec(compile(program, name, "exec"), types.ModuleType("__main__").__dict__)
    return stores
