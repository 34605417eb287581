"""What several items at once cost: the widest accesses that the length allows, none in local memory."""

import pytest

from tests.ptx import assert_register_only, count
from tests.simt import test_memory_items
from tests.simt.waist import VALUES, array_of, registered

WIDE = [("int8", 16, "v4"), ("float16", 8, "v4"), ("int32", 4, "v4"), ("float64", 2, "v4"), ("rec16_aligned", 1, "v4")]
WIDE += [("int8", 8, "v2"), ("float32", 2, "v2"), ("int16", 2, "b32")]


@pytest.mark.parametrize(("name", "length", "width"), WIDE)
def test_items_take_one_wide_access_where_aligned(compile_ptx, name, length, width):
    dtype = VALUES[name]
    run = test_memory_items.copying(dtype if dtype.names else dtype.type, length)
    ptx = compile_ptx(run, array_of(dtype), array_of("int64"), array_of(dtype))
    for access in ("ld", "st"):
        wide = {
            "v4": [".v4.", ".v2.u64", ".v2.b64"],
            "v2": [".v2.u32", ".v2.b32", ".b64", ".u64"],
            "b32": [".u32", ".b32"],
        }
        assert sum(count(ptx, f"{access}.global{text}") for text in wide[width]) >= 1, access
    assert_register_only(ptx)


@pytest.mark.parametrize("length", [1, 3, 5])
def test_odd_lengths_stay_in_registers(compile_ptx, length):
    for name in ("int8", "float32", "complex128", "rec12"):
        dtype = VALUES[name]
        run = test_memory_items.copying(dtype if dtype.names else dtype.type, length)
        assert_register_only(compile_ptx(run, array_of(dtype), array_of("int64"), array_of(dtype)))


def test_tuples_go_item_by_item(compile_ptx):
    ptx = compile_ptx(*registered("tuples_of_shared_memory"))
    assert count(ptx, "st.shared.v4") == count(ptx, "ld.shared.v4") == 0
    assert count(ptx, "call") == 0
