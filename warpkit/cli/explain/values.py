"""Bodies of kernels with one call of a function that takes a value a thread: see calls.py."""

from typing import Any

from .given import Body, Given, takes


def alone(function: Any, given: Given) -> Body:
    """Nothing but, perhaps, a mask."""
    masked = given.masked
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(masked(m))
    return lambda x, y, m, s, i: function()


def value(function: Any, given: Given) -> Body:
    """A value a thread."""
    masked, width = given.masked, given.width
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(x[i], mask=masked(m), width=width)
    return lambda x, y, m, s, i: function(x[i])


def predicate(function: Any, given: Given) -> Body:
    """A condition a thread."""
    masked, width = given.masked, given.width
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(x[i] != x[0], mask=masked(m), width=width)
    return lambda x, y, m, s, i: function(x[i] != x[0])


def value_op(function: Any, given: Given) -> Body:
    """A value a thread, and an operator."""
    op, masked, width = given.op, given.masked, given.width
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(x[i], op, mask=masked(m), width=width)
    return lambda x, y, m, s, i: function(x[i], op)


def value_op_init(function: Any, given: Given) -> Body:
    """A value a thread, an operator, and what it starts from."""
    op, masked, width = given.op, given.masked, given.width
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(x[i], op, x[0], mask=masked(m), width=width)
    return lambda x, y, m, s, i: function(x[i], op, x[0])


def value_op_number(function: Any, given: Given) -> Body:
    """A value a lane, an operator, and how many lanes count."""
    op, masked, width = given.op, given.masked, given.width
    return lambda x, y, m, s, i: function(x[i], op, y[0], mask=masked(m), width=width)


def value_number(function: Any, given: Given) -> Body:
    """A value a thread, and a small integer."""
    masked, width = given.masked, given.width
    if takes(function, "mask"):
        return lambda x, y, m, s, i: function(x[i], y[i], mask=masked(m), width=width)
    return lambda x, y, m, s, i: function(x[i], y[0])


def value_number_op(function: Any, given: Given) -> Body:
    """A value a lane, a small integer, and an operator."""
    op, masked, width = given.op, given.masked, given.width
    return lambda x, y, m, s, i: function(x[i], y[i], op, mask=masked(m), width=width)


def value_flag(function: Any, given: Given) -> Body:
    """A value a lane, and a condition."""
    masked, width = given.masked, given.width
    return lambda x, y, m, s, i: function(x[i], y[i] != 0, mask=masked(m), width=width)


def value_flag_op(function: Any, given: Given) -> Body:
    """A value a lane, a condition, and an operator."""
    op, masked, width = given.op, given.masked, given.width
    return lambda x, y, m, s, i: function(x[i], y[i] != 0, op, mask=masked(m), width=width)


def key_value(function: Any, given: Given) -> Body:
    """A key and a value a lane."""
    masked, width = given.masked, given.width
    return lambda x, y, m, s, i: function(x[i], y[i], mask=masked(m), width=width)
