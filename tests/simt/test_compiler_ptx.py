"""Kernels compiled to images without a GPU: captured arrays are arguments, captured values count, nothing is frozen."""

import functools
import gc
import threading
import types
import warnings
import weakref
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from numba import cuda
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import overload

import warpkit
from tests.ptx import count, places, result_type
from warpkit.errors import Refused
from warpkit.simt import machine
from warpkit.simt.identity import identity
from warpkit.simt.numba_cuda import compiler, functions
from warpkit.simt.specs import Options, array_spec, scalar_spec, tuple_spec

CC = (9, 0)
F32, F64, I32, I64 = (array_spec(dtype, 1) for dtype in ("f4", "f8", "i4", "i8"))
N = scalar_spec("i8")
K = 4
TABLE = np.arange(8, dtype=np.float32)
TABLES = (np.arange(8.0), 3, np.arange(8, dtype=np.int32))


def image_of(kernel, *specs, options=None, cc=CC):
    return compiler.compile_image(kernel, specs, options, cc=cc)


def compiled(kernel, *specs, options=None, cc=CC):
    """Return the image and the PTX that it was assembled from."""
    seen = []

    def linked(library, capability, options):
        seen.append("\n".join(library.get_asm_strs(cc=(*capability, "a" if capability >= (9, 0) else ""))))
        return original(library, capability, options)

    original = compiler._linked
    with mock.patch.object(compiler, "_linked", linked):
        image = image_of(kernel, *specs, options=options, cc=cc)
    return image, seen[0]


def parameters(ptx):
    """Return how many parameters the kernel has; an array of one dimension has seven."""
    return ptx.partition(".entry")[2].partition("{")[0].count(".param")


def assert_lifted(kernel, specs, captured, values=0):
    """Assert that a kernel takes these captured arrays after its own arguments, and that nothing is frozen in it."""
    image, ptx = compiled(kernel, *specs)
    assert image.captured == captured
    assert ".const" not in ptx
    arrays = sum(isinstance(spec, type(F32)) for spec in specs) + len(captured)
    assert parameters(ptx) == 7 * arrays + values
    assert count(ptx, "call") == 0
    return ptx


def test_an_array_in_a_closure_is_an_argument():
    table = np.arange(8, dtype=np.float32)

    def kernel(x):
        x[0] = table[3] + table[4]

    assert_lifted(kernel, [F32], (0,))
    assert identity(kernel).arrays == (table,)


def test_a_large_table_costs_nothing():
    """P11: numba freezes it, ptxas refuses more than 64 KB of it."""
    table = np.arange(1_000_000.0)

    def kernel(x):
        i = cuda.grid(1)
        x[i] = table[i * 3]

    assert_lifted(kernel, [F64], (0,))
    assert len(image_of(kernel, F64).code) < 100_000


def plain_helper(i):
    return TABLE[i] * K


@cuda.jit(device=True)
def jitted_helper(i):
    return TABLE[i] * K


@cuda.jit(device=True, inline="always")
def inlined_helper(i):
    return TABLE[i] * plain_helper(i)


HELPERS = {"plain": plain_helper, "jitted": jitted_helper, "inlined": inlined_helper}


@pytest.mark.parametrize("name", HELPERS)
def test_an_array_of_a_called_function_is_an_argument_of_the_kernel(name):
    helper = HELPERS[name]

    def kernel(x):
        x[0] = helper(1)

    assert_lifted(kernel, [F32], (0,))


def test_arrays_of_functions_below_functions_and_only_those_that_are_used():
    unused, one, two = np.zeros(1), np.arange(4.0), np.arange(4)

    def lowest(i):
        return one[i]

    def middle(i):
        return lowest(i) + two[i]

    def kernel(x):
        if x.ndim > 1:
            x[0, 0] = unused[0]
        x[0] = middle(1) + plain_helper(2)

    arrays = identity(kernel).arrays
    lifted = assert_lifted(kernel, [F64], tuple(n for n, array in enumerate(arrays) if array is not unused))
    assert count(lifted, "ld.global") == 3


def test_an_operator_that_captures_an_array_goes_through_the_library():
    weights = np.arange(8, dtype=np.float32)

    def weighed(a, b):
        return a + weights[0] * b

    def kernel(x):
        x[0] = warpkit.block_reduce(x[cuda.threadIdx.x], weighed, 128)

    def choosing(x):
        x[0] = warpkit.warp_reduce(x[cuda.laneid], lambda a, b: a + TABLE[0] * b)

    def without(x):
        x[0] = warpkit.warp_reduce(x[cuda.laneid], lambda a, b: a + 2 * b)

    image, ptx = compiled(kernel, F32)
    assert image.captured == (0,)
    assert count(ptx, "call") == 0
    image, ptx = compiled(choosing, F32)
    assert (image.captured, image.local) == ((0,), 0)
    assert count(ptx, "shfl.sync") == count(compiled(without, F32)[1], "shfl.sync")


def test_functions_nested_in_the_kernel():
    table = np.arange(8.0)

    def kernel(x):
        def called(i):
            return table[i] + TABLE[i]

        passed = lambda a, b: a + TABLE[0] * b
        x[0] = called(1) + plain_helper(2) + warpkit.warp_reduce(x[1], passed)

    image, ptx = compiled(kernel, F64)
    assert [identity(kernel).arrays[position] is array for position, array in zip(image.captured, (table, TABLE))]
    assert len(image.captured) == 2
    assert ".const" not in ptx


def test_functions_nested_in_the_kernel_close_over_what_it_captured():
    """Numba itself knows only what the kernel assigns: "Cannot capture a constant value for variable 'k'"."""
    table, k = np.arange(8.0), float("1.25")

    def kernel(x):
        assigned = 3
        scaled = lambda a, b: a + b * k + table[0] * assigned
        x[0] = warpkit.warp_reduce(x[1], scaled)

    image, ptx = compiled(kernel, F64)
    assert image.captured == (0,)
    assert "0d3FF4000000000000" in ptx  # 1.25


class Pair(NamedTuple):
    first: np.ndarray
    second: float


def test_numbas_constant_arrays_are_arguments_too():
    def kernel(x):
        x[0] = cuda.const.array_like(TABLE)[3]

    assert_lifted(kernel, [F32], (0,))


def test_tuples_of_functions():
    both = (lambda x: x + 1, plain_helper)

    def kernel(x):
        x[0] = both[0](x[1]) + both[1](2)

    with warnings.catch_warnings():  # Numba has a use for tuples of functions in mind that this is not
        warnings.simplefilter("ignore")
        assert_lifted(kernel, [F32], (0,))


def test_tuples_of_arrays():
    pair = Pair(np.arange(4.0), 2.5)

    def kernel(x):
        x[0] = TABLES[0][1] + TABLES[1] + TABLES[2][1] + pair.first[0] + pair.second

    assert_lifted(kernel, [F64], (0, 1, 2))


def module(**contents):
    made = types.ModuleType("config")
    vars(made).update(contents)
    return made


def test_attributes_of_a_users_module():
    inner = module(table=np.arange(4.0), helper=plain_helper, k=3)
    config = module(inner=inner, table=np.arange(4), K=2.0, pair=(np.arange(3.0), 1))
    config.config = config

    def kernel(x):
        x[0] = config.inner.table[0] + config.table[1] + config.inner.helper(1) * config.K + config.inner.k
        x[1] = config.config.table[2] + config.pair[0][1]

    image, ptx = compiled(kernel, F64)
    used = [identity(kernel).arrays[position] for position in image.captured]
    assert {id(array) for array in used} == {id(a) for a in (inner.table, config.table, TABLE, config.pair[0])}
    assert ".const" not in ptx


class OnDevice:
    """The least that says: I am on the device."""

    def __init__(self, array):
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "strides": array.strides, "version": 3,
            "data": (0x1000, False),
        }  # fmt: skip

    __cuda_array_interface__ = None


def test_device_arrays_can_be_written_and_may_have_strides():
    out, strided = OnDevice(np.zeros(8, np.float32)), OnDevice(np.zeros((8, 8))[:, ::2])

    def kernel(n):
        i = cuda.grid(1)
        if i < n:
            out[i] = strided[i, 1]

    image, ptx = compiled(kernel, N)
    assert image.captured == (0, 1)
    assert "4096" not in ptx  # the address
    assert parameters(ptx) == 1 + 7 + 9
    assert count(ptx, "st.global") == 1


def test_a_copy_of_a_host_array_is_not_written():
    """It would be lost."""

    def kernel(x):
        TABLE[0] = x[0]

    with pytest.raises(Refused, match="kernel writes to a read-only array: pass one"):
        image_of(kernel, F32)

    def writing(x):
        x[0] = 1

    with pytest.raises(Refused, match="writing writes to a read-only array"):
        image_of(writing, array_spec("f4", 1, readonly=True))


def setting(value):
    def kernel(x):
        x[0] = value

    return kernel


def through(helper):
    def kernel(x):
        x[0] = helper(x[1])

    return kernel


def immediates(function, *specs):
    return compiled(function, *specs)[1]


def test_a_changed_global_is_compiled_anew_also_below_a_helper(monkeypatch):
    """P13: Numba's dispatcher of the helper has it compiled already."""

    @cuda.jit(device=True)
    def jitted(x):
        return x * K

    def nested(x):
        return jitted(x)

    for helper in (nested, jitted):
        for k in (4, 11):
            monkeypatch.setitem(globals(), "K", k)
            assert f", {k};" in immediates(through(helper), I64).replace("shl.b64", "mul 4, 4;")  # 4 is a shift


def test_an_equal_operator_made_anew_is_compiled_once():
    """P14: also by what the library compiles for it."""

    def kernel(k):
        def op(a, b):
            return a + b * k

        def kernel(x):
            x[0] = warpkit.warp_reduce(x[1], op)

        return kernel

    image_of(kernel(3), F32)
    with mock.patch.object(functions, "build", side_effect=AssertionError("compiled again")):
        image_of(kernel(int("3")), F32)
        with pytest.raises(AssertionError, match="compiled again"):
            image_of(kernel(3.0), F32)


def applied(op, x):
    return op(x)


def test_functions_made_in_a_loop_leave_nothing_behind(monkeypatch):
    """P15: each is a type of its own, and everything that it is passed to is compiled for it."""
    monkeypatch.setattr(functions, "_functions", type(functions._functions)())
    monkeypatch.setattr(functions, "MOST_FUNCTIONS", 4)

    def make(n):
        def kernel(x):
            x[0] = applied(lambda y: y * TABLE[0] + n, x[1])

        return kernel

    def compiled_now(*kernels):
        for n in kernels:
            image_of(make(n), F32)
        gc.collect()
        return len(cuda_target.target_context._defns), len(gc.get_objects())

    compiled_now(*range(8))
    definitions, objects = compiled_now(*range(8, 16))
    later, more = compiled_now(*range(16, 24))
    assert len(functions._functions) <= 6
    assert later <= definitions + 4
    assert more < objects + 8 * 300, more - objects


def test_arrays_are_not_kept_by_what_is_compiled():
    class Watched(np.ndarray):
        pass

    gone = []

    def make():
        table = np.zeros(4).view(Watched)
        weakref.finalize(table, gone.append, True)

        def helper(i):
            return table[i]

        def kernel(x):
            x[0] = helper(1)

        return kernel

    image_of(make(), F64)
    gc.collect()
    assert gone == [True]


SCALARS = ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16")


@pytest.mark.parametrize("dtype", SCALARS)
def test_scalars_and_arrays_of_every_kind(dtype):
    def kernel(x, value):
        x[1] = value

    image, ptx = compiled(kernel, array_spec(dtype, 1), scalar_spec(dtype))
    assert places(ptx, "st.global")
    assert image.registers > 0


def test_records_tuples_strides_and_dimensions():
    record = np.dtype([("a", "i4"), ("b", "f8")], align=True)

    def kernel(x, r, t, m, zero, s):
        x[0] = r.a + t[0] + t[1][1] + m[1, 2, 3] + zero[()] + s[0].b

    specs = [
        F64, scalar_spec(record), tuple_spec((N, tuple_spec((scalar_spec("f4"), N)))), array_spec("f4", 3, False),
        array_spec("f8", 0), array_spec(record, 1, readonly=True),
    ]  # fmt: skip
    image, ptx = compiled(kernel, *specs)
    assert parameters(ptx) == 7 + 1 + 3 + 11 + 5 + 7
    assert image.local == 0


def test_a_dtype_that_no_kernel_takes_is_refused():
    with pytest.raises(Refused, match="a kernel cannot take"):
        image_of(setting(1), array_spec(object, 1))


def test_kernels_that_no_launch_could_serve_are_refused():
    def returning(x):
        return x[0]

    def starred(*x):
        pass

    def keyword(*, x):
        pass

    record = np.zeros(1, "i4,f8")[0]

    def capturing(x):
        x[0] = record.f0

    for kernel, sentence in (
        (returning, "returning returns a value, which no kernel can: write it into an array."),
        (starred, "starred has a * or ** among its arguments, which no kernel can: pass a tuple."),
        (keyword, "keyword has a * or ** among its arguments, which no kernel can: pass a tuple."),
        (lambda x, y: None, "<lambda> takes 2 arguments, not 1."),
        (capturing, "a kernel cannot capture a record: capture an array of one, or pass the record to it."),
    ):
        with pytest.raises(Refused) as refused:
            image_of(kernel, F32)
        assert str(refused.value) == sentence


def test_a_refusal_is_one_sentence():
    def kernel(x):
        warpkit.warp_active_sum(x[0] > 0)

    with pytest.raises(Refused, match="a sum of bool is not defined") as refused:
        image_of(kernel, F32)
    assert "\n" not in str(refused.value)


class Owner:
    def method(self, x):
        return x


def test_partials_and_methods_are_refused():
    for name, function in (("partial", functools.partial(plain_helper, 1)), ("method", Owner().method)):
        with pytest.raises(Refused, match=f"a kernel cannot call a {name}: write a def or a lambda"):
            image_of(through(function), F32)


def down(n):
    return n if n < 1 else down(n - 1) + K


@cuda.jit(device=True)
def jitted_down(n):
    return n if n < 1 else jitted_down(n - 1) + K


def down_a_table(n):
    return TABLE[0] if n < 1 else down_a_table(n - 1)


def test_functions_that_call_themselves(monkeypatch):
    for function in (down, jitted_down):
        assert count(immediates(through(function), I64), "call") > 0
    with pytest.raises(Refused, match="down_a_table calls itself and captures an array"):
        image_of(through(down_a_table), I64)


def test_options():
    def dividing(x):
        x[0] = x[1] / x[2]

    assert "div.rn" in immediates(dividing, F32)
    assert "div.approx" in compiled(dividing, F32, options=Options(fastmath=True))[1]
    assert "div.approx" in compiled(through(lambda x: x / np.float32(3.3)), F32, options=Options(fastmath=True))[1]
    bounded, ptx = compiled(dividing, F32, options=Options(launch_bounds=(128, 4)))
    assert ".maxntid 128" in ptx.replace("\t", " ")
    assert ".minnctapersm 4" in ptx.replace("\t", " ")
    assert bounded.options == Options(launch_bounds=(128, 4))
    assert ".minnctapersm" not in compiled(dividing, F32, options=Options(launch_bounds=(128, 0)))[1]
    assert ".loc" in compiled(dividing, F32, options=Options(lineinfo=True))[1]
    debug, ptx = compiled(through(plain_helper), I64, options=Options(debug=True))
    assert debug.captured == (0,)
    assert ".target sm_90a, debug" in ptx


def spilling(x):
    i = cuda.grid(1)
    a, b, c, d, e, f, g, h = x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]
    for _ in range(int(a)):
        a, b, c, d, e, f, g, h = b * c, c * d, d * e, e * f, f * g, g * h, h * a, a * b
    x[i] = a + b + c + d + e + f + g + h


def test_what_a_kernel_uses_is_told():
    def sharing(x):
        tile = cuda.shared.array(100, np.float32)
        tile[cuda.threadIdx.x] = x[0]
        cuda.syncthreads()
        x[0] = tile[0]

    assert image_of(sharing, F32).shared == 400
    free, tight = image_of(spilling, F64), image_of(spilling, F64, options=Options(max_registers=16))
    assert free.registers > tight.registers
    assert (free.local, free.spills) == (0, 0)
    assert tight.local > 0


def test_a_kernel_that_waits_for_its_grid_says_so():
    def waiting(x):
        cuda.cg.this_grid().sync()
        x[0] = 1

    assert image_of(waiting, F32).cooperative
    assert not image_of(setting(1), F32).cooperative


def users_own(x):
    return x


@overload(users_own, target="cuda")
def _users_own(x):
    return lambda x: x * 7


def test_what_rests_on_a_registration_of_this_process_is_not_stored():
    def deep(x):
        return users_own(x)

    def nested(x):
        inner = lambda y: users_own(y)
        return applied(inner, x)

    assert not image_of(through(nested), I64).storable
    assert not image_of(through(users_own), I64).storable
    assert not image_of(through(deep), I64).storable
    assert image_of(through(plain_helper), I64).storable


def test_code_for_another_capability_than_this_hosts():
    old = compiler.compile_image(setting(1), [F32], cc=(8, 0))
    assert old.compute_capability == (8, 0)
    assert old.code[:4] == b"\x7fELF"


def test_a_called_function_is_compiled_for_each_capability():
    """Reductions of integers are one instruction from 8.0 on."""

    def helper(x):
        return warpkit.warp_active_sum(x, mask=0xFFFFFFFF)

    def kernel(x):
        x[0] = helper(x[1])

    assert ["redux.sync" in compiled(kernel, I32, cc=cc)[1] for cc in ((7, 5), (9, 0), (7, 5))] == [False, True, False]


def test_a_decorated_function_keeps_its_own_arithmetic_and_a_plain_one_has_the_kernels():
    exact, fast = cuda.jit(device=True)(lambda x: x / 3), cuda.jit(device=True, fastmath=True)(lambda x: x / 5)
    for helper, option, expected in (
        (exact, False, False), (exact, True, False), (fast, False, True), (lambda x: x / 7, True, True),
    ):  # fmt: skip
        with mock.patch.object(functions, "build", wraps=functions.build) as build:
            image_of(through(helper), F32, options=Options(fastmath=option))
        assert build.call_args.args[3]["fastmath"] is expected


def test_numbas_own_question_for_the_device_is_answered_only_meanwhile():
    from numba.cuda import dispatcher

    asked = dispatcher.get_current_device
    image_of(through(jitted_helper), I64)
    with pytest.raises(compiler.TypingErrors):
        image_of(through(lambda x: x.nothing), F32)
    assert dispatcher.get_current_device is asked


def test_eight_threads_compile_at_once():
    """P30."""
    barrier, images = threading.Barrier(8), {}

    def work(number):
        spec = array_spec(("i1", "i2", "i4", "i8", "u1", "u2", "f4", "f8")[number], 1)
        barrier.wait()
        images[number] = image_of(through(lambda x: x + TABLE[0]), spec)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [images[number].captured for number in range(8)] == [(0,)] * 8


def test_as_device():
    def helper(x):
        return x + 1

    made = machine.as_device(helper)
    assert machine.as_device(helper) is made
    assert result_type(made, functions.types.int64) == functions.types.int64

    @functools.wraps(helper)
    def other(x):
        return x

    assert machine.as_device(other).py_func is other
    for callable_anyway in (made, max, np.maximum, warpkit.add, warpkit.warp_active_sum, users_own, 3):
        assert machine.as_device(callable_anyway) is callable_anyway


def test_the_toolchain_names_its_parts():
    for part in ("numba 0", "numba_cuda 0", "llvmlite", "numpy"):
        assert part in machine.toolchain()
