"""Devices and contexts. With one GPU, as most machines have, no call asks which."""

import functools
from typing import Any

from cuda.bindings import driver

from ...specs import Properties
from .calls import call, ensure_context

ATTRIBUTE = driver.CUdevice_attribute


@functools.cache
def device_count() -> int:
    """Return how many GPUs this process sees."""
    ensure_context()
    return int(call(driver.cuDeviceGetCount))


def current_device() -> int:
    """Return the number of the current context's device."""
    return 0 if device_count() == 1 else int(call(driver.cuCtxGetDevice))


def context_key() -> Any:
    """Return what tells the current context from others. Kernels and memory are of a device's primary context."""
    return current_device()


def device_of(pointer: int) -> int:
    """Return the number of the device that the memory at `pointer` belongs to."""
    if device_count() == 1:
        return 0
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(call(driver.cuPointerGetAttribute, attribute, pointer))


@functools.cache
def _properties(device: int) -> Properties:
    def of(name: str) -> int:
        return int(call(driver.cuDeviceGetAttribute, getattr(ATTRIBUTE, f"CU_DEVICE_ATTRIBUTE_{name}"), device))

    name = call(driver.cuDeviceGetName, 256, device).partition(b"\0")[0].decode()
    return Properties(
        name=name,
        compute_capability=(of("COMPUTE_CAPABILITY_MAJOR"), of("COMPUTE_CAPABILITY_MINOR")),
        multiprocessors=of("MULTIPROCESSOR_COUNT"),
        max_threads_per_block=of("MAX_THREADS_PER_BLOCK"),
        threads_per_multiprocessor=of("MAX_THREADS_PER_MULTIPROCESSOR"),
        shared_per_block=of("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        shared_per_multiprocessor=of("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        l2_bytes=of("L2_CACHE_SIZE"),
        max_grid=(of("MAX_GRID_DIM_X"), of("MAX_GRID_DIM_Y"), of("MAX_GRID_DIM_Z")),
        max_block=(of("MAX_BLOCK_DIM_X"), of("MAX_BLOCK_DIM_Y"), of("MAX_BLOCK_DIM_Z")),
        memory_pools=bool(of("MEMORY_POOLS_SUPPORTED")),
    )


def properties(device: int | None = None) -> Properties:
    """Return what the device (None: the current one) is and offers."""
    return _properties(current_device() if device is None else device)
