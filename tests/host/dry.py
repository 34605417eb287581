"""A machine that compiles for an H200 and launches nothing: what host functions would launch, without a GPU."""

import contextlib
import types
from unittest import mock

import numpy as np

from warpkit.device.call_table import CallTable
from warpkit.host import parallel, parallel_calls, parallel_reduce_plan, parallel_reductions, program
from warpkit.simt import machine
from warpkit.simt.specs import Properties

CC = (9, 0)
H200 = Properties(
    name="H200", compute_capability=CC, multiprocessors=132, max_threads_per_block=1024,
    threads_per_multiprocessor=2048, shared_per_block=227 << 10, shared_per_multiprocessor=228 << 10, l2_bytes=50 << 20,
    max_grid=(2**31 - 1, 65535, 65535), max_block=(1024, 1024, 64), memory_pools=True,
)  # fmt: skip


class Array:
    """Says that it lives on a device."""

    def __init__(self, shape, dtype):
        shape, dtype = shape if isinstance(shape, tuple) else (shape,), np.dtype(dtype)
        self.interface = {"version": 3, "shape": shape, "typestr": dtype.str, "descr": dtype.descr, "strides": None}

    @property
    def __cuda_array_interface__(self):
        """The same address for all."""
        return self.interface | {"data": (0x7F0000000000, False), "stream": None}


class Launch(types.SimpleNamespace):
    """What would have been launched: image, ptx, grid, block, payloads."""


def calls_anew():
    """Return a `CallTable.now` to which no call is known yet."""
    now, tables = CallTable.now, {}

    def anew(calls):
        table = now(calls)
        return tables.setdefault(id(table), (table, {}))[1]

    return anew


class _Kernel:
    def __init__(self, image, ptx, launches):
        self.image, self.ptx, self.launches = image, ptx, launches

    def launch(self, grid, block, shared, stream, payloads):
        """Note a launch."""
        noted = {"image": self.image, "ptx": self.ptx, "grid": grid, "block": block, "payloads": payloads}
        self.launches.append(Launch(**noted))

    def bind(self, grid, block, shared, payloads):
        """Return a launch of the stream."""
        return lambda stream: self.launch(grid, block, shared, stream, payloads)


@contextlib.contextmanager
def dry():
    """Answer host code as a GPU would that is never reached; gives the list of launches, and `compiled`, of images."""
    from warpkit.simt.numba_cuda import compiler, returned

    launches, texts, context = [], {}, object()
    linked = compiler._linked

    def noting(library, capability, options):
        code, log = linked(library, capability, options)
        texts[code] = "\n".join(library.get_asm_strs(cc=(*capability, "a")))
        return code, log

    answers = {
        "properties": lambda device=None: H200,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "device_of": lambda pointer: 0,
        "context_key": lambda: context,  # what is kept for a context is for no other machine
        "capture_id": lambda stream: None,
        "is_capturing": lambda stream: False,
        "occupancy": lambda kernel, threads, shared=0: 8,
        "allocate": lambda nbytes, stream, zeroed=False: 0x7F1000000000,
        "device_array": lambda shape, dtype, stream: Array(shape, dtype),
        "copy_from_host": lambda target, source, nbytes, stream: None,
        "stream_synchronize": lambda stream: None,
        "release": lambda pointer, stream: None,
        "compile_image": lambda function, specs, options: compiler.compile_image(function, specs, options, CC),
        "load": lambda image: _Kernel(image, texts[image.code], launches),
        "record_payload": lambda value: (bytes(8), None),
        "returned_dtype": lambda function, dtypes: returned.returned_dtype(function, dtypes, CC),
        "returned_by": lambda function, specs, payloads: returned.returned_by(function, specs, CC),
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(machine, name, answer))
        for module in (parallel, parallel_reductions):
            stack.enter_context(mock.patch.object(module, "keep"))
        stack.enter_context(mock.patch.object(compiler, "_linked", noting))
        stack.enter_context(mock.patch.object(program, "_compiled", type(program._compiled)()))
        stack.enter_context(mock.patch.object(parallel_calls, "_kernels", {}))
        stack.enter_context(mock.patch.object(parallel_reduce_plan, "_plans", {}))
        stack.enter_context(mock.patch.object(CallTable, "now", calls_anew()))
        for cache in (parallel._loop, parallel._plain_loop):  # they know this device
            cache.cache_clear()
            stack.callback(cache.cache_clear)
        stack.enter_context(mock.patch.dict("os.environ", {"WARPKIT_CACHE": "0"}))
        yield launches
