"""From what is to be counted to a launch: where it is counted, with how many blocks, in what kernel."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import layout_of, remember
from ..host.program import Program
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec, scalar_spec, tuple_spec
from .calls import Items, Job, Use, check_shape, entered, output_of
from .clearing import SLICE, SLOTS
from .histogram_bins import BYTES, Finder
from .histogram_common import common_kernel
from .histogram_kernel import (
    Counting,
    place_itself,
    placing_bytes,
    private_kernel,
)
from .histogram_policy import DEFAULT, HistogramPolicy
from .overlap import check_beside
from .reduce_arguments import one_element
from .reduce_plan import COUNT, INVERSE, flat_of, reading_of
from .reduce_policy import ReducePolicy

RESULTS = tuple(np.dtype(kind) for kind in (np.int32, np.uint32, np.int64, np.uint64, np.float64))
INT32 = scalar_spec(np.int32)
STORE, COUNTERS = array_spec(np.int64, 1), tuple_spec((INT32, INT32))
NO_STORE = machine.array_payload(0, (0,), None, np.dtype(np.int64))
MOST_BINS, MOST_ITEMS_A_BLOCK, VALUES = (1 << 31) - 1, (1 << 31) - 1, 256


class Bins(NamedTuple):
    """What is counted. finder: see histogram_bins.py.  key: what it was made from.  number: of bins.

    numbers: (spec, payload) of what its functions take.  edges: likewise.
    """

    finder: Finder
    key: Any
    number: int
    numbers: tuple[Spec, Any]
    edges: Argument | None = None


def numbers_of(*values: Any) -> tuple[Spec, Any]:
    """Return (spec, payload) of a tuple of numbers: Python's as float64 and int64."""
    specs = [scalar_spec(np.asarray(value).dtype) for value in values]
    payloads = [machine.scalar_payload(spec, spec.dtype.type(value)) for spec, value in zip(specs, values)]
    return tuple_spec(tuple(specs)), machine.tuple_payload(payloads)


NO_EDGES = array_spec(np.int8, 1)
NO_EDGES_PAYLOAD = machine.array_payload(0, (0,), None, np.dtype(np.int8))


class Counter(NamedTuple):
    """A compiled kernel.

    private: its blocks have counters of their own.  shared: dynamic shared memory of a block.  most_blocks: resident at
    once.
    """

    kernel: machine.Kernel
    private: bool
    threads: int
    length: int
    loads: int
    counters: int
    copies: int
    shared: int
    most_blocks: int


_counters: dict[Any, Counter] = {}


def real_items(name: str, items: Items, also: str = "biuf") -> Items:
    """Return the items, bools as bytes; refuse what has no order."""
    dtype = items.source.dtype
    if dtype.kind not in also or dtype.names:
        wanted = "numbers that have an order" if "f" in also else "integers"
        raise Refused(f"{name}: x must hold {wanted}, not {dtype}; convert it, or pass a part of it.")
    if dtype != np.bool_:
        return items
    source = items.source
    layout = layout_of(np.dtype(np.uint8), source.shape, source.strides, source.readonly, "x")
    payload = layout.pack(source.pointer, source.owner)
    source = source._replace(spec=layout.spec, payload=payload, layout=layout)
    return Items(source, flat_of(layout, "x"), items.size, items.counter)


def counting_job(name: str, items: Items, bins: Bins, out: Any, stream: Any, policy: HistogramPolicy | None) -> Job:
    """Return the call that counts `items` in `bins`."""
    if policy is None:
        policy = DEFAULT
    elif not isinstance(policy, HistogramPolicy):
        raise Refused(f"{name}: policy must be a HistogramPolicy, not a {type(policy).__name__}.")
    target = None if out is None else as_output(out, "out")
    if target is not None:
        if target.dtype not in RESULTS:
            wanted = ", ".join(map(str, RESULTS))
            raise Refused(f"{name}: out must be one of {wanted}, on which atomic sums work, not {target.dtype}.")
        check_shape(name, target, (bins.number,))
        check_beside(name, target, x=items.source, num_items=items.counter, bins=bins.edges)
    handle, visitors = entered(stream, items.source, items.counter, bins.edges, target)
    result, target = output_of(out, (bins.number,), np.int64, handle)
    if not bins.number:
        return Job(None, (0, 0, 0), (0, 0, 0), 0, (), result, handle)
    counter = counter_of(items, bins, target, policy)
    blocks = blocks_of(counter, items, bins.number, policy)
    inverses = [machine.scalar_payload(INVERSE, 1 / max(extent, 1)) for extent in (1, *items.flat.extents[1:])]
    payloads = (
        items.payload,
        items.count_payload,
        machine.tuple_payload(inverses),
        bins.numbers[1],
        NO_EDGES_PAYLOAD if bins.edges is None else bins.edges.payload,
        machine.tuple_payload([machine.scalar_payload(INT32, value) for value in (counter.counters, counter.copies)]),
        Use("histogram", STORE, SLOTS) if blocks > 1 else NO_STORE,
        target.payload,
    )
    held = (items, bins, target)
    return Job(
        counter.kernel,
        (blocks, 1, 1),
        (counter.threads, 1, 1),
        counter.shared,
        payloads,
        result,
        handle,
        visitors,
        held,
    )


def blocks_of(counter: Counter, items: Items, bins: int, policy: HistogramPolicy) -> int:
    """Return how many blocks a launch takes."""
    size, most = items.size, counter.most_blocks
    blocks = -(-(size // counter.length) // (counter.threads * counter.loads))
    if counter.private:
        if size * items.source.dtype.itemsize < policy.full_from:
            most = min(most, machine.properties().multiprocessors)
        blocks = min(blocks, size // (policy.worth * counter.counters))
        blocks = max(min(blocks, most), -(-size // MOST_ITEMS_A_BLOCK))
    else:
        blocks = min(max(blocks, -(-bins // SLICE)), most)
    return max(blocks, 1)


def counter_of(items: Items, bins: Bins, target: Argument, policy: HistogramPolicy) -> Counter:
    """Return the compiled kernel for such items, bins and output, and how it is launched."""
    array, count = items.flat.spec, items.counter
    counters, shift = copies_of(array.dtype, bins.number, items.size, policy)
    key = (
        array, bins.key, bins.numbers[0], None if bins.edges is None else bins.edges.spec, target.spec,
        None if count is None else count.dtype, shift, counters if shift >= 0 else 0, policy, machine.context_key(),
    )  # fmt: skip
    return _counters.get(key) or remember(_counters, key, _compiled(items, bins, target, policy, counters, shift))


def copies_of(item: np.dtype[Any], bins: int, size: int, policy: HistogramPolicy) -> tuple[int, int]:
    """Return (how many counters a block has of its own, exponent of their copies, −1 where it has none)."""
    properties = machine.properties()
    counters = VALUES if item.itemsize == 1 else bins
    most = min(policy.most_shared, properties.shared_per_block - 1024)
    few = 8 * counters <= policy.shared or size >= 2 * policy.worth * counters * properties.multiprocessors
    if (4 * (counters + 2) > most or not few) and item.itemsize > 1:
        return counters, -1
    shift = 0
    while shift < 5 and 8 * counters << shift <= policy.shared:
        shift += 1
    return counters, shift


def counting_kernel(
    finder: Finder, array: ArraySpec, counted: bool, result: np.dtype[Any], shift: int, policy: HistogramPolicy
) -> tuple[Callable[..., Any], Any]:
    """Return the kernel function and how it reads."""
    reading = reading_of(array, counted, ReducePolicy(loads=policy.loads))
    place = place_itself
    if array.dtype.itemsize == 1 and shift >= 0:
        finder, place = BYTES, placing_bytes(finder, array.dtype.type)
    what = Counting(
        finder,
        place,
        reading,
        result.type,
        policy.threads,
        max(shift, 0),
        int(policy.table).bit_length() - 1,
        policy.emptied,
    )
    return (private_kernel if shift >= 0 else common_kernel)(what), reading


def options_for(array: ArraySpec, shift: int, policy: HistogramPolicy) -> Options:
    """Return how such a kernel is compiled: reading several axes, or counting together, takes more registers."""
    few = array.contiguous and shift >= 0
    return Options(launch_bounds=(policy.threads, max(policy.resident // policy.threads >> (not few), 1)))


def specs_of(array: ArraySpec, count: Any, numbers: Spec, edges: Any, out: Any) -> tuple[Spec, ...]:
    """Return the specs of a counting kernel's arguments."""
    inverses = tuple_spec((INVERSE,) * max(array.ndim, 1))
    return (array, count or COUNT, inverses, numbers, edges or NO_EDGES, COUNTERS, STORE, out)


def _compiled(
    items: Items, bins: Bins, target: Argument, policy: HistogramPolicy, counters: int, shift: int
) -> Counter:
    array, count = items.flat.spec, items.counter
    edges = None if bins.edges is None else bins.edges.spec
    function, reading = counting_kernel(bins.finder, array, count is not None, target.dtype, shift, policy)
    specs = specs_of(array, None if count is None else one_element(count), bins.numbers[0], edges, target.spec)
    kernel = Program(function, options_for(array, shift, policy)).compiled(specs)[0].kernel
    shared = 4 * ((((counters + 2) << shift) + 3) & ~3) if shift >= 0 else 8 * policy.table
    resident = machine.occupancy(kernel, policy.threads, shared) * machine.properties().multiprocessors
    return Counter(
        kernel,
        shift >= 0,
        policy.threads,
        reading.length,
        policy.loads,
        counters,
        1 << max(shift, 0),
        shared,
        max(resident, 1),
    )
