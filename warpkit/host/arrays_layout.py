"""What a launch needs of an argument, and what two arrays of one dtype and shape have in common.

All that does not depend on an array's address is its `Layout`: spec, contiguity, alignment, the payload but for one
slot. Layouts are found again by what a framework hands out cheaply, so that reading an array is a handful of attribute
reads, one look-up and one packed slot.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.specs import ArraySpec, Spec, array_spec

Name = str | int | tuple[Any, ...]  # of a parameter: its name, its place, or (the tuple's name, place in the tuple)

MOST_LAYOUTS = 4096  # of a table: a program that never repeats a shape must not grow
NUMBERS = "biufc"


class Framework:
    """Who owns an array's memory: on which stream its pending work is, and whether work elsewhere must hold it.

    This one: nothing is known but the stream that the array itself carries, if any.
    """

    name = "unknown"

    def current_stream(self, device: int) -> int | None:
        """Return the stream that work of this framework goes to at present; None where there is no such thing."""
        return None


UNKNOWN = Framework()


class Layout:
    """Dtype, shape and strides of an array, and what follows from them.

    strides: in bytes; None for C order.  misaligned: the address bits that must be zero.
    """

    __slots__ = ("dtype", "misaligned", "pack", "shape", "size", "spec", "strides")

    def __init__(self, spec: Spec, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...] | None):
        self.spec, self.dtype, self.shape, self.strides = spec, dtype, shape, strides
        self.size = count(shape)
        self.misaligned = dtype.alignment - 1 if self.size else 0
        self.pack: Callable[[int, Any], Any] = _no_array
        if isinstance(spec, ArraySpec):
            self.pack = machine.array_packer(shape, strides, dtype)


class Argument(NamedTuple):
    """One argument of a kernel, read.

    spec and payload are what a kernel is compiled for and what its launch packs.  device: its number; −1 for what is
    in no memory of a device.  stream: the one that the array itself says its pending work is on.  framework: None where
    neither order nor memory needs a thought.  owner: what keeps the memory; of a tuple its parts.
    """

    spec: Spec
    payload: Any
    pointer: int
    layout: Layout
    device: int = -1
    stream: int | None = None
    framework: Framework | None = None
    owner: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents; () for a scalar."""
        return self.layout.shape

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Its strides in bytes; None for C order."""
        return self.layout.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""
        return self.layout.dtype

    @property
    def size(self) -> int:
        """How many elements."""
        return self.layout.size

    @property
    def readonly(self) -> bool:
        """Whether kernels must not write to it."""
        return getattr(self.spec, "readonly", True)

    @property
    def is_array(self) -> bool:
        """Whether it is an array in device memory."""
        return isinstance(self.spec, ArraySpec)


def device_argument(
    pointer: int,
    shape: tuple[int, ...],
    dtype: Any,
    *,
    owner: Any = None,
    stream: int | None = None,
    framework: Framework | None = None,
) -> Argument:
    """Return the argument for memory of ours on the current device, in C order; `owner` keeps it alive."""
    found = layout_of(np.dtype(dtype), shape, None, False, "memory of the library")
    payload, device = found.pack(pointer, owner), machine.current_device()
    return Argument(found.spec, payload, pointer, found, device, stream, framework, owner)


_layouts: dict[Any, Layout] = {}


def layout_of(
    dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...] | None, readonly: bool, name: Name
) -> Layout:
    """Return the layout of an array; refuse, by the parameter's name, elements that no kernel reads."""
    key = (dtype, shape, strides, readonly)
    found = _layouts.get(key)
    if found is None:
        check_dtype(dtype, name)
        if any(extent < 0 for extent in shape) or (strides is not None and len(strides) != len(shape)):
            refuse(name, f"has shape {shape} and strides {strides}, which is no array.")
        if strides is not None and is_c_order(shape, strides, dtype.itemsize):
            strides = None
        if strides is not None and any(step % dtype.alignment for step, extent in zip(strides, shape) if extent > 1):
            refuse(
                name,
                f"({dtype}, strides {strides} bytes) has elements that are not aligned to {dtype.alignment} bytes: "
                "copy it to an array of its own.",
            )
        spec = array_spec(dtype, len(shape), strides is None, readonly)
        found = remember(_layouts, key, Layout(spec, dtype, shape, strides))
    return found


def remember(table: dict[Any, Any], key: Any, value: Any) -> Any:
    """Put a value into a table of bounded size; return it."""
    if len(table) >= MOST_LAYOUTS:
        table.clear()
    table[key] = value
    return value


def count(shape: tuple[int, ...]) -> int:
    """Return how many elements an array of this shape has."""
    items = 1
    for extent in shape:
        items *= extent
    return items


def is_c_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Return whether elements follow each other in C order; the stride of an axis of one element says nothing."""
    if 0 in shape:
        return True
    step = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def check_dtype(dtype: np.dtype[Any], name: Name) -> None:
    """Refuse elements that a GPU has no type for."""
    if not dtype.isnative:
        refuse(name, f"is {dtype.str}, in the other byte order: convert it to {dtype.newbyteorder('=').str}.")
    foreign = dtype.kind not in NUMBERS or dtype.isbuiltin != 1  # not NumPy's own: bfloat16 and its relatives
    if dtype.hasobject or dtype.subdtype is not None or (dtype.names is None and foreign):
        refuse(
            name,
            f"is {dtype.name}, which kernels here do not take: convert it to a number type (bfloat16 and smaller "
            "floats to float32), or view its bits as unsigned integers.",
        )
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        refuse(name, f"is {dtype}, which no GPU has: convert it to float64 or complex128.")


def check_address(pointer: int, found: Layout, name: Name) -> None:
    """Refuse an address that is none, or that its elements cannot lie at."""
    if not pointer and found.size:
        refuse(name, f"({found.dtype}, shape {found.shape}) has elements but no memory: its pointer is null.")
    if pointer & found.misaligned:
        refuse(
            name,
            f"is misaligned: {found.dtype} at address {pointer:#x}, which is no multiple of {found.dtype.alignment}: "
            "copy it to an array of its own.",
        )


def refuse(name: Name, sentence: str) -> NoReturn:
    """Raise `Refused`: the parameter, and what is wrong with it."""
    raise Refused(f"{shown(name)} {sentence}")


def shown(name: Name) -> str:
    """Return a parameter's name for a message."""
    if isinstance(name, tuple):
        return f"{shown(name[0])}[{name[1]}]"
    return f"argument {name}" if isinstance(name, int) else name


def _no_array(pointer: int, owner: Any) -> NoReturn:
    raise AssertionError("a scalar has no address")
