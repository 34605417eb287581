"""Reductions by an operator that the user gives, and of what a function of the user's makes of the items.

What is known about a function of the user's is kept with the function itself, so that both go at the same time.
"""

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..host.dtypes import as_dtype, check_fields, kind_of, single, type_of, widened
from ..host.parallel_calls import check_arguments, check_function
from ..host.returned import returned_dtype
from ..simt import ops
from ..simt.rules import check_operand
from ..simt.types import cast_like
from . import reduce_meaning as parts
from .reduce_families import Built, Family, combining
from .reduce_meaning import Meaning
from .reduce_rules import check_goes_into, total_of

MOST_KEPT = 64
_MINIMA = (ops.minimum, ops.maximum, ops.fmin, ops.fmax)
_MEMO = "_warpkit_reductions"
_SHARING = type, types.MethodType  # whose dictionaries are not theirs alone
_others: dict[Any, dict[Any, Any]] = {}  # of what has no dictionary of its own: builtin functions


def reduce_family(op: Any) -> Family:
    """Return the reduction by `op`: one of warpkit's operators, what stands for one, or a function of the user's."""
    known = checked_operator("reduce", op)
    memo = memo_of(known or op)
    found = memo.get("reduce")
    if found is None:
        if known is not None:
            found = Family("reduce", combining(known), needs_items=known in _MINIMA)
        else:
            check_calls("reduce", "op", op, 2)
            found = Family("reduce", _by_function(op), needs_items=True, fixed=False)
        keep_in(memo, "reduce", found)
    return found


def transform_family(transform: Any, op: Any) -> Family:
    """Return the reduction by `op` of what `transform` makes of every item."""
    known = checked_operator("transform_reduce", op)
    if not callable(transform):
        raise Refused(f"transform_reduce: transform must be a function of an item, not {shown(transform)}.")
    memo, key = memo_of(transform), known or op
    found = memo.get(key)
    if found is None:
        if not isinstance(transform, np.ufunc | type):  # numpy.abs, float
            check_calls("transform_reduce", "transform", transform, 1)
        if known is None:
            check_calls("transform_reduce", "op", op, 2)
        needs_items = known is None or known in _MINIMA
        found = Family("transform_reduce", _of_function(transform, known, op), needs_items, fixed=False)
        keep_in(memo, key, found)
    return found


def checked_operator(name: str, op: Any) -> Callable[..., Any] | None:
    """Return the built-in operator that `op` stands for, None for a function; refuse anything else."""
    known = ops.known(op)
    if known is None and not callable(op):
        raise Refused(f"{name}: op must be a function (earlier, later) -> combined, not {shown(op)}.")
    if known is None and isinstance(op, np.ufunc):
        raise Refused(f"{name}: the device has no {op.__name__} of NumPy's; pass a function that does the same.")
    return known


def check_calls(name: str, what: str, function: Any, values: int) -> None:
    """Refuse what a kernel cannot call with so many values; once for a function."""
    check_function(name, what, function)
    check_arguments(name, what, function, values)


def memo_of(function: Any) -> dict[Any, Any]:
    """Return where to keep what is known about a function."""
    space = getattr(function, "__dict__", None)
    if not isinstance(space, dict) or isinstance(function, _SHARING):
        _trim(_others)
        return _others.setdefault(function, {})
    owner, memo = space.get(_MEMO) or (None, {})
    if owner is not function:  # functools.wraps copies the dictionary
        memo = {}
        space[_MEMO] = function, memo
    return memo


def keep_in(memo: dict[Any, Any], key: Any, value: Any) -> None:
    """Put something that is known about a function where `memo_of` says."""
    _trim(memo)
    memo[key] = value


def _trim(table: dict[Any, Any]) -> None:
    if len(table) >= MOST_KEPT:
        table.clear()


def _by_function(op: Any) -> Callable[[str, np.dtype[Any], Any], Built]:
    def build(name: str, item: np.dtype[Any], dtype: Any) -> Built:
        total = total_of(name, item, None, dtype)
        return Meaning(parts.itself, op, type_of(total), ordered=True), total, total

    return build


def _of_function(transform: Any, known: Any, op: Any) -> Callable[[str, np.dtype[Any], Any], Built]:
    def lift(item: Any, place: Any) -> Any:
        return transform(item)

    def lift_half(item: Any, place: Any) -> Any:
        return transform(cast_like(parts.SINGLE, item))

    def build(name: str, item: np.dtype[Any], dtype: Any) -> Built:
        check_fields(name, item)
        made = returned_dtype(transform, [single(item)])
        formed = widened(made) if known in (ops.add, ops.mul) else made
        total = formed if dtype is None else as_dtype(name, dtype)
        check_goes_into(name, "dtype", made, total)
        if known is not None:
            check_operand(known, kind_of(total), name)
        enters = lift_half if item == np.float16 else lift
        return Meaning(enters, known or op, type_of(total), ordered=known is None), total, total

    return build
