"""What goes with what: rules on kinds that both machines share."""

from typing import Any

from . import ops
from .kinds import Kind
from .refusals import refuse

_BITWISE = (ops.bit_and, ops.bit_or, ops.bit_xor)
_ORDERED = (ops.minimum, ops.maximum, ops.fmin, ops.fmax)


def check_operand(op: Any, kind: Kind, where: str) -> None:
    """Refuse, with one sentence, a kind that the built-in operator `op` is not defined on."""
    name, families = op.__name__, {leaf.family for leaf in kind.leaves}
    if not kind.is_flat:
        refuse(
            f"{where}: {name} is not defined on {kind.name}; pass numbers, vectors, flat tuples, or your own operator."
        )
    if op in _BITWISE and families & {"float", "complex"}:
        refuse(f"{where}: {name} needs integers, not {kind.name}; view the bits as an integer first.")
    if op in _ORDERED and "complex" in families:
        refuse(f"{where}: {name} is not defined on {kind.name}, which has no order; pass the absolute value or a part.")
    if op in (ops.logical_and, ops.logical_or) and families & {"float", "complex"}:
        refuse(f"{where}: {name} needs bool or integers, not {kind.name}; compare with 0 first.")
    if op is ops.add and "bool" in families:
        refuse(f"{where}: a sum of {kind.name} is not defined; use warp_active_count_bits or cast to int32.")


def redux_form(op: Any, kind: Kind) -> str | None:
    """Return how the hardware reduces `kind` by `op` in one instruction: "integer", "ordered" (floats) or None."""
    if kind.is_integer and kind.bits <= 32:
        return "integer" if op in (ops.add, *_BITWISE, *_ORDERED) else None
    if kind.family == "float" and kind.bits <= 32:
        return "ordered" if op in (ops.minimum, ops.maximum) else None
    return None
