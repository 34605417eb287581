"""The library's own functions in Numba's compiler: few of them, each compiled once, by a pipeline of their own."""

import contextlib
import gc
import operator
from unittest import mock

import pytest
from numba import cuda
from numba.cuda import types, utils
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import overload
from numba.cuda.models import StructModel, register_model

import warpkit
from tests.ptx import compile_ptx, count, without_gpu
from warpkit.simt import bits, lanes, machine
from warpkit.simt.numba_cuda import compiler, pipeline, templates
from warpkit.simt.specs import array_spec

F32 = types.float32[::1]
CC = (9, 0)


@pytest.fixture
def compiled(monkeypatch):
    """Return the list of library functions that are compiled from now on, as (name, capability)."""
    names, original = [], pipeline.LibraryCompiler.compile_extra

    def noting(self, function):
        names.append((function.__name__, self.state.flags.compute_capability))
        return original(self, function)

    monkeypatch.setattr(pipeline.LibraryCompiler, "compile_extra", noting)
    return names


def doubled(number):
    """Return twice the number."""
    return number + number


def library_function(function, **how):
    """Return a copy of a function that is declared as one of the library's."""
    copy = type(function)(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    return machine.device_function(**how)(copy)


def test_an_instruction_is_no_function(compiled):
    def kernel(x):
        x[lanes.thread_index()] = (
            bits.popcount(lanes.lanes_below()) + lanes.lane_id() + bits.highest_bit(lanes.block_x())
        )
        lanes.sync_warp(lanes.active_mask())

    assert count(compile_ptx(kernel, F32), "call") == 0
    assert compiled == []


def test_a_function_is_compiled_once_for_its_types_by_all_kernels(compiled):
    function = library_function(doubled)

    def one(x):
        x[0] = function(x[1])

    def other(x):
        x[0] = function(x[1]) + function(number=x[2])

    compile_ptx(one, F32)
    compile_ptx(other, F32)
    compile_ptx(other, types.float64[::1])
    assert compiled == [("doubled", CC)] * 4  # by position and by keyword; two types


def test_a_function_is_compiled_for_each_capability(compiled):
    function = library_function(doubled)

    def kernel(x):
        x[0] = function(x[1])

    for cc in ((8, 0), (9, 0), (8, 0)):
        compiler.compile_image(kernel, [array_spec("f4", 1)], cc=cc)
    assert compiled == [("doubled", (8, 0)), ("doubled", (9, 0))]


def test_another_function_of_the_library_may_stand_for_it(compiled):
    function = library_function(doubled)

    def stands(number):
        """Means `function`."""

    templates.register(stands, lambda typing_context, number: function)

    def kernel(x):
        x[0] = stands(x[1])

    assert count(compile_ptx(kernel, F32), "add.f32") == 1
    assert compiled == [("doubled", CC)]


def test_defaults_and_wrong_arguments():
    def scaled(number, factor=3):
        return number * factor

    function = library_function(scaled)

    def kernel(x):
        x[0] = function(x[1])

    def wrong(x):
        x[0] = function()

    assert "0f40400000" in compile_ptx(kernel, F32)  # 3.0
    with pytest.raises(compiler.TypingErrors, match="scaled: missing a required argument: 'number'"):
        compile_ptx(wrong, F32)


def test_functions_in_functions_take_numbas_own_pipeline():
    def nesting(number):
        square = lambda n: n * n
        return square(number) + number

    function = library_function(nesting)

    def kernel(x):
        x[0] = function(x[1])

    ptx = compile_ptx(kernel, F32)
    assert count(ptx, "fma.rn.f32") + count(ptx, "mul.f32") == 1


def branching(number, mask=None):
    """Take the way that the types leave; start again in a loop."""
    total = number
    if mask is None:
        for k in range(3):
            total = total + k * number
    else:
        total = total[mask]
    return total


def test_branches_that_types_decide_are_never_typed():
    """`total[mask]` of a float could not be."""
    function = library_function(branching)

    def kernel(x):
        x[0] = function(x[1])

    assert count(compile_ptx(kernel, F32), "bra") == 0


def failing(number):
    """Cannot be compiled."""
    return number.nothing


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("function", [doubled, failing], ids=["compiles", "fails"])
def test_the_collector_is_left_as_it_was(enabled, function):
    seen, original = [], templates.compile_body

    def noting(*given):
        seen.append(gc.isenabled())
        return original(*given)

    function = library_function(function)

    def kernel(x):
        x[0] = function(function(x[1]))

    (gc.enable if enabled else gc.disable)()
    try:
        with mock.patch.object(templates, "compile_body", noting), contextlib.suppress(*compiler.TypingErrors):
            compiler.compile_image(kernel, [array_spec("f4", 1)], cc=CC)
        assert gc.isenabled() is enabled
        assert seen
        assert not any(seen)
    finally:
        gc.enable()


def test_contexts_look_for_registrations_where_there_are_some():
    context = cuda_target.target_context
    context.refresh()
    with mock.patch.object(type(context), "install_registry", autospec=True) as install:
        context.refresh()
        context.typing_context.refresh()
        assert not install.called

        @overload(test_contexts_look_for_registrations_where_there_are_some, target="cuda")
        def anything():
            return lambda: 1

        context.typing_context.refresh()
        assert install.called


class Seconds(types.Type):
    """A user's type, with a `+` of its own that is registered after other kernels have added."""

    def __init__(self):
        super().__init__("Seconds")


@register_model(Seconds)
class SecondsModel(StructModel):
    """A float32."""

    def __init__(self, manager, t):
        super().__init__(manager, t, [("value", types.float32)])


def test_operators_of_a_users_types_are_found_after_others_are_remembered():
    def kernel(x):
        x[0] = x[1] + x[2]

    assert "add.f32" in compile_ptx(kernel, F32)

    @overload(operator.add, target="cuda")
    def add(a, b):
        if isinstance(a, Seconds):
            return lambda a, b: 7

    operators = cuda_target.typing_context
    operators.refresh()
    function = operators.resolve_value_type(operator.add)
    with without_gpu(), utils.numba_target_override():
        assert function.get_call_type(operators, (Seconds(), Seconds()), {}).return_type == types.literal(7)
        assert function.get_call_type(operators, (types.float32, types.float32), {}).return_type == types.float32
    assert "add.f32" in compile_ptx(kernel, F32)


def test_a_reduction_compiles_few_functions(compiled):
    """Each takes 15 ms of every first call."""

    def kernel(x):
        x[0] = warpkit.block_sum(x[cuda.threadIdx.x], 256)

    compile_ptx(kernel, types.int16[::1])
    assert 0 < len(compiled) < 45
