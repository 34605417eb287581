"""Making a machine check a kernel: the simulator runs it, a compiler compiles it, for which no GPU is needed."""

import pytest
from numba import cuda

import warpkit as wk
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


def check_refusal(refused, *arrays):
    """Assert that a kernel is refused that calls a function with two or three arrays, the last one's first item.

    Args: refused: (the function, what the sentence says).
    """
    function, sentence = refused
    function = cuda.jit(device=True)(function)

    @cuda.jit
    def call_with_two(x, y):
        function(x, y[0])

    @cuda.jit
    def call_with_three(x, y, z):
        function(x, y, z[0])

    with pytest.raises(wk.Refused, match=sentence):
        launch_or_compile(call_with_two if len(arrays) == 2 else call_with_three, *arrays)
