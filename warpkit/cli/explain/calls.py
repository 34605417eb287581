"""Kernels with one call of a warp, block or grid function, for `explain`: what each of its parameters is given.

A *shape* is the names of a function's parameters that have no default. Its maker takes the function and what is `Given`
and returns a body: (x: items, y: small integers, m: a mask, s: tile states, i: this thread) -> what the kernel keeps.
The result of a function without one is 0: what it has done is in the items, which are stored again.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from ... import ops
from ...simt.specs import Spec, array_spec, scalar_spec, tuple_spec
from ...simt.states import state_dtype
from . import items, values
from .given import Body, Given, required

OPERATORS = {name: getattr(ops, name) for name in ops.__all__}
OWN_OPERATORS = {
    "block_adjacent_difference": operator.sub,
    "block_discontinuity_heads": operator.ne,
    "block_discontinuity_tails": operator.ne,
}
"""Of functions whose operator is no way of combining."""
Maker = Callable[[Any, Given], Body]

SHAPES: dict[tuple[str, ...], Maker] = {
    (): values.alone,
    ("value",): values.value,
    ("pred",): values.predicate,
    ("value", "op"): values.value_op,
    ("value", "op", "init"): values.value_op_init,
    ("value", "op", "num_valid"): values.value_op_number,
    **{("value", name): values.value_number for name in ("lane", "delta", "lane_mask", "key", "thread")},
    ("value", "key", "op"): values.value_number_op,
    ("value", "head"): values.value_flag,
    ("value", "head", "op"): values.value_flag_op,
    ("value", "tail", "op"): values.value_flag_op,
    ("key", "value"): values.key_value,
    ("items",): items.items_alone,
    ("items", "op"): items.items_op,
    ("items", "op", "init"): items.items_op_init,
    ("items", "ranks"): items.items_ranks,
    ("items", "source", "base"): items.items_array,
    ("items", "target", "base"): items.items_array,
    ("bins", "bin"): items.bins_bin,
    ("buffer", "counter", "value"): items.queue_value,
    ("buffer", "counter", "value", "pred"): items.queue_value_flag,
    ("buffer", "counter", "items", "flags"): items.queue_items,
    ("stages",): items.staging,
    ("pipe", "stages_left"): items.staging,
    ("pipe", "target_shared", "source", "base", "num_items"): items.staging,
    ("states", "tile", "aggregate"): items.tile_publish,
    ("states", "tile", "aggregate", "op", "init"): items.tile_prefix,
    ("states", "num_tiles"): items.tile_next,
    ("value", "op", "scratch"): items.grid_value,
}


def body_of(function: Any, given: Given) -> tuple[Body, tuple[Spec, ...]]:
    """Return the body of a kernel with one call, and the specs of what it takes."""
    states = {"states", "scratch"} & set(required(function))
    specs = (
        array_spec(given.dtype, 1),
        array_spec(np.int32, 1),
        scalar_spec(np.uint32),
        array_spec(state_dtype(given.dtype) if states else np.int32, 1),
    )
    return SHAPES[required(function)](function, given), specs


def kernel_of(body: Body, result: np.dtype[Any]) -> tuple[Body, Spec]:
    """Return the kernel that keeps a body's result, one value or a pair, and the spec of its last argument."""
    if result.names is None:

        def keep(x, y, m, s, out):
            i = cuda.grid(1)
            out[0][i] = body(x, y, m, s, i)

        return keep, tuple_spec((array_spec(result, 1),))

    def keep_pair(x, y, m, s, out):
        i = cuda.grid(1)
        first, second = body(x, y, m, s, i)
        out[0][i] = first
        out[1][i] = second

    return keep_pair, tuple_spec(tuple(array_spec(result[name], 1) for name in result.names))
