"""What is launched where launching is measured: the least work with five arrays."""

from numba import cuda

ITEMS, GRID, BLOCK, ARRAYS = 1024, 8, 128, 5


@cuda.jit
def add_up(a, b, c, d, e):
    """The least work with five arrays."""
    i = cuda.grid(1)
    if i < a.size:
        a[i] = b[i] + c[i] + d[i] + e[i]
