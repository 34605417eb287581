"""Users' own `cuda.jit` kernels: what they are, and the few that only numba's dispatcher can launch."""

from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from ....errors import Refused
from ...specs import Options

# Options of `cuda.jit` with the values under which a kernel is compiled as any other; the rest is handed over below.
ORDINARY: dict[str, tuple[Any, ...]] = {
    "debug": (False, None),
    "opt": (True, None),
    "link": ((), [], None),
    "extensions": ((), [], None),
    "inline": ("never",),
    "forceinline": (False,),
    "shared_memory_carveout": (None,),
    "device": (False,),
    "cache": (False, True),
}
HANDED_OVER = ("launch_bounds", "max_registers", "fastmath", "lineinfo")


def decorated(kernel: Any) -> tuple[Any, Options | None]:
    """Return the Python function of a kernel and its options; None for options that only numba's dispatcher honours.

    A plain function is a kernel without options.
    """
    if not isinstance(kernel, CUDADispatcher):
        return kernel, Options()
    given = kernel.targetoptions
    name = kernel.py_func.__name__
    if given.get("device"):
        raise Refused(f"launch: {name} is a device function; decorate a kernel with cuda.jit, without device=True.")
    if any(given.get(option, values[0]) not in values for option, values in ORDINARY.items()):
        return kernel.py_func, None
    bounds = given.get("launch_bounds")
    if bounds is not None:
        bounds = (bounds, 1) if isinstance(bounds, int) else (*bounds, 1)[: max(len(bounds), 2)]
        if len(bounds) > 2:
            return kernel.py_func, None
    return kernel.py_func, Options(
        launch_bounds=bounds,
        max_registers=given.get("max_registers"),
        fastmath=bool(given.get("fastmath")),
        lineinfo=bool(given.get("lineinfo")),
    )


def launch_by_numba(kernel: Any, grid: Any, block: Any, shared: int, stream: int, args: tuple[Any, ...]) -> None:
    """Launch a kernel through numba's own dispatcher: it also reads back what a kernel with debug=True raised."""
    kernel[grid, block, cuda.external_stream(stream), shared](*args)
