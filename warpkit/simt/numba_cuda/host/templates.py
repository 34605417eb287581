"""Launches that differ in addresses and numbers alone: the rest of the parameter block is written once.

A kernel's parameters are found by the addresses of their slots, which may lie anywhere. Here the slots that never
change are one block for all launches, and those that do lie side by side, so that one call of `struct` writes them all.
"""

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cuda.bindings import driver

from ...specs import ArraySpec, ScalarSpec, Spec
from .arguments import SLOT
from .arrays import BEFORE
from .kernels import Kernel

CODES = {np.dtype(code): f"{code}{SLOT - np.dtype(code).itemsize}x" for code in "?bhiqBHIQefd"}
_launch = driver.cuLaunchKernel


class Template:
    """A launch of `kernel` for arguments of these specs; `packs`: of each, (address, owner) -> payload of an array.

    Spec None: an argument that never changes, with its payload in the place of `pack`.
    Safe from several threads: each launch writes into a frame that no other one uses.
    """

    def __init__(self, kernel: Kernel, specs: Sequence[Spec | None], packs: Sequence[Any]) -> None:
        constant, self._places, codes = bytearray(), [], []
        for spec, pack in zip(specs, packs):
            if spec is None:
                constant += pack
            elif isinstance(spec, ArraySpec):
                self._places.append(len(constant) + BEFORE)
                codes.append("Q")
                constant += pack(0, None)
            else:
                self._places.append(len(constant))
                codes.append(CODES[spec.dtype])  # type: ignore[union-attr]
                constant += bytes(SLOT)
        self._constant = (ctypes.c_char * len(constant)).from_buffer(constant)
        self._pack = struct.Struct("=" + "".join(codes)).pack_into
        self._kernel, self._frames = kernel, list[_Frame]()

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        values: Sequence[Any],
        owners: Sequence[Any],
    ) -> bool:
        """Launch with these values, an address for each array; return False, having done nothing, if one is too large.

        Values are of what changes, in order. The owners are the caller's to keep.
        """
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._constant, self._places)
        kernel = self._kernel
        try:
            self._pack(frame.store, 0, *values)
        except (struct.error, OverflowError):
            return False
        if shared:
            kernel.grant(shared)
        if kernel.plain:
            result = _launch(kernel.function, *grid, *block, shared, stream, frame.address, 0)
        else:
            result = kernel.launch_extended(grid, block, shared, stream, frame.address)
        if result[0]:
            kernel.again(result, grid, block, shared, stream, frame)
        self._frames.append(frame)
        return True


class _Frame:
    """The slots of one launch that change, and the addresses of all."""

    __slots__ = ("_constant", "_held", "_pointers", "address", "store")

    def __init__(self, constant: Any, places: Sequence[int]) -> None:
        self.store = bytearray(SLOT * len(places))
        self._held = (ctypes.c_char * len(self.store)).from_buffer(self.store)  # as long as it is held, it stays
        self._constant = constant
        addresses = list(range(ctypes.addressof(constant), ctypes.addressof(constant) + len(constant), SLOT))
        for number, place in enumerate(places):
            addresses[place // SLOT] = ctypes.addressof(self._held) + SLOT * number
        self._pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        self.address = ctypes.addressof(self._pointers)


def template(
    kernel: Kernel, specs: Sequence[Spec | None], packs: Sequence[Callable[[int, Any], bytes] | Any]
) -> Template | None:
    """Return a `Template`; None where more changes in the arguments than addresses and numbers of one slot."""
    for spec in specs:
        if spec is None or isinstance(spec, ArraySpec) or (isinstance(spec, ScalarSpec) and spec.dtype in CODES):
            continue
        return None
    return Template(kernel, specs, packs) if specs else None
