"""What the compiler makes of the library's own functions: short code, by few passes, also of kernels and closures."""

import math
import re

import numpy as np
import pytest
from numba.cuda import types
from numba.cuda.core import compiler_machinery, config
from numba.cuda.cudadrv import nvrtc, nvvm

from tests.ptx import CC, compile_ptx, count
from tests.simt.test_compiler_library_ptx import library_function
from warpkit.device.scan_families import scan_family
from warpkit.device.scan_kernel import tile_kernel
from warpkit.device.scan_plan import ScanOf, options_for, scan_of, specs_of
from warpkit.device.tiles import TileShape
from warpkit.simt.numba_cuda import compiler
from warpkit.simt.specs import array_spec, scalar_spec

F32 = array_spec("f4", 1)
FLAG = scalar_spec("?")


@pytest.fixture
def passed(monkeypatch):
    """Return the list of functions, by module and name, that go through all of Numba's passes from now on."""
    names, run = [], compiler_machinery.PassManager.run

    def noting(self, state):
        names.append((state.func_id.modname, state.func_id.func_name))
        return run(self, state)

    monkeypatch.setattr(compiler_machinery.PassManager, "run", noting)
    return names


def scan_image(op):
    """Return the image of the kernel of a scan by an operator of the user's."""
    array, shape = array_spec("f4", 1), TileShape(64, 3, 2)
    what = ScanOf(scan_family("inclusive_scan", op), array, array, np.dtype("f4"), False, False, None)
    return compiler.compile_image(tile_kernel(scan_of(what), shape), specs_of(what), options_for(shape, 1), CC)


def test_the_librarys_kernels_and_closures_have_few_passes(passed):
    image = scan_image(lambda earlier, later: earlier * 3 + later)
    assert passed == [(__name__, "<lambda>")]
    assert "tile_kernel" in image.entry  # what a profiler shows


def test_a_function_of_the_library_in_which_another_is_defined_has_them_all(passed):
    def outer(x):
        inner = lambda value: value + 1
        x[0] = inner(x[1])

    outer.__module__ = "warpkit.device.scan_kernel"
    assert compiler.compile_image(outer, [F32], cc=CC).captured == ()
    assert (outer.__module__, "outer") in passed


def test_captured_arrays_of_the_librarys_closures_are_arguments():
    table, host = np.arange(4.0), np.arange(3.0)

    def below(value):
        return table[1] + value

    def kernel(x):
        x[0] = below(x[1]) + host[2]

    for function in (below, kernel):
        function.__module__ = "warpkit.device.scan_kernel"
    assert sorted(compiler.compile_image(kernel, [array_spec("f8", 1)], cc=CC).captured) == [0, 1]


def code_of(function, *specs, monkeypatch):
    """Return the code of a kernel of the library's that is handed to NVVM."""
    texts, linked = [], compiler._linked
    function.__module__ = "warpkit.device.scan_kernel"

    def noting(library, *given):
        texts.extend(library.llvm_strs)
        return linked(library, *given)

    monkeypatch.setattr(compiler, "_linked", noting)
    compiler.compile_image(function, specs, cc=CC)
    return "\n".join(texts)


def calls_in(code):
    """Return how many calls of functions there are, and of how many it is asked how they ended."""
    called = re.findall(r'(%"[^"]+") = call i32 @"warpkit_', code)
    return len(called), len([name for name in called if re.search(rf"icmp eq i32 {re.escape(name)}, 0", code)])


def halved(value):
    """Return half."""
    return value * 0.5


def quartered(value):
    """Call another twice."""
    return halved(halved(value))


def stored(x, value):
    """Return nothing."""
    x[1] = value


def small(value):
    """Fail."""
    if value > 3:
        raise ValueError
    return value


def small_too(value):
    """Fail where the other does."""
    return small(value) + 1


def perhaps(value):
    """Return a number or None."""
    if value > 3:
        return None
    return value


halved, stored, small, perhaps = map(library_function, (halved, stored, small, perhaps))
quartered, small_too = map(library_function, (quartered, small_too))


def test_nobody_asks_how_a_function_ended_that_always_ends_well(monkeypatch):
    def kernel(x):
        x[0] = quartered(x[1])
        stored(x, x[2])

    code = code_of(kernel, F32, monkeypatch=monkeypatch)
    assert calls_in(code) == (4, 0)
    assert "branch_weights" not in code


def test_whoever_calls_what_may_fail_asks(monkeypatch):
    def kernel(x):
        x[0] = small_too(x[1])

    assert calls_in(code_of(kernel, F32, monkeypatch=monkeypatch)) == (2, 2)


def test_a_number_or_none(monkeypatch):
    def kernel(x):
        found = perhaps(x[1])
        if found is not None:
            x[0] = found

    assert calls_in(code_of(kernel, F32, monkeypatch=monkeypatch)) == (1, 1)


def test_memory_of_results_is_not_filled_before(monkeypatch):
    def kernel(x):
        x[0] = quartered(x[1])

    code = code_of(kernel, F32, monkeypatch=monkeypatch)
    assert code.count("= alloca double") == 3
    assert "store double 0" not in code


def test_a_bool_is_one_comparison(monkeypatch):
    def kernel(x, flag):
        total = x[1]
        if flag:
            total = x[2]
        x[0] = total

    code = code_of(kernel, F32, FLAG, monkeypatch=monkeypatch)
    assert "icmp ne i8" in code
    assert len(re.findall(r"^\S+:$", code, re.MULTILINE)) <= 5  # blocks


def test_no_other_compiler_is_asked_for_the_architecture(monkeypatch):
    monkeypatch.setattr(nvrtc, "get_supported_ccs", lambda: [(8, 0), (9, 0)])
    assert nvrtc.get_arch_option(8, 6) == "compute_80"
    assert nvrtc.get_arch_option(10, 0, "a") == "compute_100a"  # numba refused: NVVM knows better
    monkeypatch.setattr(config, "FORCE_CUDA_CC", (8, 0))
    assert nvrtc.get_arch_option(9, 0, "a") == "compute_80"


def test_mathematical_functions_are_looked_for_where_there_are_some(monkeypatch):
    def plain(x):
        x[0] = x[1] + 1

    def sine(x):
        x[0] = math.sin(x[1])

    asked, library = [], nvvm.LibDevice
    monkeypatch.setattr(nvvm, "LibDevice", lambda: asked.append(True) or library())
    array = types.float32[::1]
    assert count(compile_ptx(plain, array), "st.global") == 1
    scan_image(lambda earlier, later: earlier - later)
    assert asked == []
    ptx = compile_ptx(sine, array)
    assert asked == [True]
    assert ".extern .func" not in ptx
