"""Everything about a reduction that does not depend on the array's address: kernels, grids, constants.

A `Reduction` is for one meaning, one kind of array, one dtype of result. Each of its kernels is compiled when a number
of items asks for it. What depends on that number is kept for those that were met, so that a repeated call is a few
look-ups and one launch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD
from ..host.arrays_layout import Argument, remember
from ..host.launch import captured_arguments
from ..host.program import Program
from ..host.scratch import reset, scratch
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec, tuple_spec
from ..simt.states import state_dtype
from .reduce_few import FewShape, few_kernel
from .reduce_free import free_kernel
from .reduce_meaning import Meaning
from .reduce_ordered import ordered_kernel
from .reduce_plan import COUNT, INVERSE, NOTHING, reading_of
from .reduce_policy import ReducePolicy, power_of_two

MOST_BYTES = 16  # of an item or a total, where a thread keeps several
MOST_AT_ONCE = (1 << 31) - 64  # items that 32 bits are enough for
SHARES = "shares"  # what blocks leave for the last one: a use of scratch


@dataclass(frozen=True)
class ReductionOf:
    """What a reduction is compiled for.

    array: spec of the items.  total: dtype of what is combined.  result: dtype of `out`.  init: spec of what the kernel
    gets for it.  count: spec of the array that holds the number of items; None where the host knows it.  fixed: no
    function of the user's is in it.
    """

    meaning: Meaning
    array: ArraySpec
    total: np.dtype[Any]
    result: np.dtype[Any]
    init: Spec | None
    count: ArraySpec | None
    fixed: bool

    @property
    def few(self) -> bool:
        """Whether the kernels of few items can do it: they keep several items and totals a thread, in any order."""
        sizes = self.array.dtype.itemsize, self.total.itemsize
        return self.count is None and not self.meaning.ordered and max(sizes) <= MOST_BYTES


class Sized(NamedTuple):
    """What a launch over a number of items takes. slots: of scratch; 0: it takes none."""

    kernel: machine.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    slots: int
    count: Any
    inverses: Any


def program_of(what: ReductionOf, policy: ReducePolicy, shape: FewShape | None) -> tuple[Program, tuple[Spec, ...]]:
    """Return a kernel of a reduction, not compiled yet, and the specs of its arguments; shape: of few items."""
    reading = reading_of(what.array, what.count is not None, policy)
    inverses, store = tuple_spec((INVERSE,) * max(what.array.ndim, 1)), array_spec(state_dtype(what.total), 1)
    specs = what.count or COUNT, what.array, array_spec(what.result, 1), inverses, what.init or NOTHING, store
    if shape is not None:
        return Program(
            few_kernel(what.meaning, reading, shape, what.total), Options(launch_bounds=(shape.threads, 1))
        ), specs
    return Program((ordered_kernel if what.meaning.ordered else free_kernel)(what.meaning, reading)), specs


class Working:
    """One kernel of a reduction, and what its launches take. shape: of few items; None: of any number."""

    def __init__(self, what: ReductionOf, policy: ReducePolicy, shape: FewShape | None) -> None:
        self.what, self.policy, self.shape = what, policy, shape
        self.length = reading_of(what.array, what.count is not None, policy).length
        self.store = array_spec(state_dtype(what.total), 1)
        self.no_store = machine.array_payload(0, (0,), None, self.store.dtype)
        self.program, self.specs = program_of(what, policy, shape)
        self._adopt(self.program.compiled(self.specs)[0].kernel)

    def _adopt(self, kernel: machine.Kernel) -> None:
        """Launch this kernel from now on; how many threads a block has, and how many blocks a grid, depends on it."""
        if self.shape is None:
            most = 1 << (kernel.max_threads.bit_length() - 1)
            self.threads, self.single_threads = min(self.policy.threads, most), min(self.policy.single_threads, most)
            resident = machine.occupancy(kernel, self.threads, 0) * machine.properties().multiprocessors
            self.most_blocks = resident * self.policy.waves
        self._sizes: dict[Any, Sized] = {}
        self.kernel = kernel

    def captured(self, stream: int) -> Sequence[Argument]:
        """Let the kernel be that of what the user's functions are by now; return the arrays that they capture."""
        if self.what.fixed:
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
        blocks, threads, inverse = self._grid(n) if self.shape is None else (*self.shape.grid_for(n // self.length), 0)
        inverses = [inverse, *[1 / max(extent, 1) for extent in extents[1:]]]
        payload = machine.tuple_payload([machine.scalar_payload(INVERSE, value) for value in inverses])
        slots = blocks + HEAD if blocks > 1 else 0
        return Sized(self.kernel, (blocks, 1, 1), (threads, 1, 1), slots, machine.scalar_payload(COUNT, n), payload)

    def _grid(self, n: int) -> tuple[int, int, float]:
        """Return (blocks, threads of each, 1 / those that share the work) for any number of items."""
        policy, reads, ordered = self.policy, n // self.length, self.what.meaning.ordered
        if reads <= policy.single_loads:
            wanted = -(-reads // policy.single_least)
            threads, blocks = min(power_of_two(max(wanted, 32)), self.single_threads), 1
        else:
            threads = self.threads
            blocks = max(1, min(-(-reads // (threads * policy.least_loads)), self.most_blocks))
        parts = blocks * (threads // 32) if ordered else blocks
        at_once = not ordered and reads <= blocks * threads * policy.loads and n < MOST_AT_ONCE
        return blocks, threads, 0 if at_once else 1 / parts

    def launch(
        self, sized: Sized, array: Any, count: Any, init: Any, out: Any, captured: Sequence[Argument], stream: int
    ) -> None:
        """Launch on `stream`; array, count, init and out are payloads, `count` None for the host's."""
        store, memory = self.no_store, None
        if sized.slots:
            memory = scratch(SHARES, self.store, sized.slots, stream)
            store = memory.argument.payload
        payloads = [sized.count if count is None else count, array, out, sized.inverses, init, store]
        if captured:
            payloads += [argument.payload for argument in captured]
        try:
            sized.kernel.launch(sized.grid, sized.block, 0, stream, payloads)
        except BaseException:
            if memory is not None:
                reset(memory, stream)
            raise


class Reduction:
    """A reduction of one kind of array: its kernels, each compiled when a number of items asks for it."""

    def __init__(self, what: ReductionOf, policy: ReducePolicy) -> None:
        self.what, self.policy, self.total, self.result, self.fixed = what, policy, what.total, what.result, what.fixed
        self.length = reading_of(what.array, what.count is not None, policy).length
        self._working: dict[FewShape | None, Working] = {}
        self._chosen: dict[int, Working] = {}

    @property
    def ordered(self) -> bool:
        """Whether the operands may not change places."""
        return self.what.meaning.ordered

    def working(self, n: int) -> Working:
        """Return the kernel for `n` items, at most, compiling it where it is the first time."""
        return self._chosen.get(n) or remember(self._chosen, n, self._of(self._shape(n)))

    def _of(self, shape: FewShape | None) -> Working:
        found = self._working.get(shape)
        if found is None:
            found = self._working[shape] = Working(self.what, self.policy, shape)
        return found

    def _shape(self, n: int) -> FewShape | None:
        return self.policy.few_shape(n // self.length) if n > 0 and self.what.few else None
