"""How an array is read as a sequence of items, and the constants that plans share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays_layout import Argument, Layout, remember
from ..host.dtypes import type_of
from ..simt import machine
from ..simt.specs import ArraySpec, array_spec, scalar_spec
from .reduce_policy import ReducePolicy
from .reduce_reading import (
    FETCH_ELEMENT,
    VECTOR_BYTES,
    Reading,
    count_given,
    count_on_device,
    fetch_vector,
    items_before_vectors,
    no_items_before,
)

MOST_AXES = len(FETCH_ELEMENT)
MOST_ITEMS = 1 << 50  # what a division by multiplication is exact for
COUNT, INVERSE, NOTHING = scalar_spec(np.int64), scalar_spec(np.float64), scalar_spec(np.int8)
NO_INIT = machine.scalar_payload(NOTHING, 0)


class Flat(NamedTuple):
    """An array as a sequence of items in C order.

    spec: of what the kernel gets: one axis where the items follow each other, else as few as do.  pack: (address,
    owner) -> payload; None: that of the array itself.  extents: of several axes.
    """

    spec: ArraySpec
    pack: Callable[[int, Any], Any] | None
    size: int
    extents: tuple[int, ...]


_flats: dict[Layout, Flat] = {}


def flat_of(layout: Layout, name: str) -> Flat:
    """Return how an array of this layout is read; refuse what is none, or has too many axes that do not line up."""
    found = _flats.get(layout)
    if found is None:
        if not isinstance(layout.spec, ArraySpec):
            raise Refused(f"{name} must be a device array, not a scalar or a tuple.")
        found = remember(_flats, layout, _flattened(layout, name))
    return found


def flat_at(argument: Argument, name: str) -> Flat:
    """Do `flat_of` for an array where it lies: not at once but item by item, where items do not lie at multiples of
    their size, which NumPy does not ask of complex64."""
    flat = flat_of(argument.layout, name)
    size = flat.spec.dtype.itemsize
    if not lies_apart(flat.spec) or not argument.pointer & (size - 1):
        return flat
    return flat._replace(
        spec=array_spec(flat.spec.dtype, 1, False), pack=machine.array_packer((flat.size,), (size,), flat.spec.dtype)
    )


def lies_apart(spec: ArraySpec) -> bool:
    """Return whether vectors of such an array need an address that its dtype does not ask for."""
    return spec.contiguous and not spec.dtype.names and spec.dtype.alignment < spec.dtype.itemsize <= VECTOR_BYTES // 2


def _flattened(layout: Layout, name: str) -> Flat:
    dtype = layout.dtype
    if layout.strides is None:
        spec = array_spec(dtype, 1)  # read-only or not, it is only read
        pack = None if len(layout.shape) == 1 else machine.array_packer((layout.size,), None, dtype)
        return Flat(spec, pack, layout.size, ())
    axes = lined_up(layout.shape, layout.strides)
    if len(axes) > MOST_AXES:
        raise Refused(
            f"{name} (shape {layout.shape}, strides {layout.strides}) has {len(axes)} axes that do not line up, and at "
            f"most {MOST_AXES} are read in place: copy it to a contiguous array first."
        )
    shape, strides = tuple([extent for extent, _ in axes]), tuple([stride for _, stride in axes])
    pack = machine.array_packer(shape, strides, dtype)
    return Flat(array_spec(dtype, len(axes), False), pack, layout.size, shape if len(axes) > 1 else ())


def lined_up(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (extent, stride) of the fewest axes that walk the same items in the same order, at least one."""
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = axes[-1][0] * extent, stride
        else:
            axes.append((extent, stride))
    return axes or [(1, 0)]


def reading_of(array: ArraySpec, counted: bool, policy: ReducePolicy) -> Reading:
    """Return how the items of such an array are read: 16 bytes at once where they follow each other and divide 16."""
    number = count_on_device if counted else count_given
    size, item = array.dtype.itemsize, type_of(array.dtype)
    fetch_item = FETCH_ELEMENT[array.ndim]
    if array.contiguous and not array.dtype.names and size in (1, 2, 4, 8):
        shift = size.bit_length() - 1
        return Reading(
            number, items_before_vectors, fetch_vector, fetch_item, VECTOR_BYTES // size, shift, policy.loads, item
        )
    return Reading(number, no_items_before, fetch_item, fetch_item, 1, 0, policy.loads, item)
