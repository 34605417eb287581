"""The reductions by name: their operators, how items enter, what dtype is computed in and comes out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.dtypes import type_of
from ..simt import ops
from . import reduce_meaning as parts
from .call_table import CallTable
from .reduce_meaning import Meaning
from .reduce_rules import mean_result, mean_total, total_of

INT32, INT64, BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)
Built = tuple[Meaning, np.dtype[Any], np.dtype[Any]]  # the meaning, dtype of totals, dtype of results


@dataclass(frozen=True, eq=False)
class Family:
    """A reduction that users ask for.

    build: (name, dtype of the items, `dtype=`) -> meaning, dtype of totals, dtype of results.  needs_items: nothing is
    the result of no items.  parts: elements of the result.  fixed: no function of a user's is in it.  finds: the result
    is a place.
    plans: what was compiled for it.  calls: those with `out` alone that are known.
    """

    name: str
    build: Callable[[str, np.dtype[Any], Any], Built]
    needs_items: bool = False
    parts: int = 1
    fixed: bool = True
    finds: bool = False
    plans: dict[Any, Any] = field(default_factory=dict)
    calls: CallTable = field(default_factory=CallTable)


def combining(op: Callable[..., Any]) -> Callable[[str, np.dtype[Any], Any], Built]:
    """Return the `build` of a reduction by a built-in operator."""

    def build(name: str, item: np.dtype[Any], dtype: Any) -> Built:
        total = total_of(name, item, op, dtype)
        return narrowed(Meaning(parts.itself, op, type_of(total)), item, total), total, total

    return build


def narrowed(meaning: Meaning, item: np.dtype[Any], total: np.dtype[Any]) -> Meaning:
    """Add the items of one read as int32, where these are of at most 16 bits: half the instructions of 64-bit sums."""
    narrow = meaning.op is ops.add and item.kind in "iu" and item.itemsize <= 2 and total.kind in "iu"
    return replace(meaning, narrow=parts.as_int32) if narrow and total.itemsize == 8 else meaning


def plain(name: str, item: np.dtype[Any], also: str = "biufc") -> None:
    """Refuse structured items, and kinds that are not in `also`."""
    if item.names:
        raise Refused(f"{name}: x must hold numbers, not records ({item}); pass one of its fields, x['name'].")
    if item.kind not in also:
        raise Refused(f"{name}: {item} has no order; pass the absolute value, or a part.")


def no_dtype(name: str, dtype: Any) -> None:
    """Refuse `dtype=` where it means nothing."""
    if dtype is not None:
        raise Refused(f"{name}: dtype= has no meaning here; out= may have another dtype.")


def truths(op: Callable[..., Any], total: np.dtype[Any], result: np.dtype[Any]) -> Any:
    """Return the `build` of a reduction of truth values."""

    def build(name: str, item: np.dtype[Any], dtype: Any) -> Built:
        plain(name, item)
        no_dtype(name, dtype)
        lift = parts.truth_of_half if item == np.float16 else parts.truth
        finish = parts.is_true if result == BOOL else parts.total_itself
        meaning = Meaning(lift, op, total.type, narrow=parts.as_int32, finish=finish)
        return meaning, total, result

    return build


def places(op: Callable[..., Any], empty: Callable[..., Any]) -> Any:
    """Return the `build` of a search for a place."""
    lifts = {"b": (parts.flag_with_place, np.uint8), "e": (parts.half_with_place, np.float32)}

    def build(name: str, item: np.dtype[Any], dtype: Any) -> Built:
        plain(name, item, "biuf")
        no_dtype(name, dtype)
        lift, value = lifts.get("e" if item == np.float16 else item.kind, (parts.with_place, item))
        total = np.dtype([("value", value), ("place", np.int64)])
        return Meaning(lift, op, type_of(total), empty=empty, finish=parts.place_of), total, INT64

    return build


def build_minmax(name: str, item: np.dtype[Any], dtype: Any) -> Built:
    """Build `minmax`."""
    plain(name, item, "biuf")
    no_dtype(name, dtype)
    total = np.dtype([("min", item), ("max", item)])
    meaning = Meaning(parts.twice, parts.extremes, type_of(total), empty=parts.no_extremes, put=parts.put_two)
    return meaning, total, item


def build_mean(name: str, item: np.dtype[Any], dtype: Any) -> Built:
    """Build `mean`: the sum in a dtype that holds it, divided once."""
    plain(name, item)
    if dtype is None:
        total, result = mean_total(item), mean_result(item)
    else:
        total = result = total_of(name, item, ops.add, dtype)
        if result.kind not in "fc":
            raise Refused(f"mean: dtype must be a float or complex type, not {result}.")
    finish = parts.mean_of
    if result.kind == "c":
        finish = parts.complex_mean_of
    elif total == np.float32:
        finish = parts.single_mean_of
    meaning = Meaning(parts.itself, ops.add, total.type, finish=finish)
    return narrowed(meaning, item, total), total, result


FAMILIES = {
    family.name: family
    for family in (
        Family("sum", combining(ops.add)),
        Family("prod", combining(ops.mul)),
        Family("min", combining(ops.minimum), needs_items=True),
        Family("max", combining(ops.maximum), needs_items=True),
        Family("any", truths(ops.bit_or, INT32, BOOL)),
        Family("all", truths(ops.bit_and, INT32, BOOL)),
        Family("count_nonzero", truths(ops.add, INT64, INT64)),
        Family("argmin", places(parts.first_smallest, parts.nowhere_smallest), needs_items=True, finds=True),
        Family("argmax", places(parts.first_largest, parts.nowhere_largest), needs_items=True, finds=True),
        Family("minmax", build_minmax, needs_items=True, parts=2),
        Family("mean", build_mean),
    )
}
