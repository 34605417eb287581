"""Cycles of one collective: a dependent chain of 128 calls in one block, the cycle counter read around it.

The same chain as cuda/chain.cuh. The only file of the benchmarks that uses Numba's internals: two
statements Numba does not offer (read the cycle counter, keep a loop rolled) and float16 arithmetic in
one instruction (Numba's own is an external call).
"""

import statistics
import warnings
from dataclasses import dataclass

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic
from numba.cuda.typing import signature

# One block is what a chain needs; Numba would warn of it at every launch.
warnings.filterwarnings("ignore", message=".*Grid size")

ROUNDS = 128
FULL = 0xFFFFFFFF


def _asm(builder, result, text, constraints):
    call = builder.asm(ir.FunctionType(result, []), text, constraints, [], side_effect=True)
    call.attributes.add("convergent")
    return call


@intrinsic
def clock64(_context):
    """Read the cycle counter of this multiprocessor, in program order with everything around it."""

    def codegen(_context, builder, _signature, _args):
        return _asm(builder, ir.IntType(64), "mov.u64 $0, %clock64;", "=l,~{memory}")

    return signature(types.int64), codegen


@intrinsic
def keep_rolled(_context):
    """Say inside a loop what `#pragma unroll 1` says before one: neither NVVM nor ptxas unrolls it."""

    def codegen(context, builder, _signature, _args):
        call = _asm(builder, ir.VoidType(), r".pragma \22nounroll\22;", "")
        set.add(call.attributes, "noduplicate")  # llvmlite's own add() does not know this attribute
        return context.get_dummy_value()

    return signature(types.void), codegen


@intrinsic
def scale_half(_context, value, factor):
    """Multiply a float16 by a float32 that is rounded to float16 first, in one native instruction."""

    def codegen(_context, builder, _signature, args):
        half = ir.HalfType()
        product = builder.fmul(builder.bitcast(args[0], half), builder.fptrunc(args[1], half))
        return builder.bitcast(product, ir.IntType(16))

    return signature(types.float16, types.float16, types.float32), codegen


@intrinsic
def to_half(_context, value):
    """Round a float32 to float16."""

    def codegen(_context, builder, _signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return signature(types.float16, types.float32), codegen


@dataclass(frozen=True)
class Kind:
    """One dtype of a chain: `first(thread)` starts it, `step(factor, plus)` builds what follows each call."""

    name: str
    dtype: type
    tolerance: float

    @property
    def exact(self):
        """Whether the chain computes in integers."""
        return self.tolerance == 0

    def first(self):
        """Return the device function that gives thread `i` its first value."""
        number, scale = self.dtype, np.float32(0.001)
        if self.dtype is np.float16:
            return cuda.jit(device=True)(lambda i: to_half(np.float32(i + 1) * scale))
        if self.exact:
            return cuda.jit(device=True)(lambda i: number(i + 1))
        scale = number(0.001)
        return cuda.jit(device=True)(lambda i: number(i + 1) * scale)

    def step(self, factor, plus):
        """Return the device function of the step: `v * factor + plus`, or `(v & 255) + 1` for integers.

        For int64 the upper word is mixed in first, else nothing would need it and its shuffles would be dropped.
        """
        number = self.dtype
        if number is np.float16:
            scale = np.float32(factor)
            return cuda.jit(device=True)(lambda v: scale_half(v, scale))
        if number is np.int64:
            return cuda.jit(device=True)(lambda v: ((v ^ (v >> 32)) & 0xFF) + 1)
        if self.exact:
            low, one = number(0xFF), number(1)
            return cuda.jit(device=True)(lambda v: number((v & low) + one))
        scale, more = number(factor), number(plus)
        if plus:
            return cuda.jit(device=True)(lambda v: v * scale + more)
        return cuda.jit(device=True)(lambda v: v * scale)

    def expected(self, call, threads, factor, plus, lanes, width):
        """Run the chain in NumPy: `call` maps (groups, participants) to the same; return thread by thread."""
        values = (np.arange(threads) + 1) * (1 if self.exact else 0.001)
        taking_part = np.isin(np.arange(threads) % 32, lanes)
        for _ in range(ROUNDS):
            result = values.copy()
            for start in range(0, threads, width):
                group = start + np.flatnonzero(taking_part[start : start + width])
                result[group] = call(values[group]) if group.size else values[group]
            mixed = result ^ (result >> 32) if self.dtype is np.int64 else result
            values = (mixed & 0xFF) + 1 if self.exact else result * factor + plus
        return values, taking_part


KINDS = {
    kind.name: kind
    for kind in (
        Kind("f16", np.float16, 0.1),
        Kind("f32", np.float32, 1e-3),
        Kind("f64", np.float64, 1e-9),
        Kind("i32", np.int32, 0),
        Kind("i64", np.int64, 0),
    )
}


def chain(call, kind, factor, plus):
    """Build the kernel: `rounds` times `v = step(call(v, mask))`, clocked, by the lanes named in `mask`.

    `call` is a device function; its value is made in the kernel, so that no load is in the clocked part.
    Every thread that takes part stores its cycles and its last value.
    """
    first, step = kind.first(), kind.step(factor, plus)

    @cuda.jit
    def kernel(out, ticks, rounds, mask):
        thread = cuda.threadIdx.x
        if (mask >> np.uint32(thread & 31)) & np.uint32(1):
            value = first(thread)
            begin = clock64()
            while rounds > 0:
                keep_rolled()
                value = step(call(value, mask))
                rounds = np.int32(rounds - 1)
            end = clock64()
            out[thread] = value
            ticks[thread] = end - begin

    return kernel


def run(kernel, kind, threads, argument, timekeeper=0, repeats=31):
    """Return (cycles per call, last value of every thread): the median over `repeats` launches of one block.

    `argument` is the kernel's last one; the clock of the thread `timekeeper` counts.
    """
    out = cuda.to_device(np.full(threads, 99, kind.dtype))
    ticks = cuda.to_device(np.zeros(threads, np.int64))
    taken = []
    for turn in range(-3, repeats):  # three to warm up
        kernel[1, threads](out, ticks, np.int32(ROUNDS), argument)
        cycles = int(ticks.copy_to_host()[timekeeper])
        if turn >= 0:
            taken.append(cycles)
    return statistics.median(taken) / ROUNDS, out.copy_to_host()
