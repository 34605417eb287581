"""Everything about a reduction that does not depend on the array's address: kernel, grid, constants.

A `Reduction` is for one meaning, one kind of array, one dtype of result. What depends on the number of items is kept
for the sizes that were met, so that a repeated call is a few look-ups and one launch.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD
from ..errors import Refused
from ..host.arrays_layout import Argument, Layout, remember
from ..host.dtypes import type_of
from ..host.launch import captured_arguments
from ..host.program import Program
from ..host.scratch import reset, scratch
from ..simt import machine
from ..simt.specs import ArraySpec, Spec, array_spec, scalar_spec, tuple_spec
from ..simt.states import state_dtype
from .reduce_free import free_kernel
from .reduce_meaning import Meaning
from .reduce_ordered import ordered_kernel
from .reduce_policy import ReducePolicy
from .reduce_reading import (
    FETCH_ELEMENT,
    VECTOR_BYTES,
    Reading,
    count_given,
    count_on_device,
    fetch_vector,
    items_before_vectors,
    no_items_before,
)

MOST_AXES = len(FETCH_ELEMENT)
MOST_ITEMS = 1 << 50  # what a division by multiplication is exact for
MOST_AT_ONCE = (1 << 31) - 64  # what 32 bits are enough for
COUNT, INVERSE, NOTHING = scalar_spec(np.int64), scalar_spec(np.float64), scalar_spec(np.int8)
NO_INIT = machine.scalar_payload(NOTHING, 0)
SHARES = "shares"  # what blocks leave for the last one: a use of scratch


class Flat(NamedTuple):
    """An array as a sequence of items in C order.

    spec: of what the kernel gets: one axis where the items follow each other, else as few as do.  pack: (address,
    owner) -> payload; None: that of the array itself.  extents: of several axes.
    """

    spec: ArraySpec
    pack: Callable[[int, Any], Any] | None
    size: int
    extents: tuple[int, ...]


_flats: dict[Layout, Flat] = {}


def flat_of(layout: Layout, name: str) -> Flat:
    """Return how an array of this layout is read; refuse what is none, or has too many axes that do not line up."""
    found = _flats.get(layout)
    if found is None:
        if not isinstance(layout.spec, ArraySpec):
            raise Refused(f"{name} must be a device array, not a scalar or a tuple.")
        found = remember(_flats, layout, _flattened(layout, name))
    return found


def _flattened(layout: Layout, name: str) -> Flat:
    dtype = layout.dtype
    if layout.strides is None:
        spec = array_spec(dtype, 1)  # read-only or not, it is only read
        pack = None if len(layout.shape) == 1 else machine.array_packer((layout.size,), None, dtype)
        return Flat(spec, pack, layout.size, ())
    axes = lined_up(layout.shape, layout.strides)
    if len(axes) > MOST_AXES:
        raise Refused(
            f"{name} (shape {layout.shape}, strides {layout.strides}) has {len(axes)} axes that do not line up, and at "
            f"most {MOST_AXES} are read in place: copy it to a contiguous array first."
        )
    shape, strides = tuple([extent for extent, _ in axes]), tuple([stride for _, stride in axes])
    pack = machine.array_packer(shape, strides, dtype)
    return Flat(array_spec(dtype, len(axes), False), pack, layout.size, shape if len(axes) > 1 else ())


def lined_up(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (extent, stride) of the fewest axes that walk the same items in the same order, at least one."""
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = axes[-1][0] * extent, stride
        else:
            axes.append((extent, stride))
    return axes or [(1, 0)]


class Sized(NamedTuple):
    """What a launch over a number of items takes. slots: of scratch; 0: it takes none."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    slots: int
    count: Any
    inverses: Any


def kernel_of(
    meaning: Meaning,
    reading: Reading,
    array: ArraySpec,
    total: np.dtype[Any],
    result: np.dtype[Any],
    init: Spec | None,
    count: ArraySpec | None,
) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """Return the kernel function of a reduction and the specs of its arguments."""
    inverses, store = tuple_spec((INVERSE,) * max(array.ndim, 1)), array_spec(state_dtype(total), 1)
    specs = (array, count or COUNT, inverses, init or NOTHING, store, array_spec(result, 1))
    return (ordered_kernel if meaning.ordered else free_kernel)(meaning, reading), specs


class Reduction:
    """A reduction compiled for one kind of array.

    array: spec of the items.  result: dtype of `out`.  init: spec of what the kernel gets for it.  count: spec of the
    array that holds the number of items; None where the host knows it.  fixed: no function of the user's is in it.
    """

    def __init__(
        self,
        meaning: Meaning,
        array: ArraySpec,
        total: np.dtype[Any],
        result: np.dtype[Any],
        init: Spec | None,
        count: ArraySpec | None,
        policy: ReducePolicy,
        fixed: bool,
    ) -> None:
        self.reading = reading_of(array, count is not None, policy)
        self.policy, self.ordered, self.fixed, self.total, self.result = policy, meaning.ordered, fixed, total, result
        kernel, self.specs = kernel_of(meaning, self.reading, array, total, result, init, count)
        self.store = array_spec(state_dtype(total), 1)
        self.no_store = machine.array_payload(0, (0,), None, self.store.dtype)
        self.program = Program(kernel)
        self._adopt(self.program.compiled(self.specs)[0].kernel)

    def _adopt(self, kernel: machine.Kernel) -> None:
        """Launch this kernel from now on; how many threads a block has, and how many blocks a grid, depends on it."""
        most = 1 << (kernel.max_threads.bit_length() - 1)
        self.threads, self.single_threads = min(self.policy.threads, most), min(self.policy.single_threads, most)
        resident = machine.occupancy(kernel, self.threads, 0) * machine.properties().multiprocessors
        self.most_blocks = resident * self.policy.waves
        self._sizes: dict[Any, Sized] = {}
        self.kernel = kernel

    def captured(self, stream: int) -> Sequence[Argument]:
        """Let the kernel be that of what the user's functions are by now; return the arrays that they capture."""
        if self.fixed:
            return ()
        compiled, known = self.program.compiled(self.specs)
        if compiled.kernel is not self.kernel:
            self._adopt(compiled.kernel)
        return captured_arguments(known, compiled.captured, stream) if compiled.captured else ()

    def sized(self, n: int, extents: tuple[int, ...]) -> Sized:
        """Return what a launch over `n` items takes, of an array with these extents."""
        key = (n, extents) if extents else n
        return self._sizes.get(key) or remember(self._sizes, key, self._size(n, extents))

    def _size(self, n: int, extents: tuple[int, ...]) -> Sized:
        policy, reads = self.policy, n // self.reading.length
        if reads <= policy.single_loads:
            wanted = -(-reads // policy.single_least)
            threads, blocks = min(power_of_two(max(wanted, 32)), self.single_threads), 1
        else:
            threads = self.threads
            blocks = max(1, min(-(-reads // (threads * policy.least_loads)), self.most_blocks))
        parts = blocks * (threads // 32) if self.ordered else blocks
        at_once = not self.ordered and reads <= blocks * threads * policy.loads and n < MOST_AT_ONCE
        inverses = [0 if at_once else 1 / parts, *[1 / max(extent, 1) for extent in extents[1:]]]
        payload = machine.tuple_payload([machine.scalar_payload(INVERSE, value) for value in inverses])
        slots = blocks + HEAD if blocks > 1 else 0
        return Sized((blocks, 1, 1), (threads, 1, 1), slots, machine.scalar_payload(COUNT, n), payload)

    def launch(
        self, sized: Sized, array: Any, count: Any, init: Any, out: Any, captured: Sequence[Argument], stream: int
    ) -> None:
        """Launch on `stream`; array, count, init and out are payloads, `count` None for the host's."""
        store, memory = self.no_store, None
        if sized.slots:
            memory = scratch(SHARES, self.store, sized.slots, stream)
            store = memory.argument.payload
        payloads = [array, sized.count if count is None else count, sized.inverses, init, store, out]
        if captured:
            payloads += [argument.payload for argument in captured]
        try:
            self.kernel.launch(sized.grid, sized.block, 0, stream, payloads)
        except BaseException:
            if memory is not None:
                reset(memory, stream)
            raise


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


def reading_of(array: ArraySpec, counted: bool, policy: ReducePolicy) -> Reading:
    """Return how the items of such an array are read: 16 bytes at once where they follow each other and divide 16."""
    number = count_on_device if counted else count_given
    size, item = array.dtype.itemsize, type_of(array.dtype)
    fetch_item = FETCH_ELEMENT[array.ndim]
    if array.contiguous and not array.dtype.names and size in (1, 2, 4, 8):
        shift = size.bit_length() - 1
        return Reading(
            number, items_before_vectors, fetch_vector, fetch_item, VECTOR_BYTES // size, shift, policy.loads, item
        )
    return Reading(number, no_items_before, fetch_item, fetch_item, 1, 0, policy.loads, item)
