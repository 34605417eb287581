"""What the library's own compiler leaves out of Numba's: what was asked before, contexts, walks over all there is."""

import functools
import gc
import types as python
import warnings

import pytest
from llvmlite import ir
from numba.cuda import types
from numba.cuda.core import base
from numba.cuda.core import ir as numba_ir
from numba.cuda.core.errors import NumbaPerformanceWarning
from numba.cuda.descriptor import cuda_target

import warpkit
from tests.ptx import compile_ptx, count
from tests.simt.test_compiler_library_ptx import CC, F32, doubled, library_function
from warpkit import _collector
from warpkit._collector import _MOST_IMMORTAL as IMMORTAL
from warpkit.simt.numba_cuda import compiler, inference, modules, templates
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
    calls, resolve = [], inference.CallConstraint.resolve

    def noting(self, *given):
        calls.append(self)
        return resolve(self, *given)

    monkeypatch.setattr(inference.CallConstraint, "resolve", noting)
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


def test_a_refusal_names_the_users_line():
    def kernel(x):
        x[0] = 1
        x[1] = warpkit.warp_active_sum(x)

    with pytest.raises(warpkit.Refused, match=rf"ptx\.py:{kernel.__code__.co_firstlineno + 2}\)"):
        compiler.compile_image(kernel, [array_spec("f4", 1)], cc=CC)


def test_a_warning_of_numbas_names_the_users_function():
    def kernel(x):
        x[0] = deprecated(x[1])

    def define(typing_context, number):
        warnings.warn(NumbaPerformanceWarning("slow"), stacklevel=1)
        return doubled

    def deprecated(number):
        """Mean `doubled`."""

    templates.register(deprecated, define)
    with pytest.warns(NumbaPerformanceWarning, match="slow") as told:
        compiler.compile_image(kernel, [array_spec("f4", 1)], cc=CC)
    assert [(warning.filename, warning.lineno) for warning in told] == [(__file__, kernel.__code__.co_firstlineno)]


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
def test_what_was_made_is_old_and_what_users_froze_stays_frozen(monkeypatch, frozen):
    monkeypatch.setattr(_collector, "_frozen_by_others", [])
    others = gc.get_freeze_count() > IMMORTAL  # so it is in a run of many tests: see conftest.py
    gc.unfreeze()
    try:
        if frozen:
            gc.freeze()
        gc.collect()
        before = gc.get_freeze_count() > IMMORTAL
        compiler.compile_image(kernel_of(library_function(doubled)), [array_spec("f4", 1)], cc=CC)
        assert (gc.get_freeze_count() > IMMORTAL) is before is frozen
        young = len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))
        assert frozen or young < 200  # of some thousand
        assert bool(_collector._frozen_by_others) is frozen  # to count what is frozen takes long: once
    finally:
        gc.unfreeze()
        if others:
            gc.freeze()


def generates(context, builder, sig, args):
    """Generate nothing."""


def wants(context, builder, sig, args, *, loc=None):
    """Generate nothing, with a line."""


@functools.wraps(wants)
def wrapping(*args, **kwargs):
    """Call another."""


@pytest.mark.parametrize(
    ("function", "answer"),
    [(generates, False), (wants, True), (wrapping, True), (print, False)],
    ids=["none", "keyword", "wrapped", "builtin"],
)
def test_what_generates_a_call_says_whether_it_wants_the_line(function, answer):
    assert base._has_loc(function) is answer


@pytest.mark.parametrize(
    ("formal", "actual", "matches"),
    [
        (types.int32, types.int32, True),
        (types.int32, types.int64, False),
        (types.Integer, types.int64, True),
        (types.Integer, types.float64, False),
        (types.Any, types.float64, True),
        (types.Number, types.Integer, True),  # a class of types for a class of types
        (types.Integer, types.Number, False),
        ("static_getitem", types.Any, False),
    ],
)
def test_implementations_match_types_and_classes_of_types(formal, actual, matches):
    assert base.OverloadSelector()._match(formal, actual) is matches


def test_sizes_are_asked_once_and_of_packed_types_apart(monkeypatch):
    context, asked, ask = cuda_target.target_context, [], ir.Type.get_abi_size
    monkeypatch.setattr(ir.Type, "get_abi_size", lambda self, *given: asked.append(self) or ask(self, *given))
    parts = [ir.IntType(8), ir.IntType(57)]  # of which no other test asks
    for _ in range(2):
        assert context.get_abi_sizeof(ir.LiteralStructType(parts)) == 16
        assert context.get_abi_sizeof(ir.LiteralStructType(parts, packed=True)) == 9
        assert context.get_abi_alignment(ir.LiteralStructType(parts)) == 8
        assert context.get_abi_alignment(ir.LiteralStructType(parts, packed=True)) == 1
    assert len(asked) == 2


def test_instructions_tell_their_variables_in_order():
    line = numba_ir.unknown_loc
    a, b, c = (numba_ir.Var(None, name, line) for name in "abc")
    call = numba_ir.Expr.call(a, (b, c), (("key", a),), line)
    told = {
        "call": call.list_vars(),
        "assignment": numba_ir.Assign(call, c, line).list_vars(),
        "constant": numba_ir.Assign(numba_ir.Const(3, line), a, line).list_vars(),
        "phi": numba_ir.Assign(numba_ir.Expr.phi(line), b, line).list_vars(),
        "setitem": numba_ir.SetItem(a, b, c, line).list_vars(),
    }
    assert {name: "".join(variable.name for variable in found) for name, found in told.items()} == {
        "call": "abca", "assignment": "abcac", "constant": "a", "phi": "b", "setitem": "abc",
    }  # fmt: skip


@pytest.mark.parametrize(("text", "looked"), [("ret void", 0), ('declare double @"___numba_atomic_double_add"()', 1)])
def test_texts_are_looked_through_where_something_is_to_be_replaced(text, looked):
    calls = []
    assert modules._replace_where_needed(lambda given: calls.append(given) or given)(text) == text
    assert len(calls) == looked
