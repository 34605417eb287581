"""Which bin a value is in.

A `Finder` has two device functions. find: (value, numbers, edges) -> (int32 bin; −1, or as many as there are bins, for
none; whether that is certain).  settle: (value, numbers, edges) -> the bin of a value for which it is not.

For even bins see histogram_edges.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..block.shape import int32
from ..simt.machine import device_function
from ..simt.types import as_index, as_int64, cast_like, hold
from .sorted_search import leading, not_above


class Finder(NamedTuple):
    """How bins are found."""

    find: Callable[..., Any]
    settle: Callable[..., Any]


@device_function()
def never_settled(value, numbers, edges):
    """Return −1: what was found is certain."""
    return int32(-1)


@device_function()
def find_number(value, numbers, edges):
    """Return the value itself, an integer, where it is the number of a bin; numbers: (bins,)."""
    number = as_int64(value)
    return int32(number if 0 <= number and number < numbers[0] else -1), True


@device_function()
def find_byte(value, numbers, edges):
    """Return the bits of an integer of one byte."""
    return int32(as_int64(value) & 255), True


NUMBERS, BYTES = Finder(find_number, never_settled), Finder(find_byte, never_settled)


def finding_between(kind: Any) -> Finder:
    """Return what finds bins between given edges; values and edges are compared as `kind`."""
    like = kind(0)

    def find_between(value, numbers, edges):
        number = cast_like(like, value)
        last = int32(edges.size - 1)
        found = int32(leading(edges, number, not_above) - 1)
        if found == last:  # on the last edge, which belongs to the last bin, or beyond it
            found = int32(last - 1 if number <= cast_like(like, hold(edges[as_index(last)])) else -1)
        return found, True

    return Finder(find_between, never_settled)
