"""The arrays of an elementwise call: in which shape they are seen, how they are accessed, where results may go."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument
from ..host.arrays_layout import layout_of
from ..host.dtypes import type_of
from ..simt import machine
from ..simt.specs import Spec, c_strides, tuple_spec
from .overlap import check_apart
from .reduce_plan import INVERSE, Flat, flat_of
from .reduce_reading import VECTOR_BYTES
from .transform_kernel import Form, Port

HALF = np.dtype(np.float16)
Pack = Callable[[Argument], Any]


class Side(NamedTuple):
    """An array of a call, in the shape of the result, or what goes to the function as it is (flat: None)."""

    argument: Argument
    flat: Flat | None

    @property
    def itemsize(self) -> int:
        """Bytes of an item that may be moved in vectors, 0 for any other."""
        if self.flat is None or not self.flat.spec.contiguous or self.argument.dtype.names:
            return 0
        size = self.argument.dtype.itemsize
        return size if size in (1, 2, 4, 8) else 0

    @property
    def pack(self) -> Pack:
        """The function that returns what the kernel gets for such an argument."""
        if self.flat is None:
            return own_payload
        pack = self.flat.pack or self.argument.layout.pack
        inverses = [1 / max(extent, 1) for extent in (1, *self.flat.extents[1:])]
        known = machine.tuple_payload([machine.scalar_payload(INVERSE, value) for value in inverses])
        return lambda argument: machine.tuple_payload([pack(argument.pointer, argument.owner), known])

    @property
    def spec(self) -> Spec:
        """How the kernel takes it."""
        if self.flat is None:
            return self.argument.spec
        return tuple_spec((self.flat.spec, tuple_spec((INVERSE,) * max(self.flat.spec.ndim, 1))))

    def port(self, form: Form, head: int) -> Port:
        """Return how the kernel accesses it."""
        if self.flat is None:
            return Port(None, whole=True)
        dtype, nbytes = self.argument.dtype, self.itemsize * form.length
        aligned = nbytes >= 2 and (self.argument.pointer + head * self.itemsize) % nbytes == 0
        fits = form.length > 1 and aligned
        axes = self.flat.spec.ndim
        return Port(type_of(dtype), axes, nbytes if fits else 0, half=dtype == HALF, record=bool(dtype.names))


def own_payload(argument: Argument) -> Any:
    """Return the payload of an argument."""
    return argument.payload


def in_shape(argument: Argument, shape: tuple[int, ...], name: str) -> Side:
    """Return an array as one of this shape, its items repeated as NumPy repeats them."""
    layout = argument.layout
    if layout.shape != shape:
        strides = layout.strides or c_strides(layout.shape, layout.dtype.itemsize)
        left = (0,) * (len(shape) - len(strides))
        repeated = [0 if extent == 1 else step for extent, step in zip(layout.shape, strides)]
        layout = layout_of(layout.dtype, shape, (*left, *repeated), True, name)
        payload = layout.pack(argument.pointer, argument.owner)
        argument = argument._replace(spec=layout.spec, payload=payload, layout=layout)
    return Side(argument, flat_of(layout, name))


def check_places(
    name: str, sources: Sequence[Argument], targets: Sequence[Argument], whole: Sequence[Argument] = ()
) -> None:
    """Refuse outputs in which results would take the place of what is still to be read, or of each other.

    whole: arrays that every item needs.
    """
    for k, target in enumerate(targets):
        for other in targets[:k]:
            check_apart(name, other, target)
            if other.pointer == target.pointer and target.size:
                raise Refused(f"{name}: two arrays of out are the same one; pass others.")
        for source in sources:
            if source.pointer:
                check_apart(name, source, target)
        for array in whole:
            check_apart(name, array, target)
            if array.pointer == target.pointer and target.size:
                raise Refused(f"{name}: out is an array that every item is compared with; pass another.")


def place_of(argument: Argument) -> Hashable:
    """Return what decides how an argument is accessed."""
    return (argument.layout, argument.pointer % VECTOR_BYTES) if argument.is_array else argument.spec


def target_side(array: Argument) -> Side:
    """Return an output as a kernel takes it."""
    return Side(array, flat_of(array.layout, "out"))
