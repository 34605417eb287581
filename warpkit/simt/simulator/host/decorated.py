"""Users' own `cuda.jit` kernels in the simulator."""

from typing import Any

from numba.cuda.simulator.kernel import FakeCUDAKernel

from ....errors import Refused
from ...specs import Options


def decorated(kernel: Any) -> tuple[Any, Options | None]:
    """Return the Python function of a kernel and its options. A plain function is a kernel without options."""
    if not isinstance(kernel, FakeCUDAKernel):
        return kernel, Options()
    if kernel._device:
        raise Refused(
            f"launch: {kernel.fn.__name__} is a device function; decorate a kernel with cuda.jit, without device=True."
        )
    return (kernel.fn, None) if kernel.extensions else (kernel.fn, Options(debug=bool(kernel._debug)))


def launch_by_numba(kernel: Any, grid: Any, block: Any, shared: int, stream: int, args: tuple[Any, ...]) -> None:
    """Launch a kernel through numba's own object: it honours extensions."""
    kernel[grid, block, stream, shared](*args)
