"""The kernel that calls a function for every item of several arrays: a chain of levels, one for each array.

A thread works on `loads` vectors, each of `length` neighbouring items. The level of an output makes room for results,
calls what is inside, and stores them; the level of an input makes room for items, reads all of them, and calls what is
inside; innermost the function is called item by item. So whatever arrays there are, all reads come first, and each is
as wide as its array allows. Levels are plain functions that close over what is inside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..simt.lanes import block_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import load_vector, local_array, store_vector
from ..simt.types import cast_like, hold
from .reduce_reading import FETCH_ELEMENT, PLACES

SINGLE = np.float32(0)
Function = Callable[..., Any]


class Port(NamedTuple):
    """How a kernel reads or writes one array. item: type of its items in registers.  axes: that it is accessed by.

    nbytes: of a vector that is moved in one access; 0: item by item.  whole: what is no array of items, and goes to the
    function as it is.  half: items are float16, which the function gets as float32.  record: they are structured.
    """

    item: Any
    axes: int = 1
    nbytes: int = 0
    whole: bool = False
    half: bool = False
    record: bool = False


class Form(NamedTuple):
    """How a thread works. length: items of a vector.  loads: vectors.  threads: of a block."""

    length: int
    loads: int
    threads: int


@device_function()
def alone(value):
    """Return a tuple of one value."""
    return (value,)


@device_function()
def whole_value(values, j):
    """Return what goes to the function as it is."""
    return values


@device_function()
def item_value(values, j):
    """Return an item."""
    return values[j]


@device_function()
def half_value(values, j):
    """Return a float16 item as float32."""
    return cast_like(SINGLE, values[j])


@device_function()
def no_values(inputs, j):
    """Return the arguments of a function that has none."""
    return ()


@device_function()
def no_result(outputs, j, result):
    """Store nothing."""


def moving(port: Port, length: int, fetch: bool) -> Function:
    """Return the function (items, slot, array, index, inverses) that reads or stores a vector."""
    nbytes = port.nbytes
    if nbytes:

        def load(items, slot, x, index, inverses):
            load_vector(items, slot, x, index, nbytes)

        def store(items, slot, x, index, inverses):
            store_vector(items, slot, x, index, nbytes)

        return load if fetch else store
    one = FETCH_ELEMENT[port.axes] if fetch else storing(port)
    if length == 1:
        return one

    def each(items, slot, x, index, inverses):
        for j in range(length):
            one(items, slot + j, x, index + j, inverses)

    return each


def storing(port: Port) -> Function:
    """Return the function that stores one item."""
    place = PLACES[port.axes]

    def store_item(items, slot, x, index, inverses):
        x[place(x, index, inverses)] = items[slot]

    def store_record(items, slot, x, index, inverses):
        x[place(x, index, inverses)] = cast_like(hold(x[place(x, index, inverses)]), items[slot])

    return store_record if port.record else store_item


def reading(k: int, port: Port, form: Form, inner: Function) -> Function:
    """Return the level of input `k`."""
    if port.whole:

        def hand_on(sources, targets, base, first, limit, inputs, outputs):
            inner(sources, targets, base, first, limit, inputs + alone(sources[k]), outputs)

        return hand_on
    fetch, item, length, loads, threads = moving(port, form.length, True), port.item, *form
    held = loads * length

    def read(sources, targets, base, first, limit, inputs, outputs):
        items = local_array(held, item)
        for vector in range(loads):
            at = first + vector * threads
            if at < limit:
                fetch(items, vector * length, sources[k][0], base + at * length, sources[k][1])
        inner(sources, targets, base, first, limit, inputs + alone(items), outputs)

    return read


def writing(k: int, port: Port, form: Form, inner: Function) -> Function:
    """Return the level of output `k`."""
    store, item, length, loads, threads = moving(port, form.length, False), port.item, *form
    held = loads * length

    def write(sources, targets, base, first, limit, inputs, outputs):
        items = local_array(held, item)
        inner(sources, targets, base, first, limit, inputs, outputs + alone(items))
        for vector in range(loads):
            at = first + vector * threads
            if at < limit:
                store(items, vector * length, targets[k][0], base + at * length, targets[k][1])

    return write


def giving(k: int, port: Port, before: Function) -> Function:
    """Return the function (inputs, j) -> the function's arguments up to number `k`."""
    value = whole_value if port.whole else half_value if port.half else item_value

    def give(inputs, j):
        return before(inputs, j) + alone(value(inputs[k], j))

    return give


def putting(k: int, several: bool, before: Function) -> Function:
    """Return the function (outputs, j, result) that puts results up to number `k` in registers, in their types."""

    def put(outputs, j, result):
        before(outputs, j, result)
        outputs[k][j] = cast_like(outputs[k][j], result[k])

    def put_whole(outputs, j, result):
        outputs[k][j] = cast_like(outputs[k][j], result)

    return put if several else put_whole


def calling(function: Function, sources: tuple[Port, ...], targets: int, several: bool, form: Form) -> Function:
    """Return the innermost level, which calls the function item by item."""
    length, loads, threads = form
    give, put = no_values, no_result
    for k, port in enumerate(sources):
        give = giving(k, port, give)
    for k in range(targets):
        put = putting(k, several, put)

    def call(sources, targets, base, first, limit, inputs, outputs):
        for vector in range(loads):
            if first + vector * threads < limit:
                for j in range(length):
                    slot = vector * length + j
                    put(outputs, slot, function(*give(inputs, slot)))

    return call


def chain(
    function: Function, sources: tuple[Port, ...], targets: tuple[Port, ...], several: bool, form: Form
) -> Function:
    """Return all levels, one in the other, outputs outermost."""
    run = calling(function, sources, len(targets), several, form)
    for k in reversed(range(len(sources))):
        run = reading(k, sources[k], form, run)
    for k in reversed(range(len(targets))):
        run = writing(k, targets[k], form, run)
    return run


def transform_kernel(
    function: Function, number: Function, sources: tuple[Port, ...], targets: tuple[Port, ...], several: bool,
    form: Form,
) -> Function:  # fmt: skip
    """Return the kernel that stores what `function` returns for every item.

    Called by: a flat grid of blocks of `form.threads` threads, at least one, with one vector for each of their loads.
    Args: count: see `number`.  head: how many items lie before the first vector.  sources: (array, 1 / its extents)
    each, or what goes to the function as it is.  targets: (array, 1 / its extents) each.
    several: the function returns a tuple, and its parts go to one target each.
    """
    run, tile, shift = chain(function, sources, targets, several, form), form.loads * form.threads, form.length - 1
    shift = shift.bit_length()

    def transform_items(count, head, sources, targets):
        first = block_x() * tile + thread_x()
        run(sources, targets, 0 * first, first, number(count, targets[0][0]), (), ())

    if form.length == 1:
        return transform_items
    single = [port._replace(nbytes=0) for port in sources], [port._replace(nbytes=0) for port in targets]
    run_one = chain(function, tuple(single[0]), tuple(single[1]), several, Form(1, 1, form.threads))

    def transform_vectors(count, head, sources, targets):
        n = number(count, targets[0][0])
        before = min(head, n)
        vectors = (n - before) >> shift
        tail = n - before - (vectors << shift)
        if block_x() == 0:  # the items before and behind the vectors
            place = thread_x() + 0 * n
            limit = n if place < before + tail else 0 * n
            run_one(sources, targets, 0 * n, place if place < before else n - tail + (place - before), limit, (), ())
        run(sources, targets, before, block_x() * tile + thread_x(), vectors, (), ())

    return transform_vectors
