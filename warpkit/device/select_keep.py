"""Which items a compaction keeps: functions of (value, the value before it, flags, place of its flag, first) -> bool.

What is true is what Python takes for true: any number but 0, NaN too.
"""

from collections.abc import Callable
from typing import Any

from ..simt.machine import device_function
from ..simt.types import as_index, cast_like, equal, hold


@device_function()
def is_true(value):
    """Return whether a number is not 0."""
    return not equal(value, cast_like(value, False))


@device_function()
def keep_true(value, previous, flags, place, first):
    """Keep what is not 0."""
    return is_true(value)


@device_function()
def keep_flagged(value, previous, flags, place, first):
    """Keep what has a flag that is not 0."""
    return is_true(hold(flags[as_index(place)]))


@device_function()
def keep_changed(value, previous, flags, place, first):
    """Keep the first item of all and what is not equal to the one before it, as a NaN never is."""
    return first or not equal(value, previous)


def keep_where(pred: Callable[..., Any], like: Any = None) -> Callable[..., Any]:
    """Return the function that keeps what `pred` is true for; with `like` it is asked with values of that type."""
    if like is None:

        def keep(value, previous, flags, place, first):
            return is_true(pred(value))

        return keep

    def keep_as(value, previous, flags, place, first):
        return is_true(pred(cast_like(like, value)))

    return keep_as


@device_function()
def no_previous(slot, at, value):
    """Return some value: what is before an item does not matter."""
    return value


@device_function()
def previous_in_slot(slot, at, value):
    """Return the item before place `at`, which is in the slot too, in front of the tile's own."""
    return hold(slot[as_index(at - 1)])
