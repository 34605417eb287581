"""Bodies of kernels with one call of a function on items, arrays or tiles: see calls.py."""

from typing import Any

import numpy as np

from ...block import block_copy_async, block_copy_pipeline, block_copy_wait, shared_array
from ...simt.memory import local_array
from .given import Body, Given


def on_items(call: Body, given: Given) -> Body:
    """Load items, do call(items, x, y), store the items; the result is the call's."""
    count, dtype = given.items, given.dtype.type

    def body(x, y, m, s, i):
        items = local_array(count, dtype)
        for k in range(count):
            items[k] = x[i * count + k]
        result = call(items, x, y)
        for k in range(count):
            x[i * count + k] = items[k]
        return result

    return body


def changed(function: Any) -> Body:
    """Return a call of (items) without a result."""

    def call(items, x, y):
        function(items)
        return np.int32(0)

    return call


def items_alone(function: Any, given: Given) -> Body:
    """A thread's items, which are changed."""
    return on_items(changed(function), given)


def items_op(function: Any, given: Given) -> Body:
    """A thread's items, and an operator."""
    op = given.op
    if "adjacent" in function.__name__:
        return on_items(changed(lambda items: function(items, op)), given)
    return on_items(lambda items, x, y: function(items, op), given)


def items_op_init(function: Any, given: Given) -> Body:
    """A thread's items, an operator, and what it starts from."""
    op = given.op
    return on_items(lambda items, x, y: function(items, op, x[0]), given)


def items_ranks(function: Any, given: Given) -> Body:
    """A thread's items, and where each of them goes."""
    count = given.items

    def call(items, x, y):
        ranks = local_array(count, np.int32)
        for k in range(count):
            ranks[k] = y[k]
        function(items, ranks)
        return np.int32(0)

    return on_items(call, given)


def items_array(function: Any, given: Given) -> Body:
    """A thread's items, an array, and where in it the block's begin."""
    count, dtype = given.items, given.dtype.type

    def body(x, y, m, s, i):
        items = local_array(count, dtype)
        for k in range(count):
            items[k] = x[k]
        function(items, x, y[0])
        for k in range(count):
            x[i + k] = items[k]
        return np.int32(0)

    return body


def bins_bin(function: Any, given: Given) -> Body:
    """256 counters in shared memory, and a bin a thread."""

    def body(x, y, m, s, i):
        bins = shared_array(256, np.int32)
        bins[i] = 0
        function(bins, y[i])
        return bins[i]

    return body


def queue_value(function: Any, given: Given) -> Body:
    """A queue, and a value a thread."""
    return lambda x, y, m, s, i: function(x, y, x[i])


def queue_value_flag(function: Any, given: Given) -> Body:
    """A queue, a value a thread, and a condition."""
    return lambda x, y, m, s, i: function(x, y, x[i], y[i] != 0)


def queue_items(function: Any, given: Given) -> Body:
    """A queue, a thread's items, and a flag for each."""
    count = given.items

    def call(items, x, y):
        flags = local_array(count, np.int32)
        for k in range(count):
            flags[k] = y[k]
        return function(x, y, items, flags)

    return on_items(call, given)


def staging(function: Any, given: Given) -> Body:
    """The three functions that copy through stages, in one kernel: two stages of 256 items."""
    dtype = given.dtype.type

    def body(x, y, m, s, i):
        target = shared_array((2, 256), dtype)
        pipe = block_copy_pipeline(2)
        for stage in range(2):
            block_copy_async(pipe, target[stage], x, y[stage], y[2])
        block_copy_wait(pipe, 1)
        return target[0, i]

    return body


def tile_publish(function: Any, given: Given) -> Body:
    """Tile states, a tile, and what it adds up to."""

    def body(x, y, m, s, i):
        function(s, y[0], x[0])
        return np.int32(0)

    return body


def tile_prefix(function: Any, given: Given) -> Body:
    """As `tile_publish`, with an operator and what it starts from."""
    op = given.op
    return lambda x, y, m, s, i: function(s, y[0], x[0], op, x[1])


def tile_next(function: Any, given: Given) -> Body:
    """Tile states, and how many tiles there are."""
    return lambda x, y, m, s, i: function(s, y[0])


def grid_value(function: Any, given: Given) -> Body:
    """A value a thread, an operator, and scratch."""
    op = given.op
    return lambda x, y, m, s, i: function(x[i], op, s)
