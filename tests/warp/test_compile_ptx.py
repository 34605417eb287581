"""Every kernel of the behaviour tests compiles with no GPU, optimised and for debugging, in few modules (N06–N14)."""

import importlib
import pathlib
import re
from unittest import mock

import numba
import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import assert_register_only, count

from . import kernels, operators
from .kinds import COMPOUND, FLAT, INT_PAIR, MATRIX
from .literal import NUMBA
from .matrix import label

HERE = pathlib.Path(__file__).parent
for module in sorted(HERE.glob("test_*.py")):
    if not module.name.endswith("_ptx.py"):
        importlib.import_module(f"tests.warp.{module.stem}")
REGISTERED = {function.__name__: (function, types) for function, types in kernels.REGISTERED}

i32, u32, i64, f32, f64, b1 = (NUMBA[n] for n in ("int32", "uint32", "int64", "float32", "float64", "boolean"))
MASKS = u32[::1]
# Every function of the warp floor: how a kernel calls it and the types of what it takes and gives.
VALUE = ["sum", "product", "min", "max"]
ONE = {f"warp_active_{n}": [(i32, i32), (f32, f32), (f64, f64)] for n in VALUE}
ONE |= {f"warp_prefix_{n}": [(i32, i32), (f32, f32)] for n in VALUE}
ONE |= {f"warp_inclusive_{n}": [(i32, i32), (f32, f32)] for n in VALUE}
ONE |= {f"warp_active_bit_{n}": [(i32, i32), (u32, u32)] for n in ("and", "or", "xor")}
ONE |= {f"warp_active_{n}": [(b1, b1), (i32, b1)] for n in ("all", "any")}
ONE |= {
    "warp_active_count_bits": [(b1, i32)],
    "warp_active_bit_mask": [(b1, u32)],
    "warp_prefix_count_bits": [(b1, i32)],
}
ONE |= {"warp_active_all_equal": [(i32, b1), (f32, b1)], "warp_match_any": [(i32, u32), (f64, u32)]}
ONE |= {"warp_match_all": [(i32, b1), (f64, b1)], "warp_sort": [(i32, i32), (f32, f32)]}
ONE |= {"warp_read_first_active_lane": [(i32, i32), (f64, f64)]}
TWO = {f"warp_{n}": [(f32, i32, f32)] for n in ("read_lane", "shuffle_up", "shuffle_down", "shuffle_xor", "rotate")}
TWO |= {"warp_segmented_sum": [(i32, b1, i32)], "warp_multi_prefix_sum": [(i32, i32, i32)]}
FILLED = {f"warp_{n}": [(f32, i32, f32, f32)] for n in ("shuffle_up", "shuffle_down", "shuffle_xor")}
OP = {"warp_reduce": [(i32, i32)], "warp_inclusive_scan": [(i32, i32)]}
TWO_OP = {"warp_segmented_reduce": [(i32, b1, i32)], "warp_tail_segmented_reduce": [(i32, b1, i32)]}
TWO_OP |= {"warp_multi_reduce": [(i32, i32, i32)]}
SCAN = {"warp_exclusive_scan": [(i32, i32, i32)]}
BY_KERNEL = {  # called in kernels of their own in the behaviour tests
    "warp_lane_count", "warp_lane_id", "warp_id", "warp_active_mask", "warp_first_active_lane",
    "warp_is_first_active_lane", "warp_elect", "warp_reduce_valid", "warp_sort_pairs",
    *(f"warp_lane_mask_{n}" for n in ("lt", "le", "eq", "ge", "gt")),
}  # fmt: skip


def made():
    """Return {name: (make kernel, types)} for every function, form and type of the tables."""
    last, out = operators.last_nonzero, {}
    tables = [
        (ONE, lambda f, w, n: kernels.one(f, w, n)),
        (TWO, lambda f, w, n: kernels.two(f, w, n)),
        (FILLED, lambda f, w, n: kernels.filled(f, w, n)),
        (OP, lambda f, w, n: kernels.with_op(f, last, w, n)),
        (TWO_OP, lambda f, w, n: kernels.two_with_op(f, last, w, n)),
        (SCAN, lambda f, w, n: kernels.scan_from(f, last, False, w, n)),
    ]
    for table, make in tables:
        for name, signatures in table.items():
            for width, named in [(32, False), (8, True)]:
                for types in signatures:
                    key = f"{make.__code__.co_names[-1]} {name} {types[0]} {width}"
                    out[key] = (make, name, width, named, (MASKS, *(t[::1] for t in types)))
    return out


MADE = made()


def kernel_of(key):
    """Return the kernel and argument types of a row of MADE."""
    make, name, width, named, types = MADE[key]
    return make(getattr(wk, name), width, named), types


def test_every_function_of_the_floor_is_in_a_table():
    tables = set().union(ONE, TWO, FILLED, OP, TWO_OP, SCAN, BY_KERNEL)
    assert {n for n in dir(wk) if n.startswith("warp_")} == tables


@pytest.mark.parametrize("name", REGISTERED)
def test_n06_kernels_of_the_behaviour_tests_compile(compile_ptx, name):
    function, types = REGISTERED[name]
    assert ".entry" in compile_ptx(function, *types)


@pytest.mark.parametrize("key", MADE)
def test_n06_every_function_compiles(compile_ptx, key):
    run, types = kernel_of(key)
    ptx = compile_ptx(run, *types)
    assert_register_only(ptx)
    assert f64 in {t.dtype for t in types} or ".f64" not in ptx


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_n06_kernels_of_compound_values_compile(compile_ptx, kind):
    columns = [NUMBA[dtype.__name__][::1] for dtype in kind.dtypes]
    columns += [i32[::1]] * (4 - len(columns))
    functions = [wk.warp_active_sum, wk.warp_prefix_max] if kind in FLAT else [wk.warp_read_first_active_lane]
    for function in functions:
        ptx = compile_ptx(kernels.columns(function, kind.build, kind.store), MASKS, *columns, *columns)
        assert_register_only(ptx)


@pytest.mark.parametrize(("kind", "op"), [(INT_PAIR, operators.affine), (MATRIX, operators.matmul2)], ids=label)
def test_n06_kernels_of_tuple_operators_compile(compile_ptx, kind, op):
    for function in (wk.warp_reduce, wk.warp_inclusive_scan):
        ptx = compile_ptx(
            kernels.columns_with_op(function, op, kind.build, kind.store, 8, False), MASKS, *[i32[::1]] * 8
        )
        assert_register_only(ptx)


@pytest.mark.parametrize("key", [key for key in MADE if key.endswith(" 32")])
def test_n07_every_function_compiles_without_optimisation(compile_ptx, key):
    run, types = kernel_of(key)
    assert ".entry" in compile_ptx(run, *types, opt=False)


@pytest.mark.parametrize("name", ["who", "under_a_named_mask", "matrices", "shuffle_down_reduce", "both_sides"])
def test_n08_kernels_compile_for_debugging(compile_ptx, name):
    function, types = REGISTERED[name]
    assert ".entry" in compile_ptx(function, *types, debug=True, opt=False)


@pytest.mark.parametrize("name", [*ONE, *TWO, *OP])
def test_n08_every_function_compiles_for_debugging(compile_ptx, name):
    run, types = kernel_of(next(key for key in MADE if f" {name} " in key))
    assert ".entry" in compile_ptx(run, *types, debug=True, opt=False)


def test_n09_a_ballot_stays_in_its_loop(compile_ptx):
    function, types = REGISTERED["in_a_loop_with_break"]
    ptx = compile_ptx(function, *types)
    loop = re.search(r"(?ms)^(\$L\w+):.*?bra\S*\s+\1;", ptx)  # from a label to the jump back to it
    assert "vote.sync.ballot" in loop[0]
    assert count(ptx, "vote.sync.ballot") == loop[0].count("vote.sync.ballot")


def wide(x, y, out):
    """Run six collectives of two types."""
    i = cuda.grid(1)
    a = wk.warp_active_sum(x[i]) + wk.warp_prefix_sum(x[i]) + wk.warp_inclusive_max(x[i])
    out[i] = wk.warp_active_sum(y[i]) + wk.warp_prefix_sum(y[i]) + wk.warp_inclusive_max(y[i]) + a


def test_n14_a_function_is_compiled_once_however_many_paths_lead_to_it(compile_ptx):
    from numba.cuda.cudadrv import nvvm

    seen, compile_ir = [], nvvm.compile_ir

    def spy(ir, **options):
        seen.extend([ir] if isinstance(ir, str) else map(str, ir))
        return compile_ir(ir, **options)

    with mock.patch.object(nvvm, "compile_ir", spy):
        compile_ptx(wide, numba.int32[::1], numba.float32[::1], numba.float32[::1])
    assert len(seen) == len(set(seen))
    assert len(seen) <= 150


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["warp_active_sum", "warp_prefix_sum", "warp_inclusive_max"])
def test_n08_a_debug_build_gives_the_same(name):
    import numpy as np

    from .matrix import some_masks

    masks, results = some_masks(64), []
    for options in ({}, {"debug": True, "opt": False}):
        run = cuda.jit(**options)(kernels.one(getattr(wk, name)).py_func)
        x, out = np.arange(64 * 32, dtype=np.int32), np.full(64 * 32, -1, np.int32)
        kernels.launch(run, masks, x, out)
        results.append(out)
    assert (results[0] == results[1]).all()
