"""The kernels of every claim compile for a GPU, and do what their side of the claim says."""

import numba
import numpy as np
import pytest

from bench import claim_lists, claim_ranges, claims
from tests.ptx import count

X = claims.values(4096)


def ptx_of(compile_ptx, claim, kernel):
    x = claims.shaped(claim, X)
    expected = np.ascontiguousarray(claim.expected(x))
    return compile_ptx(kernel, numba.typeof(x.copy()), numba.typeof(expected))


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.name)
def test_both_sides_compile_and_store(claim, compile_ptx):
    for kernel in (claim.before, claim.after):
        assert count(ptx_of(compile_ptx, claim, kernel), "st.global") > 0


def named(part):
    return next(claim for claim in claims.CLAIMS if part in claim.name)


@pytest.mark.parametrize(
    ("part", "instruction", "before", "after"),
    [
        ("3.3: butterfly over a warp", "shfl.sync", 5, 0),
        ("3.3: butterfly over a warp", "redux.sync", 0, 1),
        ("3.3: butterfly over 8 lanes", "shfl.sync", 3, 3),
        ("3.4", "shfl.sync", 31, 6),
        ("+1 a thread → block_count", "bar.red.popc", 0, 1),
        ("+1 a thread → block_count", "atom.shared", 1, 0),
        ("16-byte", "ld.global.v4", 0, 1),
    ],
)
def test_the_instructions_that_a_reason_names(part, instruction, before, after, compile_ptx):
    claim = named(part)
    for kernel, each in ((claim.before, before), (claim.after, after)):
        found = count(ptx_of(compile_ptx, claim, kernel), instruction)

        assert found == each * (found // each if each else 0)  # the compiler unrolls rounds
        assert bool(found) == bool(each)


@pytest.mark.parametrize("kernel", [claims.kernels.queue_before, *(queue[1] for queue in claims.QUEUES)])
def test_queues_compile_with_one_global_atomic(kernel, compile_ptx):
    ptx = compile_ptx(kernel, *(numba.typeof(array) for array in (X, X, np.zeros(1, np.int32))))

    assert count(ptx, "atom.global") == 1


def test_work_on_compiles(compile_ptx):
    assert count(compile_ptx(claims.copies.work_on, numba.typeof(X), numba.typeof(X)), "st.global") == 1


@pytest.mark.parametrize(("dimensions", "before", "after"), [(2, 3, 1), (3, 5, 2)])
def test_divisions_of_a_range(dimensions, before, after, compile_ptx):
    items = numba.types.Array(numba.float32, dimensions, "C")
    three = [numba.types.UniTuple(numba.uint64, dimensions)] * 3
    found = [count(compile_ptx(kernel, items, items, *three), "div.u64") for kernel in claim_ranges.SIDES[dimensions]]

    assert found == [before, after]


@pytest.mark.parametrize("size", claim_ranges.TABLES)
def test_a_table_is_copied_to_local_memory_or_read_in_place(size, compile_ptx):
    items = numba.float32[::1]
    before, after = (compile_ptx(kernel, items, items) for kernel in claim_ranges.lookups(size))

    assert count(before, "st.local") > 0
    assert ".local" not in after


def test_the_least_work_compiles(compile_ptx):
    assert count(compile_ptx(claim_lists.add_one, numba.int32[::1]), "st.global") == 1
