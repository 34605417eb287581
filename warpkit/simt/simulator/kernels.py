"""`kernel[grid, block](…)`: numba's simulated kernel object, launching fibers."""

import functools
import math
import os
import threading

import numpy as np
from greenlet import getcurrent
from numba.cuda.errors import normalize_kernel_dimensions
from numba.cuda.simulator import kernel as numba_kernel
from numba.cuda.simulator.args import ArgHint, InOut
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeWithinKernelCUDAArray

from . import exploring, stream_order, traces
from .arrays import KernelArray
from .capturing import as_it_runs
from .elements import element_of
from .held import address_of
from .launches import Launch
from .numba_api.streams import handle_of
from .records import Record
from .scalars import promoted
from .shadow import Buffer
from .threads import Thread
from .traces import Traced

THREADS_PER_BLOCK = 1024
_one_at_a_time = threading.RLock()
FakeCUDAKernel = numba_kernel.FakeCUDAKernel


def _call(self, *args, **kwargs):
    """Launch a configured kernel; call a device function, or a kernel used as one, as plain Python."""
    if self._device or (self.grid_dim is None and type(getcurrent()) is Thread):
        return self.fn(*args, **kwargs)
    if kwargs:
        raise TypeError(f"{self.fn.__name__}: a launch takes its arguments by position, as on a GPU")
    grid, block = normalize_kernel_dimensions(self.grid_dim, self.block_dim)
    grid, block = (tuple(int(size) for size in (*dims, 1, 1)[:3]) for dims in (grid, block))
    if block[0] * block[1] * block[2] > THREADS_PER_BLOCK:
        raise ValueError(f"a block has at most {THREADS_PER_BLOCK} threads, not {block[0] * block[1] * block[2]}")
    with _one_at_a_time:  # like launches on one stream
        mode = exploring.current()
        seed = _seed() if mode is None else mode
        launch = Launch(self.fn, grid, block, self.dynshared_size, self._debug, seed, mode is not None)
        launch.traced = stream_order.watching()
        if getattr(self, "warpkit_launches", False):
            launch.function = as_it_runs(self.fn, functools.partial(_global, launch))
        back = []
        launch.run([_argument(launch, arg, self.extensions, back) for arg in args])
        for write in back:
            write()
        if launch.traced:
            traces.finish(launch, self.__dict__.get("warpkit_stream", 0))


def _seed():
    text = os.environ.get("WARPKIT_SIM_SEED") or "0"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"WARPKIT_SIM_SEED must be an integer, not {text!r}") from None


def _argument(launch, arg, extensions, back):
    """Return an argument as the kernel sees it; host arrays are copied in, and back after the launch."""
    _, arg = functools.reduce(lambda state, ext: ext.prepare_args(*state, stream=0, retr=back), extensions, (None, arg))
    if isinstance(arg, tuple):
        items = [_argument(launch, item, (), back) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    if isinstance(arg, np.ndarray) and arg.ndim > 0:
        arg = InOut(arg).to_device(back)
    elif isinstance(arg, ArgHint):
        arg = arg.to_device(back)
    elif isinstance(arg, FakeWithinKernelCUDAArray):
        arg = arg._item
    if isinstance(arg, FakeCUDAArray):
        arg = arg._ary
    if isinstance(arg, np.void):
        return Record(_global(launch, np.array([arg], arg.dtype)))
    if isinstance(arg, np.ndarray):
        return _global(launch, arg)
    return promoted(arg)


def _global(launch, data):
    """Return an array argument; arrays that share memory share a Buffer."""
    root = stream_order.root_of(data)
    buffer, offset = launch.buffers.get(id(root)), address_of(data) - address_of(root)
    unit = math.gcd(element_of(data.dtype).unit, offset, *data.strides)  # items may lie anywhere: fields, odd addresses
    if buffer is None:
        label = f"a global array of {data.dtype}, shape {data.shape}"
        buffer = Traced(launch, label, unit, root) if launch.traced else Buffer(launch, label, None, unit)
        launch.buffers[id(root)] = buffer
    buffer.refine(unit)
    watched = launch.exploring or launch.traced
    return KernelArray(np.asarray(data), launch, buffer, watched, offset)


def _configured(self, configuration):
    """Return a copy of the kernel with its grid, block, stream and dynamic shared bytes; the kernel stays as it is."""
    if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 5:
        raise ValueError("a launch is kernel[grid, block] or kernel[grid, block, stream, shared_bytes]")
    copy = object.__new__(type(self))
    copy.__dict__.update(self.__dict__)
    copy.grid_dim, copy.block_dim = normalize_kernel_dimensions(*configuration[:2])
    if len(configuration) >= 3:
        copy.warpkit_stream = handle_of(configuration[2])
    if len(configuration) >= 4:
        copy.dynshared_size = int(configuration[3])
    return copy


def _for_all(self, ntasks, tpb=0, stream=0, sharedmem=0):
    """Return the kernel configured for at least `ntasks` threads, as Numba's forall does."""
    if ntasks < 0:
        raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
    size = tpb or 128
    if ntasks == 0:
        return lambda *args: None
    return self[(ntasks + size - 1) // size, size, stream, sharedmem]


def upgrade():
    """Make every kernel, also those decorated before, launch fibers."""
    FakeCUDAKernel.__call__, FakeCUDAKernel.__getitem__, FakeCUDAKernel.forall = _call, _configured, _for_all
    numba_kernel.FakeOverload.max_cooperative_grid_blocks = lambda self, blockdim, dynsmemsize=0: 16
