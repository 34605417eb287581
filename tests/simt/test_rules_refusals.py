"""What the waist does not take: one line that says why, with the user's own file and line, on both machines."""

import inspect

import numpy as np
import pytest
from numba import cuda, from_dtype, typeof

from tests.warp.matrix import FULL, SIMULATOR
from warpkit.errors import Refused
from warpkit.simt import bits, lanes, memory, ops, types

REFUSED = {}
BY_THE_COMPILER = {}  # what the floors above check themselves, on both machines
RECORD = np.dtype([("a", "i4"), ("b", "f4")])
THREE = np.dtype([("a", "u1"), ("b", "u1"), ("c", "u1")])
SEVEN = 7


def refused(dtypes, *words, where=REFUSED):
    """Register a kernel of arrays of these dtypes, whose marked line is refused with these words in the message."""

    def register(function):
        where[function.__name__] = (cuda.jit(function), dtypes.split(), words)
        return function

    return register


def array(name):
    """Return an array of a named dtype; `2d` has two dimensions."""
    if name in ("record", "three"):
        return np.zeros(32, RECORD if name == "record" else THREE)
    return np.zeros((4, 8), np.int32) if name == "2d" else np.zeros(32, name)


@refused("float32 int32", "float32", "int64")
def cast_a_float_to_an_integer(x, out):
    out[0] = types.cast_like(1, x[0])  # refused here


@refused("uint32 uint64", "multiply_high", "uint32 and uint64")
def multiply_words_of_two_widths(x, y):
    x[0] = bits.multiply_high(x[0], y[0])  # refused here


@refused("int32", "multiply_high", "int32 and int32")
def multiply_signed_words(x):
    x[0] = bits.multiply_high(x[0], x[0])  # refused here


@refused("int64", "shift_right", "int64")
def shift_a_signed_word(x):
    x[0] = bits.shift_right(x[0], 3)  # refused here


@refused("complex64 float32", "complex64", "float32")
def cast_a_complex_to_a_float(x, y):
    y[0] = types.cast_like(y[0], x[0])  # refused here


@refused("int32", "(int64, int64, int64)", "(int64, int64)")
def cast_a_tuple_to_a_shorter_one(x):
    types.cast_like((1, 2), (x[0] * 1, 2, 3))  # refused here


@refused("int32 record", "int32", "record of 8 bytes")
def cast_a_record_to_a_number(x, y):
    x[0] = types.cast_like(x[0], y[0])  # refused here


@refused("record int32", "record of 8 bytes", "int32")
def cast_a_number_to_a_record(x, y):
    x[0] = types.cast_like(x[0], y[0])  # refused here


@cuda.jit(device=True)
def halved(a, b):
    """An operator that leaves its type."""
    return (a + b) / 2


@refused("int32", "float64", "int32", "operator")
def an_operator_that_leaves_its_type(x):
    x[0] = types.combine(halved, x[0], x[1])  # refused here


@refused("bool", "add", "bool", "count")
def a_sum_of_bools(x):
    x[0] = ops.add(x[0], x[1])  # refused here


@refused("float32", "bit_and", "float32", "integers")
def bits_of_floats(x):
    x[0] = ops.bit_and(x[0], x[1])  # refused here


@refused("complex64", "minimum", "complex64", "order")
def the_smaller_complex(x):
    x[0] = types.combine(np.minimum, x[0], x[1])  # refused here


@refused("float64", "logical_or", "float64")
def logic_of_floats(x):
    x[0] = ops.logical_or(x[0], x[1])  # refused here


@refused("record", "mul", "record of 8 bytes", "tuples")
def a_product_of_records(x):
    x[1] = ops.mul(x[0], x[1])  # refused here


@refused("complex64", "maximum", "complex64")
def the_identity_of_what_has_no_order(x):
    x[0] = types.identity_like(ops.maximum, x[0])  # refused here


@refused("int32", "add", "int32", "float32", "cast")
def operands_that_do_not_go_together(x):
    x[0] = ops.add(x[0], np.float32(1))  # refused here


@refused("record", "equal", "record", "fields")
def records_are_not_equal(x):
    types.equal(x[0], x[1])  # refused here


@refused("int32", "shuffle", "travel", where=BY_THE_COMPILER)
def an_array_does_not_travel(x):
    lanes.shuffle(FULL, x, 3)  # refused here


@refused("int32", "match_any", "travel", where=BY_THE_COMPILER)
def an_array_does_not_match(x):
    x[0] = lanes.match_any(FULL, x)  # refused here


@refused("int32", "scratch", "travel", where=BY_THE_COMPILER)
def an_array_does_not_fit_in_scratch(x):
    memory.scratch(32, x)  # refused here


@refused("int32", "put", "travel", where=BY_THE_COMPILER)
def an_array_cannot_be_put(x):
    memory.put(x, 0, 1, x)  # refused here


@refused("int32", "shared_array", "positive", where=BY_THE_COMPILER)
def a_shared_array_of_nothing(x):
    memory.shared_array(0, np.int32)  # refused here


@refused("int32", "local_array", "positive", where=BY_THE_COMPILER)
def a_local_array_of_less_than_nothing(x):
    memory.local_array((2, -1), np.int32)  # refused here


@refused("int32", "shared_array", "dtype", where=BY_THE_COMPILER)
def a_shared_array_of_a_value(x):
    memory.shared_array(4, SEVEN)  # refused here


@refused("2d", "load_relaxed", "one-dimensional")
def an_ordered_load_in_two_dimensions(x):
    memory.load_relaxed(x, 0)  # refused here


@refused("int32", "store_release", "index", "float64")
def an_ordered_store_at_a_fraction(x):
    memory.store_release(x, 0.5, 1)  # refused here


@refused("int32", "store_relaxed", "float64", "int32")
def an_ordered_store_of_a_fraction(x):
    memory.store_relaxed(x, 0, 0.5)  # refused here


@refused("three", "load_acquire", "3 bytes")
def an_ordered_load_of_three_bytes(x):
    memory.load_acquire(x, 0)  # refused here


@refused("int32", "load_vector", "nbytes", "12")
def a_vector_of_twelve_bytes(x):
    items = memory.local_array(4, np.int32)
    memory.load_vector(items, 0, x, 0, 12)  # refused here


@refused("int64", "store_vector", "4 bytes", "int64")
def a_vector_smaller_than_an_item(x):
    items = memory.local_array(4, np.int64)
    memory.store_vector(items, 0, x, 0, 4)  # refused here


@refused("float32", "load_vector", "one dtype")
def a_vector_of_two_dtypes(x):
    items = memory.local_array(4, np.int32)
    memory.load_vector(items, 0, x, 0, 16)  # refused here


@refused("int32", "store_vector", "contiguous")
def a_vector_with_holes(x):
    items = memory.local_array(4, np.int32)
    memory.store_vector(items, 0, x[::2], 0, 16)  # refused here


@refused("int32", "store_vector", "(int8, float64)", "padding")
def a_vector_of_tuples_with_padding(x):
    items = memory.local_array(1, (np.int8, np.float64))
    box = memory.shared_array(1, (np.int8, np.float64))
    memory.store_vector(items, 0, box, 0, 16)  # refused here


@refused("int32", "shared_array", "compile-time", where=BY_THE_COMPILER)
def a_shared_array_of_run_time_size(x):
    memory.shared_array(x[0], np.int32)  # refused here


@refused("int32", "load_vector", "nbytes", where=BY_THE_COMPILER)
def a_vector_of_run_time_bytes(x):
    items = memory.local_array(4, np.int32)
    memory.load_vector(items, 0, x, 0, x[0])  # refused here


def attempt(run, arrays):
    """Launch in the simulator; compile without one."""
    if SIMULATOR:
        run[1, 1](*arrays)
        return
    from tests import ptx

    with ptx.without_gpu():
        types_ = [typeof(a) if a.ndim != 1 or not a.flags.c_contiguous else from_dtype(a.dtype)[::1] for a in arrays]
        ptx.compile_ptx(run, *types_)


def check(run, dtypes, words):
    """Assert that `run` is refused in one line that names the user's."""
    with pytest.raises(Refused) as caught:
        attempt(run, [array(dtype) for dtype in dtypes])
    message = str(caught.value)
    assert type(caught.value) is Refused
    assert "\n" not in message
    for word in words:
        assert word in message
    source, first = inspect.getsourcelines(getattr(run, "py_func", getattr(run, "fn", run)))
    line = first + next(n for n, text in enumerate(source) if "refused here" in text)
    assert f"test_rules_refusals.py:{line}" in message


@pytest.mark.everywhere
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_one_line_with_the_users_own(name):
    check(*REFUSED[name])


@pytest.mark.ptx
@pytest.mark.parametrize("name", BY_THE_COMPILER)
def test_what_the_compiler_refuses_alone(name):
    check(*BY_THE_COMPILER[name])
