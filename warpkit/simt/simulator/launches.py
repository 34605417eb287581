"""One launch: resident blocks, interleaved deterministically, until every thread has returned."""

import contextvars
import gc
import random
from contextlib import contextmanager

import numpy as np
from greenlet import GreenletExit, getcurrent

from warpkit.errors import BarrierFault

from . import progress
from .blocks import Block
from .clocks import order_grid
from .paths import describe
from .threads import dim3

RESIDENT = 8
ALLOCATIONS = 50_000


@contextmanager
def _rare_collections():
    """Look for garbage less often: thousands of waiting threads with all their frames are none, and dear to walk."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Launch:
    """A running kernel. `version` counts what could let a waiting thread go on; `fuel` reads until a spin check."""

    def __init__(self, function, grid, block, dynamic_bytes=0, debug=False, seed=0, exploring=False):
        self.function, self.grid, self.shape, self.dynamic_bytes = function, grid, block, dynamic_bytes
        self.grid_dim, self.block_dim = dim3(*grid), dim3(*block)
        self.random = random.Random(seed) if seed or exploring else None
        self.exploring, self.seed, self.traced = exploring, seed, False
        self.hub, self.running, self.closing = getcurrent(), None, False
        self.buffers, self.resident = {}, []
        self.version = self.meetings = 0
        self.fuel, self.progress = progress.FUEL, progress.Progress(self)
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")
        if debug:
            self.context.run(np.seterr, divide="raise")
        self.arguments = ()

    def run(self, arguments):
        """Run every block to its end."""
        self.arguments = arguments
        columns, rows, layers = self.grid
        self.pending = ((x, y, z) for z in range(layers) for y in range(rows) for x in range(columns))
        self.started = 0
        most = RESIDENT if self.random is None else self.random.randint(2, RESIDENT)
        try:
            with _rare_collections(), np.errstate(all="ignore"):  # what lanes combine when they meet is computed here
                self.admit(most)
                self._loop()
        except BaseException as error:
            self._explain(error)
            raise
        finally:
            self._close()

    def _loop(self):
        while self.resident:
            moved = False
            for block in self._order():
                moved |= block.round()
                if not block.live:
                    self.resident.remove(block)
                    block.forget()
                    self.admit(1)
            if not moved:
                self._settle()
            self.progress.check()

    def admit(self, count):
        """Make up to `count` further blocks resident; tell whether there were any."""
        before = self.started
        for index in self.pending:
            self.resident.append(Block(self, self.started, index))
            self.started += 1
            if self.started - before >= count:
                break
        return self.started > before

    def _order(self):
        if self.random is None:
            return list(self.resident)
        blocks = self.random.sample(self.resident, len(self.resident))
        if not self.exploring:
            return blocks
        for block in blocks:
            if block.stalled:
                block.stalled -= 1
            elif self.random.random() < 0.05:
                block.stalled = self.random.randrange(1, 40)
        return [block for block in blocks if not block.stalled]

    def _settle(self):
        """Nothing ran: open the grid barrier once every thread of the grid is there, or say who is missing."""
        if any(team.ready for block in self.resident for team in block.warps):
            return  # stalled blocks
        if self.admit(1 << 30):
            return
        threads = [fiber for block in self.resident for team in block.warps for fiber in team.threads]
        waiting = [fiber for fiber in threads if fiber.waiting == "grid"]
        total = self.started * self.shape[0] * self.shape[1] * self.shape[2]
        if len(waiting) == total:
            order_grid(self.resident, threads)
            self.progress.met()
            for block in self.resident:
                for team in block.warps:
                    team.ready = list(team.threads)
            return
        fiber = waiting[0]
        fiber.fault = BarrierFault(
            f"grid barrier: {len(waiting)} of {total} threads wait at {describe(fiber.path.site)}, "
            "but the others have returned or wait elsewhere"
        )
        fiber.team.ready.append(fiber)

    def _explain(self, error):
        self.progress.explain(error)
        if self.running is not None and self.running.launch is self and isinstance(error, Exception):
            error.add_note(f"in {self.running}" + (f", seed {self.seed}" if self.seed or self.exploring else ""))

    def _close(self):
        """Unwind threads left in the middle: their `finally` blocks run now, and not at random. Let go of all."""
        self.progress.close()
        self.closing = True
        for block in self.resident:
            for team in block.warps:
                for fiber in team.threads:
                    if fiber and not fiber.dead:
                        try:
                            fiber.throw(GreenletExit)
                        except (Exception, GreenletExit):
                            pass  # a second failure while unwinding would hide the first
            block.forget()
        for buffer in self.buffers.values():
            buffer.forget()
        self.resident, self.running, self.arguments = [], None, ()
