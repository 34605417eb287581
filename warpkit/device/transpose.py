"""Transposing a matrix: tiles through shared memory, so that both reading and writing go along rows of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..block.shape import int32
from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.program import Program
from ..simt import machine
from ..simt.lanes import block_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import load_vector, local_array, shared_array, store_vector
from ..simt.specs import ArraySpec, Options, Spec, array_spec, c_strides, tuple_spec
from ..simt.sync import barrier
from ..simt.types import as_index, hold
from .calls import Job, check_shape, entered, launched, output_of, prepares
from .reduce_plan import COUNT, INVERSE
from .reduce_reading import divide

WIDE, ACROSS, DOWN = "16 bytes along a row", "along a row", "along a column"  # what neighbouring threads access
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}  # what moves as items of such a size
LONGEST = 16
NUMBERS = tuple_spec((COUNT, COUNT, COUNT, COUNT, COUNT, INVERSE))


@dataclass(frozen=True)
class TransposePolicy:
    """The tuning of a transposition. threads: of a block; 128, 256, 512.  edge: of a tile; 0: by the items' size."""

    threads: int = 256
    edge: int = 0

    def __post_init__(self) -> None:
        if self.threads not in (128, 256, 512):
            raise Refused(f"TransposePolicy: threads must be 128, 256 or 512, not {self.threads!r}.")
        if self.edge not in (0, 32, 64, 128):
            raise Refused(f"TransposePolicy: edge must be 0, 32, 64 or 128, not {self.edge!r}.")

    def edge_for(self, itemsize: int) -> int:
        """Return the edge of a tile: at most 48 KB in all, and 16 bytes for every thread."""
        edge = self.edge or (128 if itemsize == 1 else 64 if itemsize <= 4 else 32)
        if edge * (edge + 4) * itemsize > 48 << 10:
            return 32
        while edge * edge * itemsize < self.threads * LONGEST:
            edge *= 2
        return edge


DEFAULT = TransposePolicy()


class Side(NamedTuple):
    """How one of the two matrices is accessed. pitch: items from row to row, for WIDE."""

    way: str
    spec: ArraySpec
    payload: Any
    pitch: int


@device_function()
def load_wide(tile, items, x, rows, columns, pitch, row, column, edge, step, threads, length, shift):
    """Bring the tile at (row, column) to shared memory, 16 bytes at once; `shift`: exponent of such reads of a row."""
    for k in range(items.size // length):
        number = thread_x() + k * threads
        r, c = row + (number >> shift), column + (number & ((1 << shift) - 1)) * length
        if r < rows and c < columns:
            load_vector(items, k * length, x, r * pitch + c, 16)
    for k in range(items.size // length):
        number = thread_x() + k * threads
        at = int32((number >> shift) * step + (number & ((1 << shift) - 1)) * length)
        for j in range(length):
            tile[as_index(at + j)] = items[k * length + j]


@device_function()
def store_wide(tile, items, out, rows, columns, pitch, row, column, edge, step, threads, length, shift):
    """Write the tile of `out` at (row, column), whose rows are columns in shared memory, 16 bytes at once."""
    for k in range(items.size // length):
        number = thread_x() + k * threads
        r, c = number >> shift, (number & ((1 << shift) - 1)) * length
        for j in range(length):
            items[k * length + j] = tile[as_index((c + j) * step + r)]
        if row + r < rows and column + c < columns:
            store_vector(items, k * length, out, (row + r) * pitch + column + c, 16)


def loading_each(across: bool) -> Callable[..., Any]:
    """Return the function that brings a tile item by item, neighbouring threads along a row or along a column."""

    def load_each(tile, items, x, rows, columns, pitch, row, column, edge, step, threads, length, shift):
        for k in range(edge * edge // threads):
            number = thread_x() + k * threads
            high, low = number >> shift, number & (edge - 1)
            r, c = (high, low) if across else (low, high)
            if row + r < rows and column + c < columns:
                tile[as_index(r * step + c)] = hold(x[as_index(row + r), as_index(column + c)])

    return load_each


def storing_each(across: bool) -> Callable[..., Any]:
    """Return the function that writes a tile item by item."""

    def store_each(tile, items, out, rows, columns, pitch, row, column, edge, step, threads, length, shift):
        for k in range(edge * edge // threads):
            number = thread_x() + k * threads
            high, low = number >> shift, number & (edge - 1)
            r, c = (high, low) if across else (low, high)
            if row + r < rows and column + c < columns:
                out[as_index(row + r), as_index(column + c)] = hold(tile[as_index(c * step + r)])

    return store_each


LOADS: dict[str, Callable[..., Any]] = {WIDE: load_wide, ACROSS: loading_each(True), DOWN: loading_each(False)}
STORES: dict[str, Callable[..., Any]] = {WIDE: store_wide, ACROSS: storing_each(True), DOWN: storing_each(False)}


def transpose_kernel(item: np.dtype[Any], load_way: str, store_way: str, policy: TransposePolicy) -> Callable[..., Any]:
    """Return the kernel that moves items of dtype `item`.

    Called by: a flat grid of one block of `policy.threads` threads for each tile of `x`.
    Args: x: the matrix, as one axis where the way is WIDE.  out: likewise.  numbers: (rows, columns, tiles of a row,
    items from row to row of `x`, of `out`; 1 / tiles of a row).
    """
    size, threads, edge = item.itemsize, policy.threads, policy.edge_for(item.itemsize)
    step = edge + max(4 // size, 1)  # rows begin in different banks
    length = max(LONGEST // size, 1)
    each, vectors = edge.bit_length() - 1, (edge // length).bit_length() - 1
    load_shift, store_shift = (vectors if way == WIDE else each for way in (load_way, store_way))
    load, store = LOADS[load_way], STORES[store_way]
    held = edge * edge // threads if WIDE in (load_way, store_way) else 1
    register = item.type if not item.names else np.uint8
    room = edge * step

    def transpose_tiles(x, out, numbers):
        tile, items = shared_array(room, item), local_array(held, register)
        rows, columns, across = numbers[0], numbers[1], numbers[2]
        tile_row = divide(block_x(), across, numbers[5])
        row, column = tile_row * edge, (block_x() - tile_row * across) * edge
        load(tile, items, x, rows, columns, numbers[3], row, column, edge, step, threads, length, load_shift)
        barrier()
        store(tile, items, out, columns, rows, numbers[4], column, row, edge, step, threads, length, store_shift)

    return transpose_tiles


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
