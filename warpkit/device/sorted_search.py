"""Looking a value up among sorted ones, for one thread by itself."""

from ..block.shape import int32
from ..simt.machine import device_function
from ..simt.types import as_index, cast_like, hold


@device_function()
def leading(values, value, comes_before):
    """Return how many values come before `value`, int32, where those that do are the first ones.

    comes_before: (one of the values in the type of `value`, value) -> whether it does.
    """
    low, left = int32(0), int32(values.size)
    while left > 0:
        half = int32(left >> 1)
        if comes_before(cast_like(value, hold(values[as_index(low + half)])), value):
            low, left = int32(low + half + 1), int32(left - half - 1)
        else:
            left = half
    return low


@device_function()
def not_above(edge, value):
    """Return edge <= value: False for NaN."""
    return edge <= value


@device_function()
def not_above_or_nan(edge, value):
    """Return edge <= value, True for a value of NaN: it comes after everything."""
    return not value < edge


@device_function()
def below_or_nan(edge, value):
    """Return edge < value, True for a value of NaN."""
    return not edge >= value


@device_function()
def above(edge, value):
    """Return edge > value: False for NaN, which comes before everything that descends."""
    return edge > value


@device_function()
def not_below(edge, value):
    """Return edge >= value: False for NaN."""
    return edge >= value
