"""What reductions take and give beside the array: counts, `out`, `init`, results on the host."""

import operator
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument
from ..simt import machine
from ..simt.specs import ArraySpec, Spec, array_spec, scalar_spec, tuple_spec
from .reduce_families import Family
from .reduce_plan import Flat


def counted(name: str, num_items: Any, flat: Flat) -> tuple[int, Argument | None]:
    """Return (how many items, None), or (how many there can be, the argument that says on the device how many)."""
    if isinstance(num_items, int | np.integer | np.ndarray) and getattr(num_items, "ndim", 0) == 0:
        n = operator.index(num_items)
        if not 0 <= n <= flat.size:
            raise ValueError(f"{name}: num_items must be 0 to {flat.size}, the items of x, not {n}.")
        return n, None
    counter = as_argument(num_items, "num_items")
    if not counter.is_array or counter.size != 1 or counter.dtype.kind not in "iu":
        raise Refused(
            f"{name}: num_items must be an int or a device array of one integer, not {counter.dtype} of shape "
            f"{counter.shape}."
        )
    return flat.size, counter


def one_element(argument: Argument) -> ArraySpec:
    """Return the spec of `line_of`."""
    return array_spec(argument.dtype, 1)


def line_of(argument: Argument) -> Any:
    """Return the payload of a contiguous array as one axis."""
    if len(argument.layout.shape) == 1:
        return argument.payload
    layout = argument.layout
    return machine.array_payload(argument.pointer, (layout.size,), None, layout.dtype, argument.owner)


def out_payload(family: Family, target: Argument) -> Any:
    """Return the payload of `out` as one axis; refuse another number of elements."""
    if target.layout.size != family.parts or target.layout.strides is not None:
        raise ValueError(
            f"{family.name}: out must have {family.parts} neighbouring element{'s' * (family.parts > 1)}, not shape "
            f"{target.shape}."
        )
    return line_of(target)


def init_spec(total: np.dtype[Any]) -> Spec:
    """Return how a kernel takes a value of a total: a structured one as a tuple."""
    return tuple_spec(tuple(init_spec(total[name]) for name in total.names)) if total.names else scalar_spec(total)


def init_payload(total: np.dtype[Any], value: Any) -> Any:
    """Return the payload of a value of `initial`."""
    if not total.names:
        return machine.scalar_payload(scalar_spec(total), value)
    return machine.tuple_payload([init_payload(total[name], part) for name, part in zip(total.names, value)])
