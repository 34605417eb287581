"""From what is to be kept to a launch: which of the kernels, how large its tiles, how many blocks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD, packed_dtype
from ..errors import Refused
from ..host.arrays import Argument
from ..host.identity import identity
from ..host.launch import captured_arguments
from ..host.program import Program
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec
from ..simt.states import state_dtype
from .calls import Items, Port
from .reduce_plan import COUNT, NOTHING, Flat
from .scan_few import FewShape
from .scan_plan import source_packer, source_spec
from .select_few import MOST_BYTES, few_kernel, noted_bytes
from .select_kernel import ring_kernel, tile_kernel
from .select_layout import POSITION, Compaction, shared_bytes
from .select_policy import SelectPolicy, items_of_thread
from .select_tile import nothing_after
from .tiles import TileShape

FEW_ITEMS = 1 << 31  # fewer are counted in 32 bits
FIXED = object()  # stands for what no function of a user's can change
STATIC = 4096  # bytes of shared memory that a block may need besides its tiles


class Launch(NamedTuple):
    """What a launch over some number of items takes. slots: of tile states.  apart: not in place."""

    kernel: machine.Kernel
    blocks: int
    threads: int
    shared: int
    slots: int
    captured: Sequence[Argument]
    apart: bool


class Form:
    """One of the kernels, with its tiles, compiled when it is first needed.

    resident: how many blocks the device holds at once.  function: the user's, if there is one.
    """

    def __init__(
        self, make: Callable[..., Any], what: Compaction, shape: Any, specs: Any, blocks: int, function: Any
    ) -> None:
        self.shape, self.specs, self.blocks = shape, specs, blocks
        self.shared = (noted_bytes if make is few_kernel else shared_bytes)(what, shape)
        self.program = Program(make(what, shape), Options(launch_bounds=(shape.threads, blocks)))
        self.kernel: machine.Kernel | None = None
        self.resident, self.function = 1, function
        self.seen: Any = None  # what the function was, where it captures no arrays

    def ready(self, stream: int) -> tuple[machine.Kernel, Sequence[Argument]]:
        """Return the kernel of what the user's function is by now, and the arrays that it captures."""
        seen = FIXED if self.function is None else identity(self.function)
        if self.kernel is not None and seen is self.seen:
            return self.kernel, ()
        compiled, known = self.program.compiled(self.specs)
        if compiled.kernel is not self.kernel:
            self.kernel = compiled.kernel
            held = min(machine.occupancy(compiled.kernel, self.shape.threads, self.shared), self.blocks)
            self.resident = max(held, 1) * machine.properties().multiprocessors
        if not compiled.captured:
            self.seen = seen
            return compiled.kernel, ()
        self.seen = None
        return compiled.kernel, captured_arguments(known, compiled.captured, stream)


class Plan:
    """A compaction for arrays of some kinds. states: spec of its tile states."""

    def __init__(self, name: str, what: Compaction, specs: Sequence[Spec], policy: SelectPolicy, function: Any) -> None:
        properties = machine.properties()
        total = (
            packed_dtype(name, tuple(part.dtype for part in what.zero))
            if isinstance(what.zero, tuple)
            else what.zero.dtype
        )
        self.states = array_spec(state_dtype(total), 1)
        self.no_states = machine.array_payload(0, (0,), None, self.states.dtype)
        self._specs, self._function, self._what, self.policy = specs, function, what, policy
        size, most = what.item.itemsize, properties.shared_per_block - STATIC
        wide = TileShape(policy.threads, items_of_thread(policy.nbytes, slot_bytes(what)), policy.stages, policy.ahead)
        self.ring = self._form(ring_kernel, fitting(name, what, wide, 2, most), policy.blocks)

        def tiles(threads: int, nbytes: int) -> Form:
            return self._form(
                tile_kernel, fitting(name, what, TileShape(threads, items_of_thread(nbytes, size)), 1, most)
            )

        self.tiles = tiles(policy.few_threads, policy.few_nbytes)
        self.alone = tiles(policy.alone_threads, policy.few_nbytes)
        self.small = tiles(policy.small_threads, policy.few_nbytes)
        self.large = tiles(policy.few_threads, policy.large_nbytes)
        self._few: dict[FewShape, Form] = {}
        self.fits = size <= MOST_BYTES and not what.item.names
        # Blocks that wait for all tiles have to draw until none is left: one of a tile's own may not have begun yet.
        waits = what.after is not nothing_after
        self.most_tiles = 1 if waits else max(policy.most_tiles * properties.multiprocessors, 1)
        self.most_whole = policy.whole_tiles * properties.multiprocessors

    def _form(self, make: Callable[..., Any], shape: TileShape | FewShape, blocks: int = 1) -> Form:
        specs = (*self._specs[:-1], self.states, self._specs[-1])
        return Form(make, self._what, shape, specs, blocks, self._function)

    def _few_for(self, size: int, apart: bool) -> Form | None:
        policy, several = self.policy, apart and self._what.few.spreads
        if size <= min(policy.one_until, policy.one.tile_items):
            shape = policy.one
        elif several and size <= policy.look_until:
            shape = policy.look if size <= policy.look_large_from else policy.look_large
            if self._what.few.whole and tiles_of(shape, size) > self.most_whole:
                return None
        elif not several and size <= min(policy.wide_until, policy.wide.tile_items):
            shape = policy.wide
        else:
            return None
        return self._few.get(shape) or self._few.setdefault(shape, self._form(few_kernel, shape))

    def _tiles_for(self, size: int) -> Form:
        if size <= self.tiles.shape.tile_items:
            return self.tiles
        if size <= self.alone.shape.tile_items:
            return self.alone
        if size <= self.policy.small_until:
            return self.small
        return self.tiles if size < self.policy.large_from else self.large

    def _form_for(self, size: int) -> Form:
        form = self._tiles_for(size)
        return form if tiles_of(form.shape, size) <= self.most_tiles else self.ring

    def launch(self, size: int, stream: int, apart: bool) -> Launch:
        """Return what a launch over at most `size` items takes. apart: no item lies where one is written."""
        form = (self._few_for(size, apart) if self.fits else None) or self._form_for(size)
        kernel, captured = form.ready(stream)
        shape, stays = form.shape, form is self.ring
        few, tiles = isinstance(shape, FewShape), tiles_of(shape, size)
        threads = shape.threads_for(max(size, 1)) if few else shape.threads
        looks = shape.states > 0 if few else stays or tiles > 1
        blocks = min(tiles, form.resident) if stays else tiles
        slots = tiles + HEAD if looks else 0
        return Launch(kernel, blocks, threads, form.shared, slots, captured, few and looks)


def tiles_of(shape: TileShape | FewShape, size: int) -> int:
    """Return how many tiles so many items are, at least one."""
    threads = shape.threads_for(max(size, 1)) if isinstance(shape, FewShape) else shape.threads
    return max(-(-size // (threads * shape.items)), 1)


def slot_bytes(what: Compaction) -> int:
    """Return how many bytes of shared memory an item takes, with its flag and its place where there are any."""
    flag = what.flag.itemsize if what.flag is not None else 0
    return what.item.itemsize + flag + (POSITION.itemsize if what.positioned else 0)


def fitting(name: str, what: Compaction, shape: TileShape, stages: int, most: int) -> TileShape:
    """Return the shape, smaller where `most` bytes of shared memory do not hold it; `stages`: the least."""
    while shared_bytes(what, shape) > most:
        if shape.stages > stages:
            shape = replace(shape, stages=shape.stages - 1)
        elif shape.threads > 32:
            shape = replace(shape, threads=shape.threads // 2)
        elif shape.items > 1:
            shape = replace(shape, items=shape.items // 2)
        else:
            raise Refused(
                f"{name}: items of {what.item.itemsize} bytes ({what.item}) are too large to be moved by a block; "
                "select their places instead, with nonzero."
            )
    return shape


def read_with(flat: Flat) -> tuple[bool, int, Spec]:
    """Return (whether the items follow each other, with how many axes they are read, spec of what the kernel gets)."""
    return flat.spec.ndim == 1 and flat.spec.contiguous, flat.spec.ndim, source_spec(flat.spec)


def port_of(place: int, items: Items) -> Port:
    """Return how the kernel takes an array that is read: of several axes with the inverses of their extents."""
    return Port(place, source_spec(items.flat.spec), source_packer(items.source, items.flat))


def plan_for(
    name: str, fields: dict[str, Any], items: Items, flags: Items | None, targets: Sequence[ArraySpec | None],
    counter: ArraySpec | None, policy: SelectPolicy, function: Any,
) -> Plan:  # fmt: skip
    """Return a new `Plan`. targets: specs of `out`, of the second output if any, and of the count."""
    copied, axes, source = read_with(items.flat)
    what = Compaction(item=items.source.dtype, copied=copied, axes=axes, on_device=counter is not None, **fields)
    flag: Spec = NOTHING
    if flags is not None:
        flags_copied, flag_axes, flag = read_with(flags.flat)
        what = replace(what, flag=flags.source.dtype, flags_copied=flags_copied, flag_axes=flag_axes)
    specs = (source, flag, *[target or NOTHING for target in targets], counter or COUNT)
    return Plan(name, what, specs, policy, function)


def few(size: int) -> bool:
    """Return whether so many items are counted in 32 bits."""
    return size < FEW_ITEMS


NO_COUNT = machine.array_payload(0, (0,), None, np.dtype(np.int64))
