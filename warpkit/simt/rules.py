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
        counted = "block_count" if where.startswith("block_") else "warp_active_count_bits"
        refuse(f"{where}: a sum of {kind.name} is not defined; use {counted} or cast to int32.")


def redux_form(op: Any, kind: Kind) -> str | None:
    """Return how the hardware reduces `kind` by `op` in one instruction: "integer", "ordered" (floats) or None."""
    if kind.is_integer and kind.bits <= 32:
        return "integer" if op in (ops.add, *_BITWISE, *_ORDERED) else None
    if kind.family == "float" and kind.bits <= 32:
        return "ordered" if op in (ops.minimum, ops.maximum) else None
    return None


_RANKS = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}


def goes_into(target: Kind, given: Kind) -> bool:
    """Return True when a value of kind `given` can be cast to `target` without losing a fraction or a part."""
    if target.parts and given.parts:
        return len(target.parts) == len(given.parts) and all(map(goes_into, target.parts, given.parts))
    if not target.is_numeric or not given.is_numeric:
        return target.name == given.name
    ranks = _RANKS[target.family], _RANKS[given.family]
    return ranks[0] >= ranks[1] or ranks == (0, 1)


def check_operands(op: Any, a: Kind, b: Kind) -> None:
    """Refuse, with one sentence, what `op(a, b)` is not defined on."""
    check_operand(op, a, op.__name__)
    if not goes_into(a, b):
        refuse(f"{op.__name__}: {a.name} and {b.name} do not go together; cast one of them.")


def check_element(name: str, array: Kind, dimensions: int, index: Kind) -> None:
    """Refuse what is not one element of a one-dimensional array."""
    if array.family != "array" or dimensions != 1:
        refuse(f"{name}: needs a one-dimensional array, not {array.name}.")
    if not index.is_integer:
        refuse(f"{name}: index must be an integer, not {index.name}.")


def check_whole(name: str, size: int) -> None:
    """Refuse elements that are not read or written in one access."""
    if size not in (1, 2, 4, 8, 16):
        refuse(f"{name}: elements of {size} bytes are not accessed as one; use 1, 2, 4, 8 or 16 bytes.")


def check_vector(name: str, items: Kind, array: Kind, alike: bool, contiguous: bool, nbytes: Any) -> None:
    """Refuse a vector access between arrays not `alike` (1-D, of one dtype), padded, strided or of an odd length."""
    if not alike:
        refuse(f"{name}: needs two 1-D arrays of one dtype, not {items.name} and {array.name}.")
    if array.parts and array.parts[0].family == "tuple":
        refuse(f"{name}: {array.parts[0].name} has the padding of a tuple; use a vector, a record or an array a part.")
    if not contiguous:
        refuse(f"{name}: needs a contiguous array; copy the strided one first.")
    if nbytes not in (2, 4, 8, 16):
        refuse(f"{name}: nbytes must be a compile-time 2, 4, 8 or 16, not {nbytes}.")


def check_vector_items(name: str, item: str, size: int, nbytes: int) -> None:
    """Refuse a vector access that does not hold a whole number of items."""
    if nbytes % size:
        refuse(f"{name}: {nbytes} bytes are not a whole number of {item}.")
