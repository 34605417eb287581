"""What has been done to memory, and whether something orders it.

A Buffer stands for one allocation. Its cells (the smallest item size that it is accessed with) remember the plain
write, the plain reads and the atomic accesses since the last barrier, and what an atomic or ordered store published.
A race is two accesses to one cell by different threads, one of them a plain write, or a plain one beside an atomic
write, that no barrier, syncwarp, release/acquire or fence orders. Two plain writes of equal bits are no race.
"""

from greenlet import getcurrent

from warpkit.errors import RaceFault

from .clocks import NOTHING, join, knows, snapshot
from .paths import describe, site_of
from .progress import give_way
from .threads import Thread

SWITCH = 0.3


class Buffer:
    """The shadow of one allocation; `block` owns shared memory, None is global."""

    __slots__ = ("atomics", "block", "epoch", "label", "launch", "published", "reads", "unit", "writes")

    def __init__(self, launch, label, block, unit):
        self.launch, self.label, self.block, self.unit = launch, label, block, max(1, unit)
        self.writes, self.reads, self.atomics, self.published, self.epoch = {}, {}, {}, {}, 0

    def refine(self, unit):
        """Make cells small enough for items of `unit` bytes, which are of whole cells."""
        if unit % self.unit == 0:
            return
        if self.unit % unit:
            unit = 1
        times = self.unit // unit
        for table in (self.writes, self.reads, self.atomics, self.published):
            split = {cell * times + part: value for cell, value in table.items() for part in range(times)}
            table.clear()
            table.update(split)
        self.unit = unit

    def load(self, offset, size, frame):
        """Check and remember a plain read."""
        fiber = getcurrent()
        if type(fiber) is not Thread:
            return
        block, unit = self.block, self.unit
        if block is not None and self.epoch != block.epoch:
            self._forget_epoch()
        entry, writes, reads = (fiber, fiber.tick, fiber.block.epoch, site_of(frame)), self.writes, self.reads
        for cell in (offset // unit,) if size == unit else self._cells(offset, size):
            if cell in writes:
                written = writes[cell]
                if written[0] is not fiber and not knows(fiber, written):
                    self._race("reads", entry, "wrote", written, cell, offset)
            if self.atomics and cell in self.atomics:
                for other in self.atomics[cell].values():
                    if other[4] and other[0] is not fiber and not knows(fiber, other):
                        self._race("reads", entry, "atomically wrote", other, cell, offset)
            if cell in reads:
                reads[cell][fiber] = entry
            else:
                reads[cell] = {fiber: entry}

    def store(self, offset, size, bits, frame):
        """Check and remember a plain write of `bits`, None: of many items."""
        fiber = getcurrent()
        if type(fiber) is not Thread:
            return
        block, unit = self.block, self.unit
        if block is not None and self.epoch != block.epoch:
            self._forget_epoch()
        if size != unit and bits is not None:
            bits = (size, bits)  # one of several cells: equal only to a write of the same shape
        entry = (fiber, fiber.tick, fiber.block.epoch, site_of(frame), bits)
        for cell in (offset // unit,) if size == unit else self._cells(offset, size):
            if cell in self.writes:
                written = self.writes[cell]
                if written[0] is not fiber and not knows(fiber, written):
                    if written[4] != bits and (written[4] == written[4] or bits == bits):  # two NaNs are equal writes
                        self._race("writes", entry, "wrote", written, cell, offset)
            if cell in self.reads:
                self._alone(entry, self.reads.pop(cell), "read", cell, offset)
            if cell in self.atomics:
                self._alone(entry, self.atomics.pop(cell), "atomically accessed", cell, offset)
            self.writes[cell] = entry
            if cell in self.published:
                del self.published[cell]

    def _alone(self, entry, others, verb, cell, offset):
        """Report a write that something another thread did is not ordered before."""
        fiber = entry[0]
        for other in others.values():
            if other[0] is not fiber and not knows(fiber, other):
                self._race("writes", entry, verb, other, cell, offset)

    def ordered(self, offset, size, order, reads, writes, frame):
        """Check an atomic or ordered access and pass on what it orders; call it before the access itself."""
        fiber = getcurrent()
        if type(fiber) is not Thread:
            return
        block, unit = self.block, self.unit
        if block is not None and self.epoch != block.epoch:
            self._forget_epoch()
        cells = (offset // unit,) if size == unit else self._cells(offset, size)
        if block is not None or self.launch.exploring:
            entry = (fiber, fiber.tick, fiber.block.epoch, site_of(frame), writes)
            for cell in cells:
                self._check_ordered(cell, entry, offset)
        cell = cells[0]
        found = self.published.get(cell)
        if reads and found is not None:
            same_block = found[0] is fiber.block
            if order == "acquire":
                fiber.clock = join(fiber.clock, found[1] if same_block else found[2])
            else:  # a later fence takes it up: one of block scope only what came from its own block
                fiber.pending_wide = join(fiber.pending_wide, found[2])
                if same_block:
                    fiber.pending_near = join(fiber.pending_near, found[1])
        if writes:
            near, wide = fiber.fenced_near, fiber.fenced_wide
            if order == "release":
                near = wide = snapshot(fiber)
            if reads and found is not None:  # a read-modify-write carries on what it read
                near, wide = join(near, found[1] if found[0] is fiber.block else found[2]), join(wide, found[2])
            self.published[cell] = (fiber.block, near, wide)

    def _check_ordered(self, cell, entry, offset):
        fiber, writes = entry[0], entry[4]
        written = self.writes.get(cell)
        if written is not None and written[0] is not fiber and not knows(fiber, written):
            self._race("atomically accesses", entry, "wrote", written, cell, offset)
        if writes and cell in self.reads:
            for other in self.reads[cell].values():
                if other[0] is not fiber and not knows(fiber, other):
                    self._race("atomically writes", entry, "read", other, cell, offset)
        others = self.atomics.get(cell)
        if others is None:
            others = self.atomics[cell] = {}
        elif not writes and fiber in others:
            entry = (*entry[:4], others[fiber][4])  # what it has written stays written
        others[fiber] = entry

    def forget(self):
        """Let go of the threads of a launch that has ended.

        This cannot be left to Python's collector: it asks a greenlet whether it can be part of a cycle, one that runs
        says no, and what holds such alone (the tuples and dictionaries in these tables) is never looked into again.
        """
        for table in (self.writes, self.reads, self.atomics, self.published):
            table.clear()

    def _forget_epoch(self):
        """A block's barrier orders everything in its shared memory."""
        self.epoch = self.block.epoch
        self.writes.clear()
        self.reads.clear()
        self.atomics.clear()

    def _cells(self, offset, size):
        return range(offset // self.unit, (offset + size - 1) // self.unit + 1)

    def _race(self, verb, entry, did, other, cell, offset):
        byte, fiber, site = max(offset, cell * self.unit), entry[0], entry[3]
        raise RaceFault(
            f"race on byte {byte} of {self.label}: {fiber} {verb} it at {describe(site)}, and {other[0]} {did} it at "
            f"{describe(other[3])}, with nothing between that orders the two"
        )


def switch_point(launch):
    """In exploring mode any access may be followed by another thread's."""
    if launch.random.random() < SWITCH:
        fiber = getcurrent()
        if type(fiber) is Thread and fiber.launch is launch:
            give_way(fiber)


def fence(fiber, scope):
    """Order this thread's earlier accesses before its later ones, for readers in the scope."""
    if scope == "block":
        fiber.clock = join(fiber.clock, fiber.pending_near)
        fiber.pending_near = NOTHING
        fiber.fenced_near = snapshot(fiber)
        return
    fiber.clock = join(fiber.clock, join(fiber.pending_near, fiber.pending_wide))
    fiber.pending_near = fiber.pending_wide = NOTHING
    fiber.fenced_near = fiber.fenced_wide = snapshot(fiber)
