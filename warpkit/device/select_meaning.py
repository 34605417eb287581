"""What the compactions keep and what they write: the fields of a `Compaction`, by name of the array function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..host.dtypes import check_fields, single, type_of
from ..host.parallel_calls import check_arguments, check_function
from ..host.returned import returned_dtype
from . import select_parts as parts
from . import select_runs as runs
from . import select_tile as tile
from .call_table import CallTable
from .reduce_operators import keep_in, memo_of
from .select_few_put import PARTS, POSITIONS, RUNS
from .select_keep import keep_changed, keep_flagged, keep_true, keep_where, previous_in_slot
from .select_layout import FEW, NONE

INT64 = np.dtype(np.int64)
Fields = dict[str, Any]


class Meaning:
    """A compaction that users ask for.

    fields: (name of the function, dtype of the items, whether there are fewer than 2^31) -> what its `Compaction` says
    about it.  words: kinds of items of which only the bits count, so that they move as words of their size.
    function: the user's, if there is one.  plans: what was compiled for it.  calls: those that are known.
    """

    __slots__ = ("calls", "fields", "function", "plans", "words")

    def __init__(
        self, fields: Callable[[str, np.dtype[Any], bool], Fields], words: str = "", function: Any = None
    ) -> None:
        self.fields, self.words, self.function = fields, words, function
        self.plans: dict[Any, Any] = {}
        self.calls = CallTable() if function is None else CallTable(function)


def counting(few: bool) -> Fields:
    """Return how kept items are counted."""
    return {"summarise": tile.as_small_count, "zero": FEW} if few else {"summarise": tile.as_count, "zero": NONE}


def flagged(name: str, item: np.dtype[Any], few: bool) -> Fields:
    """Keep what has a true flag."""
    return {"keep": keep_flagged, **counting(few)}


def nonzero(name: str, item: np.dtype[Any], few: bool) -> Fields:
    """Keep the places of what is not 0."""
    no_records(name, item, "is 0")
    placed = {"positioned": True, "move": tile.move_positions, "emit": tile.emit_positions, "few": POSITIONS}
    return {"keep": keep_true, **placed, **counting(few)}


def unique(name: str, item: np.dtype[Any], few: bool) -> Fields:
    """Keep what differs from the item before it."""
    no_records(name, item, "equals another")
    return {"keep": keep_changed, "led": True, "previous": previous_in_slot, **counting(few)}


def encoded(name: str, item: np.dtype[Any], few: bool) -> Fields:
    """Keep what differs from the item before it, and how far it is to the next such item."""
    counted = {"summarise": runs.as_runs, "op": runs.join_runs, "zero": runs.NO_RUNS}
    written = {
        "positioned": True,
        "move": tile.move_both,
        "emit": runs.emit_runs,
        "finish": runs.finish_runs,
        "few": RUNS,
    }
    return {**unique(name, item, few), **counted, **written}


def partitioned(item: np.dtype[Any]) -> Fields:
    """Write what is not kept too."""
    return {
        "move": parts.move_parts,
        "emit": parts.emit_parts,
        "finish": parts.finish_parts,
        "after": parts.turning(item),
        "few": PARTS,
    }


def no_records(name: str, item: np.dtype[Any], what: str) -> None:
    """Refuse structured items."""
    if item.names:
        raise Refused(f"{name}: no record ({item}) {what}; pass one of its fields, x['name'].")


FLAGGED = Meaning(flagged, "biufcV")
NONZERO, UNIQUE, ENCODED = (Meaning(fields, "biu") for fields in (nonzero, unique, encoded))


def meaning_of(name: str, pred: Any) -> Meaning:
    """Return what the function `name` does with what `pred` is true for: it is kept with the function itself."""
    if not callable(pred):
        raise Refused(
            f"{name}: pred must be a function of an item, not {shown(pred)}; for flags there is select_flagged."
        )
    memo = memo_of(pred)
    key = Meaning, name
    found = memo.get(key)
    if found is None:
        check_function(name, "pred", pred)
        check_arguments(name, "pred", pred, 1)
        found = Meaning(_where(pred), function=pred)
        keep_in(memo, key, found)
    return found


def _where(pred: Callable[..., Any]) -> Callable[[str, np.dtype[Any], bool], Fields]:
    def fields(name: str, item: np.dtype[Any], few: bool) -> Fields:
        check_fields(name, item)
        asked = single(item)
        said = returned_dtype(pred, [asked])
        if said.names:
            raise Refused(f"{name}: pred returns a tuple; return one number or bool, which is true or not.")
        like = None if asked is item else zero_of(type_of(asked))
        rest = partitioned(item) if name == "partition" else {}
        return {"keep": keep_where(pred, like), **counting(few), **rest}

    return fields


def zero_of(kind: Any) -> Any:
    """Return a value of what `type_of` returns."""
    return tuple([zero_of(part) for part in kind]) if isinstance(kind, tuple) else kind(0)
