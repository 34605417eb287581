"""Transposing a matrix: tiles through shared memory, so that both reading and writing go along rows of memory."""

from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.program import Program
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec, c_strides, tuple_spec
from .calls import Job, check_shape, entered, launched, output_of, prepares
from .reduce_plan import COUNT, INVERSE
from .transpose_kernel import ACROSS, DOWN, WIDE, transpose_kernel
from .transpose_policy import LONGEST, TransposePolicy

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}  # what moves as items of such a size
NUMBERS = tuple_spec((COUNT, COUNT, COUNT, COUNT, COUNT, INVERSE))
DEFAULT = TransposePolicy()


class Side(NamedTuple):
    """How one of the two matrices is accessed. pitch: items from row to row, for WIDE."""

    way: str
    spec: ArraySpec
    payload: Any
    pitch: int


_kernels: dict[Any, machine.Kernel] = {}


def kernel_for(item: np.dtype[Any], source: Side, target: Side, policy: TransposePolicy) -> machine.Kernel:
    """Return the compiled kernel for such matrices."""
    key = item, source.way, source.spec, target.way, target.spec, policy, machine.context_key()
    found = _kernels.get(key)
    if found is None:
        function = transpose_kernel(item, source.way, target.way, policy)
        specs: tuple[Spec, ...] = (source.spec, target.spec, NUMBERS)
        program = Program(function, Options(launch_bounds=(policy.threads, 0)))
        found = remember(_kernels, key, program.compiled(specs)[0].kernel)
    return found


def word_of(*matrices: Argument) -> np.dtype[Any]:
    """Return the dtype that items move as: a word of their size where all of them are aligned to it."""
    dtype = matrices[0].dtype
    word = np.dtype(WORDS.get(dtype.itemsize, np.uint8))
    addresses = [matrix.pointer for matrix in matrices]
    strides = [step for matrix in matrices for step in matrix.strides or ()]
    fits = word.itemsize == dtype.itemsize and not any(number % word.alignment for number in (*addresses, *strides))
    return word if fits else dtype


def side_of(matrix: Argument, item: np.dtype[Any]) -> Side:
    """Return how a matrix is accessed."""
    rows, columns = matrix.shape
    strides = matrix.strides or c_strides(matrix.shape, item.itemsize)
    whole = not any(number % LONGEST for number in (matrix.pointer, strides[0], columns * item.itemsize))
    if strides[1] == item.itemsize and strides[0] >= columns * item.itemsize and whole and not item.names:
        pitch = strides[0] // item.itemsize
        payload = machine.array_payload(matrix.pointer, ((rows - 1) * pitch + columns,), None, item, matrix.owner)
        return Side(WIDE, array_spec(item, 1), payload, pitch)
    payload = machine.array_payload(matrix.pointer, matrix.shape, matrix.strides, item, matrix.owner)
    way = ACROSS if abs(strides[1]) <= abs(strides[0]) else DOWN
    return Side(way, array_spec(item, 2, matrix.strides is None), payload, 0)


def read_transpose(x: Any, *, out: Any = None, stream: Any = None, policy: TransposePolicy | None = None) -> Job:
    """Decide a call of `transpose`."""
    source = as_argument(x, "x")
    if not source.is_array or len(source.shape) != 2:
        raise Refused(f"transpose: x must be a device array of two axes, not of shape {source.shape}.")
    if source.dtype.itemsize > LONGEST:
        raise Refused(f"transpose: x has items of {source.dtype.itemsize} bytes ({source.dtype}), and 16 are the most.")
    if policy is None:
        policy = DEFAULT
    elif not isinstance(policy, TransposePolicy):
        raise Refused(f"transpose: policy must be a TransposePolicy, not a {type(policy).__name__}.")
    rows, columns = source.shape
    target = None if out is None else as_output(out, "out")
    if target is not None:
        check_shape("transpose", target, (columns, rows))
        if target.dtype != source.dtype:
            raise Refused(f"transpose: out must be of dtype {source.dtype}, as x is, not {target.dtype}.")
        if source.size and overlap(source, target):
            raise Refused("transpose: out shares memory with x, and no order of moves is right for that; pass another.")
    handle, visitors = entered(stream, source, target)
    result, target = output_of(out, (columns, rows), source.dtype, handle)
    if not source.size:
        return Job(None, (0, 0, 0), (0, 0, 0), 0, (), result, handle)
    item = word_of(source, target)
    sides = side_of(source, item), side_of(target, item)
    kernel, edge = kernel_for(item, *sides, policy), policy.edge_for(item.itemsize)
    across = -(-columns // edge)
    counts = (rows, columns, across, sides[0].pitch, sides[1].pitch)
    numbers = [*(machine.scalar_payload(COUNT, value) for value in counts), machine.scalar_payload(INVERSE, 1 / across)]
    payloads = sides[0].payload, sides[1].payload, machine.tuple_payload(numbers)
    grid = (across * -(-rows // edge), 1, 1)
    return Job(kernel, grid, (policy.threads, 1, 1), 0, payloads, result, handle, visitors, (source, target))


def overlap(a: Argument, b: Argument) -> bool:
    """Return whether the memory between the first and the last byte of two arrays is shared."""
    (first, end), (other, other_end) = extent_of(a), extent_of(b)
    return first < other_end and other < end


def extent_of(array: Argument) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one behind its last."""
    strides = array.strides or c_strides(array.shape, array.dtype.itemsize)
    steps = [(extent - 1) * step for extent, step in zip(array.shape, strides)]
    first = array.pointer + sum(min(step, 0) for step in steps)
    return first, array.pointer + sum(max(step, 0) for step in steps) + array.dtype.itemsize


@prepares(read_transpose, "x", "out")
def transpose(x: Any, *, out: Any = None, stream: Any = None, policy: TransposePolicy | None = None) -> Any:
    """Return the transpose of a matrix in memory of its own: result[j, i] is x[i, j].

    Args: x: a device array of two axes, of any dtype with items of at most 16 bytes (records too), of any strides.
    out: a device array of the transposed shape and the dtype of `x`, strided or not, that shares no memory with it; it
    is returned, nothing waits and nothing is allocated.  stream: any stream object or handle; None: the current one of
    the arrays' framework, else the legacy default stream.  policy: a `TransposePolicy` instead of the measured one.
    Returns: `out`, or a new device array in C order.
    Cost: every item is read once and written once, 16 bytes at a time where rows begin at multiples of 16 bytes.
    Errors: Refused (a TypeError) or ValueError in one sentence.
    """
    return launched(read_transpose(x, out=out, stream=stream, policy=policy))
