"""What the library's own compiler leaves out of Numba's: what was asked before, contexts, walks over all there is."""

import gc
import types as python

import pytest
from numba.cuda import types
from numba.cuda.core import base

from tests.ptx import compile_ptx, count
from tests.simt.test_compiler_library_ptx import CC, F32, doubled, library_function
from warpkit.simt.numba_cuda import compiler, inference, modules
from warpkit.simt.specs import array_spec


def chained(number):
    """Call one function four times, which nothing tells anything new of."""
    return abs(abs(number)) + abs(abs(number + number))


def growing(number):
    """Assign a variable again in a loop, where its type becomes wider."""
    total = 0
    for _ in range(3):
        total = total + number
    return total


def nothing_of(number):
    """Cannot be typed."""
    return abs(number).nothing


@pytest.fixture
def asked(monkeypatch):
    """Return the list of calls whose meaning is asked for from now on."""
    calls, resolve = [], inference._Call.resolve

    def noting(self, *given):
        calls.append(self)
        return resolve(self, *given)

    monkeypatch.setattr(inference._Call, "resolve", noting)
    return calls


def kernel_of(function):
    """Return a kernel that calls a function."""

    def kernel(x):
        x[0] = function(x[1])

    return kernel


def test_what_a_call_means_is_asked_once(asked):
    ptx = compile_ptx(kernel_of(library_function(chained)), F32)
    assert count(ptx, "abs.f32") >= 1
    assert len(asked) == len(set(asked)) == 4


def test_a_type_that_grows_is_asked_for_again():
    assert count(compile_ptx(kernel_of(library_function(growing)), F32), "add.f") == 3
    assert count(compile_ptx(kernel_of(library_function(growing)), types.int32[::1]), "add.f") == 0


def test_an_error_says_how_it_was_met():
    kernel = kernel_of(library_function(nothing_of))
    with pytest.raises(compiler.TypingErrors, match=r"(?s)nothing.*During: typing of"):
        compile_ptx(kernel, F32)


def library(number, *called):
    """Return what Numba knows of a compiled function."""
    return python.SimpleNamespace(_module=python.SimpleNamespace(name=f"f${number}"), _linking_libraries=called)


def test_modules_come_in_one_order_each_after_a_caller():
    leaf, other = library(1), library(2)
    one, two = library(3, leaf, other), library(4, other, leaf)
    found = [modules._distinct_modules(library(5, *called)) for called in ((one, two), (two, one))]
    names = [[module.name for module in each] for each in found]
    assert names[0] == names[1] == ["f$5", "f$4", "f$2", "f$1", "f$3"]


def test_code_is_the_same_in_every_order():
    """Names differ: they are numbered."""

    def ptx():
        text = compile_ptx(kernel_of(library_function(chained)), F32)
        return [line for line in text.splitlines() if "_Z" not in line and "warpkit_" not in line]

    assert ptx() == ptx()


@pytest.mark.parametrize("frozen", [True, False])
def test_what_was_made_is_old_and_what_users_froze_stays_frozen(frozen):
    try:
        if frozen:
            gc.freeze()
        gc.collect()
        before = gc.get_freeze_count()
        compiler.compile_image(kernel_of(library_function(doubled)), [array_spec("f4", 1)], cc=CC)
        assert (gc.get_freeze_count() > 0) is (before > 0) is frozen
        young = len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))
        assert frozen or young < 200  # of some thousand
    finally:
        gc.unfreeze()


def test_what_generates_a_call_is_looked_at_once():
    def generates(context, builder, sig, args):
        """Generate nothing."""

    def wants(context, builder, sig, args, loc=None):
        """Generate nothing, with a line."""

    for function, answer in ((generates, False), (wants, True)):
        assert base._has_loc(function) is answer
        assert base._has_loc(function) is answer
    assert base._has_loc(print) is False
