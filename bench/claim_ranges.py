"""The pairs of suite `claims` that a change to a `parallel_for` made: how ranges are counted, where its function lies.

The counts of a range with steps are divided out in every thread before, on the host after. A function that carries a
table, which is read by a run-time index, is copied into every thread's local memory before, read in place after.
"""

import functools

import numpy as np
from numba import cuda

from .claim_lists import Pair
from .mode import MODE
from .timing import fill, graph_time

BLOCK, CALLS, REPEATS = 256, 20, 7
ONE = np.uint64(1)
TABLES = (512, 2048)  # float32: 2 KB, 8 KB
STRIDE = 37


@cuda.jit(device=True)
def count(begin, end, step):
    """Return the length of a range."""
    return (end - begin + step - ONE) // step


@cuda.jit(device=True)
def copy_plane(x, out, linear, counts, begins, steps):
    """Copy the item of a range of two dimensions that a linear index names."""
    row = linear // counts[1]
    i, j = begins[0] + row * steps[0], begins[1] + (linear - row * counts[1]) * steps[1]
    out[i, j] = x[i, j]


@cuda.jit(device=True)
def copy_cube(x, out, linear, counts, begins, steps):
    """Copy the item of a range of three dimensions that a linear index names."""
    rows = linear // counts[2]
    plane = rows // counts[1]
    k, j = linear - rows * counts[2], rows - plane * counts[1]
    i, j, k = begins[0] + plane * steps[0], begins[1] + j * steps[1], begins[2] + k * steps[2]
    out[i, j, k] = x[i, j, k]


@cuda.jit
def plane_before(x, out, begins, ends, steps):
    """Two dimensions, counted by every thread."""
    counts = count(begins[0], ends[0], steps[0]), count(begins[1], ends[1], steps[1])
    linear = np.uint64(cuda.grid(1))
    if linear < counts[0] * counts[1]:
        copy_plane(x, out, linear, counts, begins, steps)


@cuda.jit
def plane_after(x, out, begins, counts, steps):
    """Two dimensions, counted before."""
    linear = np.uint64(cuda.grid(1))
    if linear < counts[0] * counts[1]:
        copy_plane(x, out, linear, counts, begins, steps)


@cuda.jit
def cube_before(x, out, begins, ends, steps):
    """Three dimensions, counted by every thread."""
    counts = (
        count(begins[0], ends[0], steps[0]),
        count(begins[1], ends[1], steps[1]),
        count(begins[2], ends[2], steps[2]),
    )
    linear = np.uint64(cuda.grid(1))
    if linear < counts[0] * counts[1] * counts[2]:
        copy_cube(x, out, linear, counts, begins, steps)


@cuda.jit
def cube_after(x, out, begins, counts, steps):
    """Three dimensions, counted before."""
    linear = np.uint64(cuda.grid(1))
    if linear < counts[0] * counts[1] * counts[2]:
        copy_cube(x, out, linear, counts, begins, steps)


SIDES = {2: (plane_before, plane_after), 3: (cube_before, cube_after)}


def unsigned(numbers):
    """Return numbers as a kernel takes them that counts in 64 bits."""
    return tuple(map(np.uint64, numbers))


def time_ranges(shape):
    """Return the times of a copy over a range before and after; ValueError when something else is copied."""
    items, times = int(np.prod(shape)), []
    x = np.arange(items, dtype=np.float32).reshape(shape)
    source, out = cuda.to_device(x), cuda.device_array(shape, np.float32)
    whole = unsigned([0] * len(shape)), unsigned(shape), unsigned([1] * len(shape))
    for kernel in SIDES[len(shape)]:
        fill(out, 0xFF)
        work = functools.partial(launch, kernel, -(-items // BLOCK), source, out, *whole)
        times.append(graph_time(work, REPEATS, CALLS))
        if not np.array_equal(out.copy_to_host(), x):
            raise ValueError(f"{kernel.py_func.__name__}: not the copy that it should be")
    return times


def launch(kernel, grid, *args):
    """Launch a kernel; the last argument is the stream."""
    *args, stream = args
    kernel[grid, BLOCK, stream](*args)


@functools.cache
def lookups(size):
    """Return two kernels that read a table of `size` float32: from a copy that every thread makes, and in place."""

    @cuda.jit
    def before(table, out):
        mine = cuda.local.array(size, np.float32)
        for k in range(size):
            mine[k] = table[k]
        i = cuda.grid(1)
        if i < out.size:
            out[i] = mine[i * STRIDE & (size - 1)]

    @cuda.jit
    def after(table, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = table[i * STRIDE & (size - 1)]

    return before, after


def time_tables(size, items):
    """Return the times of a loop that reads a table before and after; ValueError when it reads something else."""
    expected, times = (np.arange(items) * STRIDE & (size - 1)).astype(np.float32), []
    table, out = cuda.to_device(np.arange(size, dtype=np.float32)), cuda.device_array(items, np.float32)
    for kernel in lookups(size):
        fill(out, 0xFF)
        work = functools.partial(launch, kernel, -(-items // BLOCK), table, out)
        times.append(graph_time(work, REPEATS, CALLS))
        if not np.array_equal(out.copy_to_host(), expected):
            raise ValueError("a table is read wrongly")
    return times


def shown(items):
    """Return a number of items as text."""
    return f"{items >> 20} M" if items >= 1 << 20 else f"{items >> 10} K"


def pairs():
    """Return the pairs."""
    ranges = (
        ((1024, 2048), "Two divisions of 64 bits an item are saved; the one that finds its place stays."),
        ((128, 128, 128), "Three divisions of 64 bits an item are saved; the two that find its place stay."),
        ((512, 256, 512), "As above; here the memory is the limit, behind which the divisions partly hide."),
    )
    found = [
        Pair(
            f"xpu: range counts, {len(shape)}-D, {shown(int(np.prod(shape)))} items: in every thread → on the host",
            functools.partial(time_ranges, tuple(MODE.fewer(edge, edge, 8) for edge in shape)),
            why,
        )
        for shape, why in ranges
    ]
    why = "The copy is written to local memory, item by item, for the one number that is read from it."
    found += [
        Pair(
            f"xpu: a table of {4 * size >> 10} KB, {shown(items)} items: copied by every thread → read in place",
            functools.partial(time_tables, size, MODE.fewer(items, items, BLOCK // 8)),
            why,
        )
        for size in TABLES
        for items in (1 << 12, 1 << 21)
    ]
    return tuple(found)
