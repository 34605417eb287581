"""Items of a thread stay in registers, up to 16 × 8 bytes, and are loaded and stored in wide accesses."""

import numba
import numpy as np
import pytest

import warpkit as wk
from tests.ptx import assemble, assert_register_only, body, count

from .literal import REDUCTION_BARRIERS, SCAN_BARRIERS, barriers, compiled, numpy_type, on_items, shared_bytes

POOL = 8192


def reduce_add(items):
    """Reduce and write the total over the first item."""
    items[0] = wk.block_reduce_items(items, wk.add)


def scan_add(items):
    """Scan."""
    wk.block_inclusive_scan_items(items, wk.add)


def scan_max(items):
    """Scan from 1."""
    wk.block_exclusive_scan_items(items, max, 1)


def reversed_ranks(items):
    """Scatter to the mirrored place."""
    ranks = wk.local_array(16, np.int32)
    for k in range(items.size):
        ranks[k] = numba.cuda.blockDim.x * items.size - 1 - numba.cuda.threadIdx.x * items.size - k
    wk.block_scatter_to_blocked(items, ranks)


def device(function):
    """Make a plain function one of a kernel."""
    return numba.cuda.jit(device=True)(function)


FOLDS = {f.__name__: device(f) for f in (reduce_add, scan_add, scan_max)}
MOVES = {
    "striped_to_blocked": wk.block_striped_to_blocked,
    "blocked_to_striped": wk.block_blocked_to_striped,
    "scatter_to_blocked": device(reversed_ranks),
}


def assert_lean(ptx):
    """Assert registers only and no division."""
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0


@pytest.mark.parametrize(("name", "size"), [("float32", 4), ("int8", 16), ("float64", 16)])
@pytest.mark.parametrize("function", FOLDS)
def test_scans_of_items_stay_in_registers(compile_ptx, function, name, size):
    ptx = compiled(compile_ptx, on_items(FOLDS[function], size, numpy_type(name)), name)
    assert_lean(ptx)
    assert barriers(ptx) == (REDUCTION_BARRIERS if function == "reduce_add" else SCAN_BARRIERS)
    made = assemble(ptx)
    assert made.stack == made.spills == 0


@pytest.mark.parametrize(("name", "size"), [("float32", 4), ("int8", 16), ("float64", 16), ("complex128", 3)])
@pytest.mark.parametrize("function", MOVES)
def test_exchanges_stay_in_registers_and_have_two_barriers_a_round(compile_ptx, function, name, size):
    ptx = compiled(compile_ptx, on_items(MOVES[function], size, numpy_type(name)), name)
    assert_lean(ptx)
    assert barriers(ptx) == 2 + 2  # of one round, and in the loop over several
    assert list(shared_bytes(ptx).values()) == [POOL]
    made = assemble(ptx)
    assert made.stack == made.spills == 0


def test_an_own_scratch_takes_the_place_of_the_pool(compile_ptx):
    ptx = compiled(compile_ptx, on_items(wk.block_striped_to_blocked, 4, np.float32, 1024), "float32")
    assert list(shared_bytes(ptx).values()) == [4096]
    assert_lean(ptx)


# Besides: 1 access of a vector, where the items of a thread are one, and `load_items`' own way for addresses that
# are not aligned, which is never taken here.
@pytest.mark.parametrize(("name", "size", "vector"), [("float32", 4, 1 + 4), ("float32", 16, 0), ("float64", 16, 0)])
@pytest.mark.parametrize("own", [0, 4096])
def test_a_transposed_copy_reads_and_writes_every_item_once_on_every_way(compile_ptx, name, size, vector, own):
    dtype = numpy_type(name)
    if own:

        def run(x, out, n):
            items, scratch = wk.local_array(size, dtype), wk.shared_array(own, dtype)
            base = numba.cuda.blockIdx.x * numba.cuda.blockDim.x * size
            wk.block_load_transposed(items, x, base, n, None, scratch)
            wk.block_store_transposed(items, out, base, n, scratch)
    else:

        def run(x, out, n):
            items = wk.local_array(size, dtype)
            base = numba.cuda.blockIdx.x * numba.cuda.blockDim.x * size
            wk.block_load_transposed(items, x, base, n)
            wk.block_store_transposed(items, out, base, n)

    array = getattr(numba, name)[::1]
    ptx = compile_ptx(run, array, array, numba.int64)
    assert_lean(ptx)
    # Whole warps: 1 in the loop over those that there is room for. Else as an exchange.
    assert barriers(ptx) == 2 * (1 + 4)
    assert count(ptx, "bar.warp") == 2
    assert list(shared_bytes(ptx).values()) == [own * np.dtype(dtype).itemsize if own else POOL]
    assert count(ptx, "ld.global") == count(ptx, "st.global") == 2 * size + vector
    made = assemble(ptx)
    assert made.stack == made.spills == 0


def nothing(items):
    """Leave the items."""


# Items of 16, 8 and 4 bytes together: one wide access beside the scalar way.
WIDE = [
    ("float32", 4, "v4", 1),
    ("float32", 16, "v4", 4),
    ("float32", 2, "v2", 1),
    ("int8", 16, "v4", 1),
    ("int16", 4, "v2", 1),
    ("float64", 4, "v4", 2),
]


@pytest.mark.parametrize(("name", "size", "width", "accesses"), WIDE)
def test_vectorized_accesses_are_wide(compile_ptx, name, size, width, accesses):
    ptx = compiled(compile_ptx, on_items(device(nothing), size, numpy_type(name)), name)
    for what in ("ld.global", "st.global"):
        lines = [line for line in body(ptx) if line.startswith(what)]
        assert sum(f".{width}." in line for line in lines) == accesses
        # float64 in two halves would be .v2 too: the scalar way is what is left
        assert len(lines) == accesses + size
    assert barriers(ptx) == 0
    assert_lean(ptx)


def test_items_that_make_no_whole_access_are_loaded_one_by_one(compile_ptx):
    ptx = compiled(compile_ptx, on_items(device(nothing), 3, np.float32), "float32")
    assert ".v" not in "".join(line.split()[0] for line in body(ptx) if line.startswith(("ld.global", "st.global")))


def test_the_neighbours_take_one_shuffle_and_two_barriers(compile_ptx):
    import operator

    def run(x, out):
        items = wk.local_array(8, np.float32)
        wk.block_load_vectorized(items, x, 0)
        out[numba.cuda.grid(1)] = wk.block_discontinuity_heads(items, operator.ne)

    ptx = compiled(compile_ptx, run, "float32", "uint32")
    assert count(ptx, "shfl.sync") == 1
    assert barriers(ptx) == 2
    assert list(shared_bytes(ptx).values()) == [128]
    assert_lean(ptx)


@pytest.mark.parametrize(("function", "number"), [(wk.block_all, 1), (wk.block_any, 1), (wk.block_count, 1)])
def test_a_vote_is_one_barrier(compile_ptx, function, number):
    def run(x, out):
        out[numba.cuda.grid(1)] = function(x[numba.cuda.grid(1)])

    ptx = compiled(compile_ptx, run, "int32")
    assert barriers(ptx) == number
    assert shared_bytes(ptx) == {}
    assert_lean(ptx)


def test_a_broadcast_a_shuffle_a_histogram_and_a_tree(compile_ptx):
    i32, f64 = numba.int32[::1], numba.float64[::1]

    def broadcast(x, out):
        out[numba.cuda.grid(1)] = wk.block_broadcast(x[numba.cuda.grid(1)], 3)

    def shuffle(x, out):
        out[numba.cuda.grid(1)] = wk.block_shuffle_up(x[numba.cuda.grid(1)], 3, 1)

    def histogram(x, out):
        wk.block_histogram(out, x[numba.cuda.grid(1)])

    def tree(x, out):
        out[numba.cuda.grid(1)] = wk.block_tree_sum(x[numba.cuda.grid(1)])

    for kernel, types, number, shared in [
        (broadcast, (f64, f64), 2, [256]),
        (shuffle, (f64, f64), 2, [POOL]),
        (histogram, (i32, i32), 1, []),
        (tree, (f64, f64), 4, [POOL]),  # two in the loop over the steps, two to hand out
    ]:
        ptx = compile_ptx(kernel, *types)
        assert barriers(ptx) == number, kernel.__name__
        assert list(shared_bytes(ptx).values()) == shared
        assert_lean(ptx)
