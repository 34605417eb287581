"""Making a machine check a kernel: the simulator runs it, a compiler compiles it, for which no GPU is needed."""

from tests.warp.matrix import SIMULATOR


def launch_or_compile(kernel, *arrays):
    """Launch in the simulator; compile elsewhere, which needs no GPU."""
    if SIMULATOR:
        kernel[1, 32](*arrays)
    else:
        from numba import typeof

        from tests import ptx

        with ptx.without_gpu():
            ptx.compile_ptx(kernel, *(typeof(array) for array in arrays))
