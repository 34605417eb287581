"""A call that the source has once is compiled once, whatever Python makes of it (copies.py)."""

import sys
import types

import numba
import pytest
from numba import cuda
from numba.cuda.core import bytecode

import warpkit as wk
from tests.ptx import count
from warpkit.simt.numba_cuda import copies

from . import test_copies

I64 = numba.int64
VALUES = I64[::1], I64, I64[::1]


@cuda.jit
def plain(x, n, out):
    """Store the block's sum of values that are there before the call."""
    i = cuda.threadIdx.x
    value = 0
    if i < n:
        value = x[i]
    total = wk.block_sum(value)
    out[i] = total
    return None


@pytest.mark.parametrize("kernel", test_copies.KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_one_call_is_compiled_once(compile_ptx, kernel):
    ptx, wanted = compile_ptx(kernel, *VALUES), compile_ptx(plain, *VALUES)
    for name in ("bar.sync", "shfl", "redux"):
        assert count(ptx, name) == count(wanted, name)


@cuda.jit
def both(x, n, out):
    """Store one of two sums, which two calls on one line make."""
    i = cuda.threadIdx.x
    out[i] = wk.warp_active_sum(x[i]) if n > 3 else wk.warp_active_sum(-x[i])


def test_two_calls_on_one_line_remain_two(compile_ptx):
    assert count(compile_ptx(both, *VALUES), "shfl") == 2 * count(compile_ptx(one, *VALUES), "shfl")


@cuda.jit
def one(x, n, out):
    """Store a sum."""
    i = cuda.threadIdx.x
    total = wk.warp_active_sum(x[i])
    out[i] = total
    return None


def test_numbas_own_operations_too(compile_ptx):
    def last(x, n, out):
        i = cuda.threadIdx.x
        out[i] = cuda.syncthreads_count(x[i] if i < n else 0)

    assert count(compile_ptx(last, I64[::1], I64, I64[::1]), "bar") == 1


@cuda.jit(device=True)
def chosen(x, n):
    """Return one of two counts, which two calls on one line make: a short end, and no copy of the other."""
    return cuda.popc(x) if n > 3 else cuda.clz(x)


def test_two_short_ends_on_one_line_remain_two(compile_ptx):
    def run(x, n, out):
        i = cuda.threadIdx.x
        out[i] = chosen(x[i], n)

    ptx = compile_ptx(run, *VALUES)
    assert count(ptx, "popc") == count(ptx, "clz") == 1


def test_an_end_by_raise(compile_ptx):
    def last(x, n, out):
        i = cuda.threadIdx.x
        cuda.syncthreads_count(x[i] if i < n else 0)
        raise ValueError

    assert count(compile_ptx(last, *VALUES), "bar") == 1


def rounds(x, n, out):
    """Count rounds; odd threads go on early."""
    k, i = 0, cuda.threadIdx.x
    while cuda.syncthreads_count(x[i] - k):
        k += 1
        if i & 1:
            out[i] += k
            continue
        out[i] -= k * n


def rounds_of_two_tests(x, n, out):
    """Do the same with a test of several parts."""
    k, i = 0, cuda.threadIdx.x
    while n > 3 and cuda.syncthreads_count(x[i] - k) and k < 100:
        k += 1
        if i & 1:
            if out[i] > 4:
                continue
            out[i] += k
            continue
        out[i] -= k * n


def straight(x, n, out):
    """Do what `rounds` does without going on early."""
    k, i = 0, cuda.threadIdx.x
    while cuda.syncthreads_count(x[i] - k):
        k += 1
        if i & 1:
            out[i] += k
        else:
            out[i] -= k * n


def reached(function):
    """Return from how many places in bytecode a jump back leads to a test that there is again behind it."""
    code = bytecode.ByteCode(bytecode.FunctionIdentity.from_function(function))
    copies.join_copies(code)
    positions = list(function.__code__.co_positions())
    where = {inst.offset: positions[max(inst.offset - 2, 0) // 2] for inst in code}
    found = 0
    for inst in code:
        if "JUMP_BACKWARD" in inst.opname and (target := inst.get_jump_target()) in where:
            again = [at for at in where if at > inst.offset and where[at] == where[target]]
            found += any(code[at].opcode == code[target].opcode for at in again)
    return found


@pytest.mark.parametrize("function", [rounds, rounds_of_two_tests, straight], ids=lambda function: function.__name__)
def test_continue_goes_to_the_test_that_the_others_come_to(compile_ptx, function):
    assert reached(function) == 0
    assert count(compile_ptx(function, *VALUES), "bar") in (1, 2)  # the test before the loop, and the one in it


def joined(function, columns):
    """Return whether anything is joined in a function of which Python has kept columns, or has not."""
    known = bytecode.FunctionIdentity.from_function(function)
    code = bytecode.ByteCode(known)
    places = [place if columns else (*place[:2], None, None) for place in known.code.co_positions()]
    seen = types.SimpleNamespace(
        table=dict(code.table), labels=code.labels, find_exception_entry=code.find_exception_entry,
        func_id=types.SimpleNamespace(code=types.SimpleNamespace(co_positions=lambda: places)),
    )  # fmt: skip
    copies.join_copies(seen)
    return seen.table != dict(code.table)


def test_without_columns_nothing_is_joined():
    assert joined(rounds, columns=True)
    assert not joined(rounds, columns=False)
    assert not joined(test_copies.chosen.py_func, columns=False)
    if sys.version_info >= (3, 12):
        assert joined(test_copies.chosen.py_func, columns=True)
