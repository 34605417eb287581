"""Arguments in: what is read of arrays, numbers, tuples and records, and what is refused, by the parameter's name."""

import enum
import gc
import os
import subprocess
import sys
import weakref
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from tests.processes import path_first
from tests.warp.matrix import NUMBERS
from warpkit import Refused
from warpkit.host import arrays_layout
from warpkit.host.arrays import READERS, as_argument, as_output, device_argument
from warpkit.host.arrays_frameworks import quick_numba
from warpkit.simt import machine
from warpkit.simt.specs import array_spec, scalar_spec, tuple_spec

from .interop_objects import Interface, host_memory_is_device_0, spaced

host = pytest.fixture(autouse=True)(host_memory_is_device_0)
FIELDS = np.dtype([("a", "i1"), ("b", "<f8"), ("c", "<i4", (2,))], align=True)


def refusal(value, name="x", read=as_argument):
    """Return the sentence with which a value is refused; it names the parameter first and is one sentence."""
    with pytest.raises(Refused) as caught:
        read(value, name)
    sentence = str(caught.value)
    assert sentence.startswith("x ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


# -- arrays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS, FIELDS], ids=str)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)], ids=str)
def test_an_interface_is_read(dtype, shape):
    array = np.zeros(shape, dtype)
    found = as_argument(Interface(array), "x")
    assert found.spec is array_spec(np.dtype(dtype), len(shape), True, False)
    assert (found.pointer, found.shape, found.strides) == (array.ctypes.data, shape, None)
    assert (found.dtype, found.size, found.device) == (array.dtype, array.size, 0)
    assert found.is_array
    assert not found.readonly


@pytest.mark.parametrize("version", [0, 1, 2, 3, None])
def test_every_version_of_the_interface_is_read(version):
    made = Interface(np.zeros(3))
    if version is None:
        del made.__cuda_array_interface__["version"]
    else:
        made.__cuda_array_interface__["version"] = version
    assert as_argument(made, "x").shape == (3,)


WHOLE = np.zeros((4, 6), np.float32)
R01 = {
    "rows": (WHOLE, True),
    "slice": (WHOLE[0, ::2], False),
    "transposed": (WHOLE.T, False),
    "columns": (WHOLE[:, :2], False),
    "reversed": (WHOLE[::-1], False),
    "one row": (WHOLE[1:2, :], True),
    "one element": (WHOLE[2:3, 3:4], True),
    "one column": (WHOLE[:, 3:4], False),
    "first rows": (WHOLE[:2], True),
    "scalar": (WHOLE[1, 1, ...], True),
    "none of some": (WHOLE[:, 6:], True),
    "broadcast": (np.broadcast_to(np.float32(3), (5,)), False),
    "broadcast once": (np.broadcast_to(np.float32(3), (1, 1)), True),
}


@pytest.mark.parametrize(("array", "contiguous"), R01.values(), ids=R01.keys())
def test_r01_contiguity_is_what_the_elements_do(array, contiguous):
    found = as_argument(Interface(array, data=(array.ctypes.data, False)), "x")
    assert found.spec.contiguous == contiguous
    assert found.strides == (None if contiguous else array.strides)
    assert found.pointer == array.ctypes.data


def test_r01_an_axis_of_one_may_have_any_stride():
    odd = Interface(np.zeros(5, np.float32), shape=(1, 5), strides=(12345, 4))
    assert as_argument(odd, "x").spec is as_argument(Interface(np.zeros((2, 5), np.float32)), "x").spec


@pytest.mark.parametrize("strides", [None, (80, 4)], ids=["without", "with"])
def test_r01_strides_that_say_c_order_are_c_order(strides):
    assert as_argument(Interface(np.zeros((3, 20), np.float32), strides=strides), "x").strides is None


@pytest.mark.parametrize("shape", [(0,), (10, 0), (0, 3)], ids=str)
@pytest.mark.parametrize("pointer", [0, None, 12345], ids=str)
def test_p09_r04_an_empty_array_needs_no_memory_and_is_contiguous(shape, pointer):
    strange = tuple(7 for _ in shape)
    found = as_argument(Interface(np.zeros(shape), data=(pointer, False), strides=strange), "x")
    assert found.spec is array_spec(np.float64, len(shape))
    assert (found.shape, found.size, found.strides) == (shape, 0, None)


@pytest.mark.parametrize("make", [cuda.to_device, lambda array: cuda.device_array(array.shape)], ids=["copy", "new"])
@pytest.mark.parametrize("shape", [(0,), (10, 0), (0, 3)], ids=str)
def test_r04_an_empty_device_array_is_like_any_other(make, shape):
    assert as_argument(make(np.zeros(shape)), "x").spec is array_spec(np.float64, len(shape))


def test_a_field_of_records_is_strided():
    records = np.zeros(3, np.dtype([("a", np.float64), ("b", np.int32), ("c", np.int32)]))
    found = as_argument(Interface(records["b"]), "x")
    assert (found.strides, found.pointer - records.ctypes.data) == ((16,), 8)


def test_records_keep_their_padding():
    found = as_argument(Interface(np.zeros(4, FIELDS)), "x")
    assert found.dtype == FIELDS
    assert found.dtype.itemsize == FIELDS.itemsize


def test_an_array_that_is_an_argument_already_stays_one():
    found = as_argument(Interface(np.zeros(3)), "x")
    assert as_argument(found, "y") is found


def test_memory_of_ours_is_an_argument():
    pointer = machine.allocate(24, 0)
    found = device_argument(pointer, (3,), np.float64)
    assert found.spec is array_spec(np.float64, 1)
    assert found.pointer == pointer
    machine.release(pointer, 0)


# -- what is refused of arrays -----------------------------------------------------------------------------------------


def test_a_null_pointer_with_elements_is_refused():
    assert "pointer is null" in refusal(Interface(np.zeros(3), data=(0, False)))


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64, np.complex64, np.complex128], ids=str)
def test_a_misaligned_address_is_refused(dtype):
    raw = np.zeros(200, np.uint8)
    made = Interface(raw, shape=(3,), typestr=np.dtype(dtype).str, descr=[("", np.dtype(dtype).str)], strides=None)
    made.__cuda_array_interface__["data"] = (raw.ctypes.data // 16 * 16 + 17, False)
    assert f"misaligned: {np.dtype(dtype)}" in refusal(made)


def test_misaligned_strides_are_refused():
    packed = np.zeros(3, np.dtype([("a", "i1"), ("b", "<f8")]))
    assert "not aligned to 8 bytes" in refusal(Interface(packed["b"], data=(packed.ctypes.data // 8 * 8, False)))


def test_records_of_bytes_lie_anywhere():
    packed = np.dtype([("a", "i1"), ("b", "<f8")])
    raw = np.zeros(100, np.uint8)[1:]
    made = Interface(raw, shape=(3,), typestr="|V9", descr=packed.descr, strides=None)
    assert as_argument(made, "x").dtype == packed


BAD = {
    "mask": ({"mask": object()}, "masked"),
    "no shape": ({"shape": None}, "malformed"),
    "float shape": ({"shape": (1.5,)}, "malformed"),
    "negative shape": ({"shape": (-3,)}, "shape (-3,)"),
    "strides of another rank": ({"strides": (8, 8)}, "strides (8, 8)"),
    "typestr": ({"typestr": "<q9"}, "malformed"),
    "data": ({"data": 4096}, "malformed"),
    "byte order": ({"typestr": ">f8"}, "byte order"),
    "object": ({"typestr": "|O"}, "object"),
    "text": ({"typestr": "<U4"}, "str128"),
    "date": ({"typestr": "<M8[s]"}, "datetime64"),
    "stream 0": ({"stream": 0}, "stream is 0"),
    "negative stream": ({"stream": -1}, "stream is -1"),
    "no stream": ({"stream": "s"}, "stream is 's'"),
    "true stream": ({"stream": True}, "stream is True"),
}


@pytest.mark.parametrize(("said", "answer"), BAD.values(), ids=BAD.keys())
def test_a_bad_interface_is_refused(said, answer):
    assert answer in refusal(Interface(np.zeros(3), **said))


@pytest.mark.parametrize("key", ["shape", "typestr", "data"])
def test_an_interface_without_a_key_is_refused(key):
    made = Interface(np.zeros(3))
    del made.__cuda_array_interface__[key]
    assert f"has no {key!r}" in refusal(made)


def test_an_interface_that_raises_is_quoted():
    class Raises:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("not on this device.")

    assert "not on this device" in refusal(Raises())


def test_an_interface_that_is_no_dictionary_is_refused():
    made = Interface(np.zeros(3))
    made.__cuda_array_interface__ = "interface"
    assert "no dictionary" in refusal(made)


@pytest.mark.parametrize("array", [np.zeros((2, 3), np.int8), np.array(1.0), np.zeros(3).view(np.matrix)], ids=repr)
def test_a_numpy_array_is_refused_with_the_way_to_the_gpu(array):
    sentence = refusal(array)
    assert "host memory" in sentence
    assert str(array.dtype) in sentence
    assert "numba.cuda.to_device(x)" in sentence


# -- outputs -----------------------------------------------------------------------------------------------------------


def frozen(array):
    """Return an array that is not to be written to."""
    array.flags.writeable = False
    return array


def test_a_read_only_array_is_an_input_and_no_output():
    found = as_argument(Interface(frozen(np.zeros(3))), "x")
    assert found.readonly
    assert found.spec is array_spec(np.float64, 1, True, True)
    assert "read-only" in refusal(Interface(frozen(np.zeros(3))), read=as_output)


def test_r02_a_strided_array_is_an_output():
    assert as_output(Interface(spaced((3, 4))), "out").strides == (64, 8)


def test_r03_elements_that_share_memory_are_an_input_and_no_output():
    shared = Interface(np.zeros(1), shape=(5, 1), strides=(0, 0))
    assert as_argument(shared, "x").strides == (0, 0)
    assert "share memory" in refusal(shared, read=as_output)


@pytest.mark.parametrize("value", [3, (1, 2)], ids=repr)
def test_only_an_array_is_an_output(value):
    assert "results go to a device array" in refusal(value, read=as_output)


def test_an_array_is_an_output():
    assert as_output(Interface(np.zeros(3)), "x").pointer


# -- numbers, records, tuples ------------------------------------------------------------------------------------------


class Colour(enum.IntEnum):
    RED = 7


SCALARS = [(True, "?"), (3, "q"), (2.5, "d"), (1j, "D"), (Colour.RED, "q"), (-(2**63), "q"), (2**63 - 1, "q")]
SCALARS += [(np.dtype(dtype).type(1), np.dtype(dtype)) for dtype in [np.bool_, *NUMBERS, np.longlong, np.ulonglong]]


@pytest.mark.parametrize(("value", "dtype"), SCALARS, ids=lambda given: f"{type(given).__name__} {given}")
def test_a_number_keeps_its_type(value, dtype):
    found = as_argument(value, "x")
    assert found.spec is scalar_spec(np.dtype(dtype))
    assert found.payload == machine.scalar_payload(found.spec, value)
    assert (found.shape, found.size, found.device, found.is_array) == ((), 1, -1, False)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_an_int_beyond_int64_is_refused(value):
    assert str(value) in refusal(value)
    assert "np.uint64" in refusal(value)


@pytest.mark.parametrize("value", [np.longdouble(1), np.clongdouble(1)], ids=repr)
def test_a_number_that_no_gpu_has_is_refused(value):
    assert "no GPU has" in refusal(value)


@pytest.mark.parametrize("value", [np.datetime64("2000-01-01"), np.str_("a"), np.zeros((), "V3")[()]], ids=repr)
def test_a_numpy_scalar_that_is_no_number_is_refused(value):
    refusal(value)


@pytest.mark.parametrize(
    ("value", "what"),
    [(None, "None"), ("a", "of type str"), ([1], "of type list"), ({}, "of type dict"), (object(), "of type object")],
    ids=lambda given: type(given).__name__,
)
def test_what_no_kernel_takes_is_refused(value, what):
    assert f"is {what}, which no kernel takes" in refusal(value)


@pytest.mark.parametrize("kind", [np.recarray, np.ndarray], ids=["record", "void"])
def test_a_record_is_an_argument(kind):
    fields = np.dtype([("a", "<i4"), ("b", "<f8"), (kind.__name__, "<f4")], align=True)
    records = np.zeros(2, fields)
    records["b"] = 2.5
    found = as_argument(records.view(kind)[0], "x")
    assert found.spec is scalar_spec(fields)
    assert found.spec.dtype.type is np.void
    assert found.payload == as_argument(records[0], "x").payload  # on a GPU: one place for equal records


def test_a_record_of_objects_is_refused():
    assert "do not take" in refusal(np.zeros(1, np.dtype([("a", object)]))[0])


def test_a_tuple_is_read_part_by_part():
    array = Interface(np.zeros(3, np.float32))
    found = as_argument((1, (2.5, array)), "x")
    inner = tuple_spec((scalar_spec(np.float64), array_spec(np.float32, 1)))
    assert found.spec is tuple_spec((scalar_spec(np.int64), inner))
    assert not found.is_array


def test_an_empty_tuple_and_a_named_one_are_tuples():
    Pair = namedtuple("Pair", "a b")
    assert as_argument((), "x").spec is tuple_spec(())
    assert as_argument(Pair(1, 2), "x").spec is as_argument((1, 2), "x").spec


@pytest.mark.parametrize(
    ("name", "shown"), [("x", "x"), (3, "argument 3"), (("x", 1), "x[1]"), (((2, 0), 1), "argument 2[0][1]")], ids=str
)
def test_a_refusal_names_the_parameter(name, shown):
    with pytest.raises(Refused) as caught:
        as_argument(None, name)
    assert str(caught.value).startswith(f"{shown} is None")


def test_a_refusal_names_the_part_of_a_tuple():
    with pytest.raises(Refused) as caught:
        as_argument((1, (2, "a")), "x")
    assert str(caught.value).startswith("x[1][1] is of type str")


# -- life --------------------------------------------------------------------------------------------------------------


def test_p18_an_argument_keeps_its_owner():
    made = Interface(np.zeros(3))
    alive = weakref.ref(made)
    found = as_argument(made, "x")
    del made
    gc.collect()
    assert alive() is not None
    del found
    gc.collect()
    assert alive() is None


def test_a_device_array_that_was_read_goes_when_it_is_dropped():
    gc.collect()
    gc.disable()
    try:
        array = cuda.to_device(np.zeros(3))
        first, again = as_argument(array, "x"), as_argument(array, "x")
        alive = weakref.ref(array)
        del array, first, again
        assert alive() is None, "a reading must not make a cycle: memory would wait for the collector"
    finally:
        gc.enable()


class NumbaArray:
    """What numba's device arrays look like to the readers."""

    __cuda_ndarray__ = True

    def __init__(self, stream=None, of_pool=None):
        self.stream, self.of_pool = stream, of_pool


NumbaArray.__module__ = "numba.cuda.cudadrv.devicearray"


@pytest.fixture
def readings(monkeypatch):
    """Count how often a device array is read, and say what is read."""
    seen = []

    def read(array):
        seen.append(array)
        stream = array.stream if array.of_pool is None else array.of_pool
        return 4096, (3,), (8,), np.dtype(np.float64), stream, 0, "memory", array.stream == 5

    monkeypatch.setattr(machine, "read_device_array", read)
    return seen


@pytest.mark.everywhere
def test_a_device_array_is_read_once(monkeypatch, readings):
    monkeypatch.setattr(arrays_layout, "_layouts", {})
    monkeypatch.setattr(machine, "array_packer", lambda *layout: lambda pointer, owner: b"slots")
    array = NumbaArray()
    first = as_argument(array, "x")
    assert as_argument(array, "y") is first
    assert (first.stream, first.framework, first.owner) == (None, None, "memory")
    array.stream = 4096
    bound = as_argument(array, "x")
    assert (bound.stream, bound.framework.name) == (4096, "unknown")
    assert len(readings) == 2


@pytest.mark.everywhere
def test_memory_that_numba_does_not_own_needs_a_thought(monkeypatch, readings):
    monkeypatch.setattr(arrays_layout, "_layouts", {})
    monkeypatch.setattr(machine, "array_packer", lambda *layout: lambda pointer, owner: b"slots")
    assert as_argument(NumbaArray(stream=5), "x").framework.name == "unknown"


@pytest.mark.everywhere
@pytest.mark.parametrize(("given", "home"), [
    ({}, None),
    ({"of_pool": 0}, "the default stream"),
    ({"of_pool": 1}, "the default stream"),
    ({"of_pool": 4096}, "not quickly"),
    ({"stream": 4096}, "not quickly"),
    ({"stream": 5, "of_pool": 0}, "not quickly"),
])  # fmt: skip
def test_what_is_quick_where_neither_order_nor_memory_needs_more_than_one_stream(monkeypatch, readings, given, home):
    """Memory that the pool gave in the order of the default stream is quick there, and there alone."""
    monkeypatch.setattr(arrays_layout, "_layouts", {})
    monkeypatch.setattr(machine, "array_packer", lambda *layout: lambda pointer, owner: b"slots")
    array = NumbaArray(**given)
    assert quick_numba(array) is None
    layout = as_argument(array, "x").layout
    quick = quick_numba(array)
    if home == "not quickly":
        assert quick is None
    else:
        assert quick[:3] == (layout, 4096, 0)
        assert (quick[3] and quick[3].name) == home


@pytest.mark.gpu
def test_a_real_device_array_is_read_once():
    array = cuda.to_device(np.zeros(3))
    assert as_argument(array, "x") is as_argument(array, "y")
    assert as_argument(array, "x").framework is None


@pytest.mark.gpu
def test_a_foreign_array_made_numbas_needs_a_thought():
    source = cuda.to_device(np.zeros(3))
    made = cuda.as_cuda_array(Interface(np.zeros(1), **{"descr": None, **source.__cuda_array_interface__}))
    for array in (made, made[1:]):
        assert as_argument(array, "x").framework.name == "unknown"
    assert as_argument(source[1:], "x").framework is None


def test_a_device_array_bound_to_another_stream_is_read_again():
    array = cuda.to_device(np.zeros(3))
    array.stream = 0
    plain = as_argument(array, "x")
    array.stream = 4096
    assert (plain.stream, as_argument(array, "x").stream) == (None, 4096)


def test_tables_of_layouts_are_bounded():
    table = {}
    for number in range(3 * arrays_layout.MOST_LAYOUTS):
        arrays_layout.remember(table, number, number)
    assert len(table) <= arrays_layout.MOST_LAYOUTS
    assert table[number] == number


def test_types_that_nobody_knows_are_not_remembered():
    known = len(READERS)
    for _ in range(50):
        kind = type("Made", (Interface,), {})
        as_argument(kind(np.zeros(3)), "x")
    assert len(READERS) == known


@pytest.mark.everywhere
def test_no_framework_is_imported():
    code = (
        "import sys, warpkit.host.arrays, warpkit.host.streams\n"
        "assert not {'torch', 'cupy', 'jax'} & set(sys.modules), sys.modules\n"
    )
    root = path_first(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", code], env=os.environ | root, check=True)
