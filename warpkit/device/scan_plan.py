"""Everything about a scan that does not depend on addresses: kernels, grids, shared memory, constants.

A `Scanning` is for one family, one kind of array, one dtype of results. Its two kernels are compiled when a number of
items asks for them; what depends on that number is kept for those that were met.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD, MOST_TILES
from ..block.totals import SLOTS
from ..errors import Refused
from ..host.arrays import Argument
from ..host.arrays_layout import remember
from ..host.dtypes import spec_of, type_of
from ..host.launch import captured_arguments
from ..host.program import Program
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec, tuple_spec
from ..simt.states import LONGEST_IN_ONE_ACCESS, state_dtype
from .reduce_plan import COUNT, INVERSE, Flat
from .scan_families import ScanFamily
from .scan_few import FewShape, few_kernel
from .scan_kernel import Scan, ring_kernel, shared_bytes, tile_kernel
from .scan_look_kernel import LookingShape, look_kernel
from .scan_policy import ScanPolicy, odd
from .tiles import TileShape

VECTOR = 16  # bytes that a thread writes at once
STATIC = 1 << 10  # bytes of shared memory beside what totals and tiles take


@dataclass(frozen=True)
class ScanOf:
    """What a scan is compiled for. starts: with `init`.  count: spec of the array with the number of items, if any."""

    family: ScanFamily
    array: ArraySpec
    out: ArraySpec
    total: np.dtype[Any]
    starts: bool
    reverse: bool
    count: ArraySpec | None


def scan_of(what: ScanOf) -> Scan:
    """Return what the kernels are made for."""
    array, result = what.array, what.out.dtype
    return Scan(
        what.family.op,
        what.family.exclusive,
        what.starts,
        what.reverse,
        array.dtype,
        result,
        type_of(what.total),
        copied=array.contiguous,
        vectors=what.out.contiguous and not result.names and VECTOR % result.itemsize == 0,
        on_device=what.count is not None,
        axes=array.ndim,
    )


def specs_of(what: ScanOf) -> tuple[Spec, ...]:
    """Return the specs of a kernel's arguments."""
    states = array_spec(state_dtype(what.total), 1)
    return source_spec(what.array), what.out, spec_of(what.total), states, what.count or COUNT


def source_spec(array: ArraySpec) -> Spec:
    """Return the spec of a source: an array, of several axes with the inverses of its extents."""
    return array if array.ndim == 1 else tuple_spec((array, tuple_spec((INVERSE,) * array.ndim)))


def source_packer(source: Argument, flat: Flat) -> Callable[[int, Any], Any]:
    """Return the function (address, owner) -> payload of a source like this one."""
    pack = flat.pack or source.layout.pack
    if flat.spec.ndim == 1:
        return pack
    inverses = machine.tuple_payload([machine.scalar_payload(INVERSE, 1 / max(extent, 1)) for extent in flat.extents])
    return lambda address, owner: machine.tuple_payload([pack(address, owner), inverses])


def options_for(shape: TileShape | FewShape, blocks: int) -> Options:
    """Return how a kernel is compiled: with registers for so many blocks of such a shape on a multiprocessor."""
    return Options(launch_bounds=(shape.threads, blocks))


def fitted(scan: Scan, shape: TileShape, total: np.dtype[Any], most: int) -> TileShape:
    """Return a shape whose tiles fit into `most` bytes of shared memory: the same one if they do."""
    most -= STATIC + (SLOTS + 2) * -(-total.itemsize // 4) * 4
    threads, items, stages = shape.threads, shape.items, shape.stages
    while shared_bytes(scan, TileShape(threads, items, stages)) > most:
        if stages > 2:
            stages -= 1
        elif items > 1:
            items = odd(items // 2)
        elif threads > 32:
            threads = max(threads // 64 * 32, 32)
        else:
            raise Refused(f"a scan of items of {scan.item.itemsize} bytes needs more shared memory than the GPU has.")
    return replace(shape, threads=threads, items=items, stages=stages)


class Sized(NamedTuple):
    """What a launch over a number of items takes. slots: tile states; 0: it takes none."""

    kernel: machine.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    slots: int
    n: int
    count: Any


class Form(NamedTuple):
    """One of the kernels of a scan. blocks: of the ring's, on a multiprocessor; 0 for the others."""

    kernel: Callable[..., Callable[..., Any]]
    shape: TileShape | FewShape
    blocks: int = 0


class Working:
    """One of the kernels of a scan, compiled, with what its launches take."""

    def __init__(self, what: ScanOf, form: Form) -> None:
        scan, properties, shape = scan_of(what), machine.properties(), form.shape
        self.blocks, self.shared = form.blocks, 0
        if isinstance(shape, TileShape):
            shape = fitted(scan, shape, what.total, properties.shared_per_block)
            self.shared = shared_bytes(scan, shape)
        self.shape = shape
        self.program = Program(form.kernel(scan, shape), options_for(shape, max(form.blocks, 1)))
        self.specs = specs_of(what)
        self._adopt(self.program.compiled(self.specs)[0].kernel)

    def _adopt(self, kernel: machine.Kernel) -> None:
        resident = machine.occupancy(kernel, self.shape.threads, self.shared) if self.blocks else 1
        self.kernel = kernel
        self.most_blocks = max(min(resident, self.blocks), 1) * machine.properties().multiprocessors
        self._sizes: dict[int, Sized] = {}

    def captured(self, stream: int) -> Sequence[Argument]:
        """Let the kernel be that of what the user's operator is by now; return the arrays that it captures."""
        compiled, known = self.program.compiled(self.specs)
        if compiled.kernel is not self.kernel:
            self._adopt(compiled.kernel)
        return captured_arguments(known, compiled.captured, stream) if compiled.captured else ()

    def sized(self, n: int) -> Sized:
        """Return what a launch over `n` items, at least one, takes."""
        return self._sizes.get(n) or remember(self._sizes, n, self._size(n))

    def _size(self, n: int) -> Sized:
        shape = self.shape
        threads = shape.threads_for(n) if isinstance(shape, FewShape) else shape.threads
        tiles = -(-n // (threads * shape.items))
        if tiles > MOST_TILES:
            raise ValueError(f"a scan of {n} items has {tiles} tiles, more than 2^28; pass a policy with larger ones.")
        blocks = min(tiles, self.most_blocks) if self.blocks else tiles
        asks = shape.states > 0 if isinstance(shape, FewShape) else self.blocks > 0 or tiles > 1
        slots, count = HEAD + tiles if asks else 0, machine.scalar_payload(COUNT, n)
        return Sized(self.kernel, (blocks, 1, 1), (threads, 1, 1), self.shared, slots, n, count)


class Scanning:
    """A scan of one kind of array: its kernels, each compiled when a number of items asks for it."""

    def __init__(self, what: ScanOf, policy: ScanPolicy) -> None:
        self.what, self.policy, self.total, self.starts = what, policy, what.total, what.starts
        self.specs = specs_of(what)
        self.states = array_spec(state_dtype(what.total), 1)
        self.no_states = machine.array_payload(0, (0,), None, self.states.dtype)
        self.free = what.family.fixed and not what.total.names
        self.at_once = self.states.dtype.itemsize <= LONGEST_IN_ONE_ACCESS
        self._working: dict[Form, Working] = {}
        self._chosen: dict[tuple[int, bool], Working] = {}

    def working(self, n: int, apart: bool = False) -> Working:
        """Return the kernel for `n` items, compiling it where it is the first time.

        apart: no item lies where a result goes.
        """
        return self._chosen.get((n, apart)) or remember(self._chosen, (n, apart), self._of(self._form(n, apart)))

    def _of(self, form: Form) -> Working:
        found = self._working.get(form)
        if found is None:
            found = self._working[form] = Working(self.what, form)
        return found

    def _form(self, n: int, apart: bool) -> Form:
        policy, free = self.policy, apart and self.free
        if n >= policy.ring_from:
            return Form(ring_kernel, policy.ring, policy.blocks)
        if n <= policy.one.tile_items:
            return Form(few_kernel, policy.one)
        if free and n <= policy.sweep_until:
            return Form(few_kernel, policy.sweep)
        if free and self.at_once and n <= policy.look_until:
            return Form(few_kernel, policy.look)
        if n <= policy.large.tile_items:
            return Form(few_kernel, policy.large)
        tile = policy.tile if n < policy.wide_from else policy.wide
        if free and self.at_once and policy.tile_states > 0:
            looks = LookingShape(tile.threads, tile.items, states=policy.tile_states, patience=policy.look_patience)
            return Form(look_kernel, looks)
        return Form(tile_kernel, tile)
