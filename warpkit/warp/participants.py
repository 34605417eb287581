"""Who takes part in a collective, and the checks that every collective shares."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..simt.kinds import Kind
from ..simt.lanes import active_mask, as_mask, group_lanes
from ..simt.machine import device_function
from ..simt.ops import known
from ..simt.refusals import refuse
from ..simt.rules import check_operand

FULL_MASK = np.uint32(0xFFFFFFFF)
WIDTHS = (1, 2, 4, 8, 16, 32)


@device_function()
def participants(mask):
    """Return the uint32 mask of who takes part: `mask`, or without it the lanes that execute this together."""
    return active_mask() if mask is None else as_mask(mask)


@device_function()
def in_group(members, width):
    """Return the lanes of `members` that are in this lane's group of `width` lanes."""
    return as_mask(members & group_lanes(width))


def check_mask(name: str, mask: Kind) -> None:
    """Refuse a mask that is no integer."""
    if mask.family != "none" and not mask.is_integer:
        refuse(f"{name}: mask must be an integer, bit k for lane k, not {mask.name}.")


def check_lanes(name: str, mask: Kind, width: Kind) -> None:
    """Refuse a mask that is no integer and a width that is not a compile-time power of two up to 32."""
    check_mask(name, mask)
    if width.constant is None:
        given = f"a run-time {width.name}" if width.is_integer else width.name
        refuse(
            f"{name}: width must be a compile-time integer, not {given}; "
            "write a number, or a name that is set to one outside the kernel (an expression such as W // 2 is not one)."
        )
    if width.constant not in WIDTHS:
        refuse(f"{name}: width must be 1, 2, 4, 8, 16 or 32, not {width.constant}.")


def check_movable(name: str, value: Kind) -> None:
    """Refuse a value that cannot travel between lanes."""
    if not value.is_movable:
        refuse(f"{name}: {value.name} cannot travel between lanes; pass a number, vector, tuple or record.")


def check_goes_into(name: str, what: str, given: Kind, wanted: Kind) -> None:
    """Refuse an argument that cannot become a value of kind `wanted`: a float for an integer, a tuple for a number."""
    if given.family in ("none", "function", "undecorated", "array", "other"):
        refuse(f"{name}: {what} must be a value like {wanted.name}, not {given.name}.")
    order = ("bool", "signed", "unsigned", "float", "complex")
    if given.is_numeric and wanted.is_numeric:
        fits = order.index(given.family) <= max(order.index(wanted.family), order.index("unsigned"))
    else:
        fits = given.is_numeric == wanted.is_numeric and len(given.parts) == len(wanted.parts)
    if not fits and "record" not in (given.family, wanted.family):
        refuse(f"{name}: {what} is {given.name}, which does not go into {wanted.name}; convert one of them.")


def check_init(name: str, value: Kind, init: Kind) -> None:
    """Refuse an `init` that cannot be converted to a value."""
    check_goes_into(name, "init", init, value)


def check_operator(name: str, value: Kind, op: Kind) -> None:
    """Refuse what `op` cannot combine."""
    if op.family == "undecorated":
        refuse(f"{name}: decorate {op.name} with @cuda.jit(device=True), or define it in the kernel, to pass it as op.")
    if op.family != "function":
        refuse(f"{name}: op must be a function (earlier, later) -> combined, not {op.name}.")
    check_movable(name, value)
    if any(part.family == "record" for part in (value, *value.leaves)):
        refuse(f"{name}: a {value.name} only moves; combine a tuple of its fields.")
    builtin = known(op.function)
    if builtin is not None:
        check_operand(builtin, value, name)


def check_builtin(name: str, value: Kind, op: Callable[..., Any]) -> None:
    """Refuse what the built-in operator `op` cannot combine."""
    check_operator(name, value, Kind(op.__name__, "function", function=op))


def check_named(name: str, op: Callable[..., Any]) -> Callable[[Kind, Kind, Kind], None]:
    """Return the check of (value, mask, width) of a collective that is named after its built-in operator."""

    def check(value: Kind, mask: Kind, width: Kind) -> None:
        check_builtin(name, value, op)
        check_lanes(name, mask, width)

    return check


def check_scalar_predicate(name: str, pred: Kind) -> None:
    """Refuse a predicate that is neither bool nor a number."""
    if pred.family not in ("bool", "signed", "unsigned"):
        refuse(f"{name}: pred must be bool or an integer, not {pred.name}; compare it with something.")
