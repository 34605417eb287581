"""Running a program with its kernels compiled instead of launched, where there is no GPU."""

import ast
import functools
import importlib.util
import threading
import types

import numba
import numpy as np
from numba import cuda

import warpkit
from tests.host.dry import Array, dry
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


class HollowStream:
    """A stream, event or prepared call that does nothing, in whatever way it is asked."""

    def __init__(self, *args, **options):
        pass

    def __getattr__(self, name):
        return lambda *args, **options: self

    def __call__(self, *args, **options):
        return self

    def __lshift__(self, item):
        return self


class HollowArrays:
    """Array functions, whose kernels are compiled by tests of their own: here they give arrays of the same form."""

    def __getattr__(self, name):
        item = getattr(ARRAYS, name)
        return item if isinstance(item, type) else functools.partial(self.call, name)

    @staticmethod
    def call(name, *args, out=None, **options):
        """Return something of the form of what the function would return."""
        array = next(arg for arg in args if isinstance(arg, np.ndarray))
        if name == "run_length_encode":
            return array.ravel(), np.ones(array.size, np.int64).view(HostArray), array.size
        return array if out is None else out


class HollowHost:
    """warpkit's host functions: kernels and bodies are compiled where they would be launched."""

    def __init__(self, stores):
        self.stores = stores

    def launch(self, kernel, grid, block, *args, **options):
        """Compile a kernel."""
        kernel.launch(*[0.5 if isinstance(arg, HollowStream) else arg for arg in args])  # a slot, here for a number

    def form(self, form, range, body, *args, **options):
        """Compile a body, with its form around it."""
        args = [Array(arg.shape, arg.dtype) if isinstance(arg, np.ndarray) else arg for arg in args]
        out = {"out": Array(1, np.float64)} if form is FORMS["parallel_reduce_sum"] else {}
        with dry() as launches:
            form(range, body, *args, **out)
        self.stores.append(sum(count(launch.ptx, "st.global") for launch in launches))
        return 0

    def prepare(self, form, *args, **options):
        """Compile what a prepared call would launch."""
        if hasattr(form, "form"):
            self.form(form.form, *args)
        return HollowStream()

    def install(self, monkeypatch):
        """Take the place of warpkit's own."""
        host = self

        class HollowList(HollowStream):
            def launch(self, *args, **options):
                host.launch(*args, **options)
                return self

            def parallel_for(self, *args):
                host.form(FORMS["parallel_for"], *args)
                return self

        def hollow_form(form):
            call = functools.partial(host.form, form)
            call.form = form
            return call

        for name, form in FORMS.items():
            monkeypatch.setattr(warpkit, name, hollow_form(form))
        for name in ("Stream", "Event", "synchronize", "slot", "upload", "download"):
            monkeypatch.setattr(warpkit, name, HollowStream)
        monkeypatch.setattr(warpkit, "device", HollowArrays())
        monkeypatch.setattr(warpkit, "CommandList", HollowList)
        monkeypatch.setattr(warpkit, "launch", self.launch)
        monkeypatch.setattr(warpkit, "prepare", self.prepare)
        monkeypatch.setattr(warpkit, "pinned_array", np.zeros)
        monkeypatch.setattr(machine, "empty", host_array)
        monkeypatch.setattr(cuda, "synchronize", lambda: None)
        # What nobody computes and calls nobody back: programs that wait for callbacks go on.
        monkeypatch.setattr(threading.Semaphore, "acquire", lambda self, *args, **options: True)


FRAMEWORKS = ("cupy", "torch")
ARRAYS = warpkit.device
FORMS = {name: getattr(warpkit, name) for name in ("parallel_for", "parallel_reduce_sum")}


class WithoutAsserts(ast.NodeTransformer):
    """Nothing is computed here, so nothing can be compared."""

    def visit_Assert(self, node):
        return ast.Pass()


def stores_of(source, name, monkeypatch):
    """Run a program that way, its asserts left out; return how many stores each kernel that it launches has.

    Frameworks that may be installed are not found: their arrays need a GPU.
    """
    stores, cuda_jit, find_spec = [], cuda.jit, importlib.util.find_spec

    def jit(function=None, **options):
        if function is None or options.get("device"):
            return cuda_jit(function, **options) if function else lambda inner: jit(inner, **options)
        return Compiled(function, stores)

    monkeypatch.setattr(cuda, "jit", jit)
    monkeypatch.setattr(cuda, "to_device", lambda array, **_: np.array(array, order="C").view(HostArray))
    monkeypatch.setattr(cuda, "device_array", host_array)
    monkeypatch.setattr(machine, "zeros", host_array)
    monkeypatch.setattr("sys.argv", [name])
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *package: None if name in FRAMEWORKS else find_spec(name, *package)
    )
    HollowHost(stores).install(monkeypatch)
    program = ast.fix_missing_locations(WithoutAsserts().visit(ast.parse(source)))
    exec(compile(program, name, "exec"), types.ModuleType("__main__").__dict__)
    return stores
