"""What memory costs: one instruction an access, the promised bytes of shared memory, registers for local arrays."""

import re

import numpy as np
import pytest
from numba import cuda

from tests.ptx import assemble, assert_register_only, body, count, result_type
from tests.simt import test_memory, test_memory_atomics, test_memory_ordered
from tests.simt.waist import VALUES, array_of, carried_ptx, kernel, registered, words
from tests.warp.literal import NUMBA
from tests.warp.matrix import label
from warpkit.simt import memory, sync, types


def shared(ptx):
    """Return the bytes of every shared symbol, by name."""
    return {name: int(size) for name, size in re.findall(r"\.shared \.align \d+ \.b8 (\S+)\[(\d+)\]", ptx)}


# Of every size and family one: that all of them compile is seen elsewhere.
SOME = [
    "bool",
    "int8",
    "float16",
    "uint32",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "nested",
    "float32x3",
    "uint8x4",
]
SOME += ["rec3", "rec6", "rec24", "rec4_aligned", "rec16_aligned"]

# ------------------------------------------------------------------ shared, local, scratch


def test_n04_every_shared_array_is_a_symbol_of_its_size(compile_ptx):
    assert sorted(shared(compile_ptx(*registered("two_on_one_line"))).values()) == [256, 256]
    ptx = compile_ptx(*registered("helpers_with_memory"))
    assert sorted(shared(ptx).values()) == [256, 256, 512]
    ptx = compile_ptx(*registered("arrays_of_parts"))
    assert sorted(shared(ptx).values()) == [64 * 8, 64 * 16, 64 * 24]
    assert_register_only(ptx)


def test_dynamic_shared_memory_has_one_symbol_without_a_size(compile_ptx):
    ptx = compile_ptx(*registered("carved"))
    assert shared(ptx) == {}
    assert ptx.count(".extern .shared .align 128 .b8 _warpkit_dynamic_shared[];") == 1


@pytest.mark.parametrize("name", ["bool", "int8", "float16", "complex128", "rec3", "rec12_aligned", "rec16"])
def test_shared_memory_of_every_item_size(compile_ptx, name):
    dtype = VALUES[name]
    run = test_memory.through(memory.shared_array, dtype if dtype.names else dtype.type)
    ptx = compile_ptx(run, array_of(dtype), array_of(dtype))
    assert list(shared(ptx).values()) == [64 * dtype.itemsize]
    assert count(ptx, "call") == 0


def test_a_local_array_with_known_indices_is_registers(compile_ptx):
    assert_register_only(compile_ptx(swap_ends, array_of("float32"), array_of("float32")))


def swap_ends(x, out):
    """Constant indices and a loop of constant length."""
    items = memory.local_array(8, np.float32)
    for k in range(8):
        items[k] = x[8 * cuda.threadIdx.x + k]
    for k in range(8):
        out[8 * cuda.threadIdx.x + k] = items[7 - k]


@pytest.mark.parametrize("name", SOME)
def test_scratch_is_one_symbol_of_words(compile_ptx, name):
    ptx = carried_ptx(compile_ptx, test_memory.through_scratch, name)
    size = 4 * (64 << (words(name) - 1).bit_length())
    assert shared(ptx) == {f"_warpkit_scratch_{size}": size}
    assert count(ptx, "st.shared") == count(ptx, "ld.shared") == 2 * words(name)
    assert_register_only(ptx)


def test_types_of_one_size_share_one_scratch(compile_ptx):
    ptx = compile_ptx(*registered("scratch_of_several_types"))
    assert shared(ptx) == {f"_warpkit_scratch_{size}": size for size in (256, 512, 1024)}
    assert ".local" not in ptx


@kernel("int32", "int32", "float32")
def a_scratch_by_two_paths(x, out, floats):
    """The same helper twice, and with a type of the same size."""
    i = np.int32(cuda.threadIdx.x)
    out[i] = test_memory.through_scratch(x[i], i) + test_memory.through_scratch(x[i] + 1, i)
    floats[i] = test_memory.through_scratch(floats[i], i)
    out[i] += test_memory.reversed_as_integers(x[i], i)
    sync.barrier()
    out[i] += test_memory.reversed_as_integers(x[i], i)


def test_memory_reached_by_two_call_paths_links(compile_ptx):
    ptx = compile_ptx(*registered("a_scratch_by_two_paths"))
    sizes = shared(ptx)
    assert {name: size for name, size in sizes.items() if "scratch" in name} == {
        "_warpkit_scratch_256": 256,
        "_warpkit_scratch_512": 512,
    }
    assert assemble(ptx).stack == 0


def test_how_many_words_a_value_takes_is_known_at_compile_time(compile_ptx):
    ptx = compile_ptx(count_words, array_of("int32"))
    assert count(ptx, "st.global") == 1
    assert any(re.search(r"(mov|st)\S*.*\b42\b", line) for line in body(ptx))


def count_words(out):
    """Sum the words of constants of several types."""
    out[0] = (
        10 * memory.words_of((1, np.int8(2))) + 5 * memory.words_of(1j) // 2 + memory.words_of((True, np.int16(1))) * 2
    )


# ------------------------------------------------------------------ vector access


@pytest.mark.parametrize(("name", "nbytes"), [v for v in test_memory.VECTORS if v[0] in SOME])
def test_a_vector_is_one_load_and_one_store(compile_ptx, name, nbytes):
    dtype, items = VALUES[name], nbytes // VALUES[name].itemsize
    run = test_memory.copying(dtype if dtype.names else dtype.type, nbytes, items)
    ptx = compile_ptx(run, array_of(dtype), array_of("int64"), array_of(dtype), array_of("boolean"))
    assert count(ptx, "ld.global") == 2  # the start, and the vector
    assert count(ptx, "st.global") == 2  # the answer of is_aligned, and the vector
    wide = {2: r"ld\.global\.[bu]16", 4: r"ld\.global\.[bfu]32", 8: r"ld\.global\.(v2\.[bu]32|[bu]64)"}
    wide[16] = r"ld\.global\.(v4\.[bu]32|v2\.[bu]64)"
    assert re.search(wide[nbytes], ptx)
    assert re.search(wide[nbytes].replace("ld", "st", 1), ptx)
    assert_register_only(ptx)


def test_vectors_of_shared_memory(compile_ptx):
    ptx = compile_ptx(*registered("through_shared_memory"))
    assert count(ptx, "ld.global.v4") == count(ptx, "st.shared.v4") == count(ptx, "st.global.v4") == 1
    assert count(ptx, "ld.shared.v2") + count(ptx, "ld.shared.b64") + count(ptx, "ld.shared.u64") == 2
    assert_register_only(ptx)


# ------------------------------------------------------------------ ordered access


@pytest.mark.parametrize("name", [name for name in test_memory_ordered.WHOLE if name in SOME])
def test_an_ordered_access_is_one_instruction(compile_ptx, name):
    dtype = VALUES[name]
    suffix = f"u{8 * dtype.itemsize}" if dtype.itemsize < 16 else "b128"
    for load, store in zip(test_memory_ordered.LOADS, test_memory_ordered.STORES):
        orders = [function.__name__.split("_")[1] for function in (load, store)]
        ptx = compile_ptx(test_memory_ordered.copying(load, store), array_of(dtype), array_of(dtype))
        assert (
            count(ptx, f"ld.{orders[0]}.gpu.global.{suffix}")
            == count(ptx, "ld.relaxed") + count(ptx, "ld.acquire")
            == 1
        )
        assert (
            count(ptx, f"st.{orders[1]}.gpu.global.{suffix}")
            == count(ptx, "st.relaxed") + count(ptx, "st.release")
            == 1
        )
        assert count(ptx, "ld.global") == count(ptx, "st.global") == 0
        assert_register_only(ptx)


@pytest.mark.parametrize("name", ["bool", "int16", "float32", "complex64", "rec16_aligned"])
def test_an_ordered_load_gives_the_type_of_the_item(name):
    scalar = array_of(VALUES[name]).dtype
    if name.startswith("rec"):
        return
    assert result_type(lambda x: memory.load_acquire(x, 0), array_of(VALUES[name])) == scalar


def test_ordered_access_assembles(compile_ptx):
    for name in ("two_words_travel_together", "store_converted", "by_stride"):
        assert assemble(compile_ptx(*registered(name))).spills == 0


def spin(flag, out):
    """A loop that must load every time."""
    while memory.load_relaxed(flag, 0) == 0:
        pass
    out[0] = 1


def test_a_polling_load_stays_in_its_loop(compile_ptx):
    ptx = compile_ptx(spin, array_of("int32"), array_of("int32"))
    loop = re.search(r"(?ms)^(\$L\w+):.*?bra\S*\s+\1;", ptx)
    assert "ld.relaxed.gpu.global.u32" in loop[0]


def test_bfloat16_in_memory(compile_ptx):
    array = cuda.types.bfloat16[::1]
    ptx = compile_ptx(test_memory_ordered.copying(memory.load_acquire, memory.store_release), array, array)
    assert count(ptx, "ld.acquire.gpu.global.u16") == count(ptx, "st.release.gpu.global.u16") == 1
    ptx = compile_ptx(test_memory.through(memory.shared_array, cuda.types.bfloat16), array, array)
    assert list(shared(ptx).values()) == [128]


# ------------------------------------------------------------------ atomics


@pytest.mark.parametrize("dtype", test_memory_atomics.WORDS, ids=label)
def test_an_atomic_on_an_integer_is_one_instruction(compile_ptx, dtype):
    for atomic in test_memory_atomics.MEANING:
        ptx = compile_ptx(test_memory_atomics.updating(atomic), *[array_of(dtype)] * 3)
        assert count(ptx, "atom.") == 1, atomic.__name__
        assert_register_only(ptx)


@pytest.mark.parametrize("dtype", test_memory_atomics.FLOATS, ids=label)
def test_an_atomic_sum_of_floats_is_one_instruction_and_extrema_are_a_loop(compile_ptx, dtype):
    for atomic in test_memory_atomics.ON_FLOATS:
        ptx = compile_ptx(test_memory_atomics.updating(atomic), *[array_of(dtype)] * 3)
        assert count(ptx, "atom.") == 1
        assert count(ptx, "atom.global.add" if atomic is memory.atomic_add else "atom") == 1
        assert ".local" not in ptx


def test_compare_exchange_and_contention(compile_ptx):
    assert count(compile_ptx(*registered("swap_if")), "atom.global.cas.b64") == 1
    assert count(compile_ptx(*registered("swap_narrow_if")), "atom.global.cas.b32") == 1
    three = compile_ptx(test_memory_atomics.contended(np.int32), array_of("int32"), array_of("int32"))
    assert count(three, "atom.shared.add") + count(three, "red.shared.add") + count(three, "atom.shared") >= 1


@cuda.jit
def adding_at_an_index(x, at, value):
    """Add at an index that does not count from the end."""
    i = types.as_index(cuda.threadIdx.x)
    memory.atomic_add(x, types.as_index(at[i]), value[i])


@pytest.mark.parametrize("dtype", test_memory_atomics.WORDS, ids=label)
def test_a_sum_at_an_unsigned_index_asks_for_no_sign(compile_ptx, dtype):
    ptx = compile_ptx(adding_at_an_index, array_of(dtype), array_of("int64"), array_of(dtype))
    assert count(ptx, "atom.") == 1
    assert count(ptx, "shr.s64") == count(ptx, "setp") == count(ptx, "and") == 0


def test_an_atomic_returns_the_type_of_the_array():
    for name in ("int32", "uint64", "float64"):
        array = NUMBA[name][::1]
        assert result_type(lambda x: memory.atomic_add(x, 0, 1), array) == array.dtype
