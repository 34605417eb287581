"""Which of few items a thread holds, and which of them its warp keeps: read from memory into registers at once."""

from collections.abc import Callable
from typing import Any

from ..block.shape import int32, lane_number, warp_number
from ..simt.bits import popcount
from ..simt.lanes import ballot, lanes_below
from ..simt.machine import device_function
from ..simt.memory import local_array
from ..simt.types import as_int64, hold
from ..warp.participants import FULL_MASK
from .select_layout import NOTHING, Compaction
from .tiles import TAKE


@device_function()
def first_of(items):
    """Return which item of its tile is the first of this thread, int32: the others follow 32 apart."""
    return int32(warp_number() * (32 * items) + lane_number())


def reading(what: Compaction) -> Callable[..., Any]:
    """Return the function that reads items of a thread, and what is before them and flags if those are asked for.

    (values, earlier, marks, source, flags, first, step, last): from item `first` on, `step` apart; what lies behind
    `last` is `last` again, so that no read waits for a condition.
    """
    take, take_flag = TAKE[what.axes], TAKE[what.flag_axes]

    def read(values, earlier, marks, source, flags, first, step, last):
        for j in range(values.size):
            values[j] = hold(take(source, as_int64(min(int32(first + j * step), last))))

    def read_led(values, earlier, marks, source, flags, first, step, last):
        read(values, earlier, marks, source, flags, first, step, last)
        for j in range(values.size):
            before = min(int32(first + j * step - 1), last)
            earlier[j] = hold(take(source, as_int64(before if before > 0 else 0)))

    def read_flagged(values, earlier, marks, source, flags, first, step, last):
        read(values, earlier, marks, source, flags, first, step, last)
        for j in range(values.size):
            marks[j] = hold(take_flag(flags, as_int64(min(int32(first + j * step), last))))

    return read_flagged if what.flag is not None else read_led if what.led else read


def asking(what: Compaction) -> Callable[..., Any]:
    """Return the function (values, earlier, marks, j, at, end) that says whether value `j` is kept.

    It is item `at`, and not asked about from `end` on.
    """
    keep = what.keep

    def ask(values, earlier, marks, j, at, end):
        kept = False
        if at < end:
            kept = keep(hold(values[j]), hold(earlier[j]), marks, j, at == 0)
        return kept

    return ask


def counting(what: Compaction, loads: int) -> Callable[..., Any]:
    """Return the function (source, flags, first, step, end) -> how many items this thread keeps.

    These are the items from `first` on, `step` apart, before `end`; `loads`: how many are read before any is looked at.
    """
    read, ask, item, mark = reading(what), asking(what), what.item, what.flag or NOTHING

    def count(source, flags, first, step, end):
        values, earlier, marks = local_array(loads, item), local_array(loads, item), local_array(loads, mark)
        kept, at = int32(0), int32(first)
        while at < end:
            read(values, earlier, marks, source, flags, at, step, int32(end - 1))
            for j in range(loads):
                if ask(values, earlier, marks, j, int32(at + j * step), end):
                    kept = int32(kept + 1)
            at = int32(at + loads * step)
        return kept

    return count


def holding(what: Compaction, items: int) -> Callable[..., Any]:
    """Return the function (values, places, source, flags, first, num_items) -> how many items the warp keeps.

    It reads the thread's items, and says in `places` where each belongs: behind how many of the warp's that are kept;
    of one that is not kept it says −1 less that number.
    """
    read, ask, item, mark = reading(what), asking(what), what.item, what.flag or NOTHING

    def fill(values, places, source, flags, first, num_items):
        earlier, marks = local_array(items, item), local_array(items, mark)
        if num_items > 0:
            read(values, earlier, marks, source, flags, first, int32(32), int32(num_items - 1))
        kept = int32(0)
        for j in range(items):
            own = ask(values, earlier, marks, j, int32(first + 32 * j), num_items)
            votes = ballot(FULL_MASK, own)
            place = int32(kept + popcount(votes & lanes_below()))
            places[j] = place if own else int32(-1 - place)
            kept = int32(kept + popcount(votes))
        return kept

    return fill
