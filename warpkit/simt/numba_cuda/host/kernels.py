"""Kernels: loading an image, and launching it at the cost of the driver's own call.

An image is loaded as a *library*, so that a kernel serves every context. Its parameters are written into a frame, a
block of memory with the addresses of its slots; a frame is used by one launch at a time and then used again.
"""

import ctypes
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from cuda.bindings import driver

from ...specs import Image, Options, Spec
from .arguments import SLOT
from .calls import INVALID_CONTEXT, call, ensure_context, failure
from .devices import current_device, properties
from .streams import relaxed

ATTRIBUTE = driver.CUfunction_attribute
STATIC_SHARED_LIMIT = 48 * 1024  # what a block may have without asking
_launch = driver.cuLaunchKernel


class Frame:
    """Memory for a parameter block of `size` bytes, and the address of the array of its slots' addresses."""

    __slots__ = ("_held", "_pointers", "address", "store")

    def __init__(self, size: int) -> None:
        self.store = bytearray(size)
        self._held = (ctypes.c_char * size).from_buffer(self.store)  # as long as it is held, the memory stays in place
        base = ctypes.addressof(self._held)
        self._pointers = (ctypes.c_void_p * (size // SLOT))(*range(base, base + size, SLOT))
        self.address = ctypes.addressof(self._pointers)


class Kernel:
    """A compiled kernel, ready to launch in every context of its kind of device; safe from several threads."""

    def __init__(self, image: Image, library: Any, handle: Any) -> None:
        self.image = image
        self._library, self.handle = library, handle
        self.function = driver.CUfunction(int(handle))
        self._frames: list[Frame] = []
        self._granted: dict[int, int] = {}
        self._free = -1  # bytes of dynamic shared memory that need no grant; not asked yet
        self._lock = threading.Lock()
        self._cluster, self._cooperative = image.options.cluster, image.cooperative
        self.plain = self._cluster is None and not self._cooperative

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        payloads: Sequence[bytes],
    ) -> None:
        """Launch with three-dimensional `grid` and `block` and `shared` bytes of dynamic shared memory, on `stream`."""
        block_of_parameters = b"".join(payloads)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(len(block_of_parameters))
        frame.store[:] = block_of_parameters
        if shared:
            self.grant(shared)
        if self.plain:
            result = _launch(self.function, *grid, *block, shared, stream, frame.address, 0)
        else:
            result = self.launch_extended(grid, block, shared, stream, frame.address)
        if result[0]:
            self.again(result, grid, block, shared, stream, frame)
        self._frames.append(frame)

    def bind(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, payloads: Sequence[bytes]
    ) -> Callable[[int], None]:
        """Return a function of the stream that launches with everything else decided; several threads may call it."""
        block_of_parameters = b"".join(payloads)
        frame = Frame(len(block_of_parameters))
        frame.store[:] = block_of_parameters
        if shared:
            self.grant(shared)
        if not self.plain:
            return lambda stream: self._checked(
                self.launch_extended(grid, block, shared, stream, frame.address), grid, block, shared, stream, frame
            )
        function, address = self.function, frame.address
        columns, rows, layers = grid
        x, y, z = block

        def bound(stream: int) -> None:
            result = _launch(function, columns, rows, layers, x, y, z, shared, stream, address, 0)
            if result[0]:
                self.again(result, grid, block, shared, stream, frame)

        return bound

    def launch_extended(self, grid: Any, block: Any, shared: int, stream: int, address: int) -> Any:
        """Launch with attributes: a cluster, or all blocks resident."""
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes, config.hStream = shared, driver.CUstream(stream)
        attributes = []
        if self._cluster is not None:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = self._cluster
            attributes.append(attribute)
        if self._cooperative:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        config.attrs, config.numAttrs = attributes, len(attributes)
        return driver.cuLaunchKernelEx(config, self.function, address, 0)

    def _checked(self, result: Any, *launch: Any) -> None:
        if result[0]:
            self.again(result, *launch)

    def again(self, result: Any, grid: Any, block: Any, shared: int, stream: int, frame: Any) -> None:
        """A launch failed: a thread without a context gets one and a second try, everything else is said."""
        if int(result[0]) == INVALID_CONTEXT:
            ensure_context()
            result = self.launch_extended(grid, block, shared, stream, frame.address)
        if result[0]:
            raise self._refusal(int(result[0]), grid, block, shared)

    def _refusal(self, code: int, grid: Any, block: Any, shared: int) -> Exception:
        limits, threads = properties(), block[0] * block[1] * block[2]
        name = self.image.name
        if threads > limits.max_threads_per_block:
            return ValueError(f"{name}: a block has at most {limits.max_threads_per_block} threads, not {threads}.")
        if threads > self.max_threads:
            return ValueError(
                f"{name}: {self.registers} registers a thread leave room for {self.max_threads} threads a block, not "
                f"{threads}: take fewer, or compile with max_registers."
            )
        for what, given, most in (("grid", grid, limits.max_grid), ("block", block, limits.max_block)):
            if any(extent > limit for extent, limit in zip(given, most)):
                return ValueError(f"{name}: a {what} has at most {most} on its axes, not {tuple(given)}.")
        if shared + self.shared_bytes > limits.shared_per_block:
            return ValueError(
                f"{name}: a block has at most {limits.shared_per_block} bytes of shared memory on this GPU, not "
                f"{shared + self.shared_bytes}."
            )
        return failure(code, f"launch of {name}")

    def grant(self, shared: int) -> None:
        """Allow `shared` bytes of dynamic shared memory on this device; above 48 KB the driver wants to be asked."""
        if shared <= self._free:  # without a question, in most launches
            return
        if self._free < 0:
            self._free = max(STATIC_SHARED_LIMIT - self.shared_bytes, 0)
            return self.grant(shared)
        device = current_device()
        if self._granted.get(device, 0) >= shared:
            return
        with self._lock:
            if self._granted.get(device, 0) < shared <= properties(device).shared_per_block - self.shared_bytes:
                attribute = ATTRIBUTE.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                call(driver.cuKernelSetAttribute, attribute, shared, self.handle, device)
                self._granted[device] = shared

    def _attribute(self, name: str) -> int:
        attribute = getattr(ATTRIBUTE, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(call(driver.cuKernelGetAttribute, attribute, self.handle, current_device()))

    @property
    def registers(self) -> int:
        """Registers a thread."""
        return self._attribute("NUM_REGS")

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory a thread."""
        return self._attribute("LOCAL_SIZE_BYTES")

    @property
    def shared_bytes(self) -> int:
        """Bytes of static shared memory a block."""
        return self._attribute("SHARED_SIZE_BYTES")

    @property
    def max_threads(self) -> int:
        """The most threads a block of this kernel can have."""
        return self._attribute("MAX_THREADS_PER_BLOCK")

    def __del__(self) -> None:
        try:
            with relaxed():  # the collector runs at any time
                driver.cuLibraryUnload(self._library)
        except Exception:
            pass  # the interpreter is going down, and the driver with it


def compile_image(function: Any, specs: Sequence[Spec], options: Options) -> Image:
    """Compile a kernel function for arguments of these types and the current device."""
    from ..compiler import compile_image as compiled  # the compiler is dear to import, and many kernels come from disk

    return compiled(function, specs, options)


def as_device(function: Any) -> Any:
    """Return the device function of a plain Python function or lambda, and as it is what a kernel can call anyway."""
    from ..functions import as_device as made

    return made(function)


def load(image: Image) -> Kernel:
    """Load a compiled image, now and not at its first launch: also where a stream is being captured."""
    ensure_context()
    with relaxed():
        library = call(driver.cuLibraryLoadData, image.code, None, None, 0, None, None, 0)
        handle = call(driver.cuLibraryGetKernel, library, image.entry.encode())
        call(driver.cuFuncLoad, call(driver.cuKernelGetFunction, handle))
    return Kernel(image, library, handle)


def shared_key(function: Any, key: Hashable) -> Hashable:
    """Return what functions must have in common to share a kernel: what they are."""
    return key


def occupancy(kernel: Kernel, threads: int, shared: int = 0) -> int:
    """Return how many blocks of `threads` threads and `shared` dynamic bytes a multiprocessor holds at once."""
    kernel.grant(shared)  # above 48 KB the driver says 0 before
    return int(call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, kernel.function, threads, shared))
