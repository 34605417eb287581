"""A block: its warps, its barrier and its shared memory."""

from functools import partial

from warpkit.errors import BarrierFault

from .clocks import order_block
from .paths import describe
from .threads import Thread, dim3, plain
from .warps import Warp

COMBINE = {"count": sum, "and": all, "or": any}
BARRIER_NAMES = {"sync": "syncthreads", "count": "syncthreads_count", "and": "syncthreads_and", "or": "syncthreads_or"}


class Block:
    """One resident block."""

    def __init__(self, launch, number, index):
        self.launch, self.number, self.block_idx = launch, number, dim3(*index)
        self.shared, self.epoch, self.stalled = {}, 0, 0
        self.drawn = set()  # addresses of the tile states that it has drawn from
        self.first_uid = number * launch.shape[0] * launch.shape[1] * launch.shape[2]
        self.first = index[0] * launch.shape[0]
        self.at_barrier, self.at_grid = [], 0
        self.warps = []
        run = partial(launch.function, *launch.arguments)
        columns, rows, layers = launch.shape
        fresh = launch.context.copy
        number = 0
        for z in range(layers):
            for y in range(rows):
                for x in range(columns):
                    if number % 32 == 0:
                        team = Warp(self, number // 32)
                        self.warps.append(team)
                    fiber = Thread(run, self, team, number, (x, y, z))
                    fiber.gr_context = fresh()
                    team.threads.append(fiber)
                    number += 1
        for team in self.warps:
            team.size, team.ready = len(team.threads), list(team.threads)
        self.size = self.live = number

    def round(self):
        """Give every warp that can run one turn; tell whether anything ran or was released."""
        warps = self.warps
        if self.launch.random is not None:
            warps = self.launch.random.sample(warps, len(warps))
        moved = False
        for team in warps:
            if team.ready:
                team.turn()
                moved = True
        if self.at_barrier and not any(team.ready for team in self.warps):
            self._settle()
            moved = True
        return moved

    def leave(self, fiber):
        """Note that a thread has returned."""
        self.live -= 1
        self.launch.version += 1

    def forget(self):
        """Let go of threads that have all returned, and of the memory that they shared."""
        for team in self.warps:
            team.threads = []
        self.shared = {}

    def arrive(self, fiber, kind, value):
        """Wait at the block barrier; return its result."""
        fiber.value, fiber.waiting = value, kind
        if self.launch.progress.suspicious:
            self.launch.progress.meets(fiber)
        self.at_barrier.append(fiber)
        return fiber.wait()

    def _settle(self):
        """No thread of the block can run and some wait at the barrier: open it, or say why it stays shut."""
        waiting = self.at_barrier
        first = waiting[0]
        kind, place = first.waiting, first.path.place
        odd = next((fiber for fiber in waiting if fiber.waiting != kind or fiber.path.place != place), None)
        if odd is not None:
            self._fault(f"{odd} waits at another one, {describe(odd.path.site)}")
        elif len(waiting) < self.size:
            self._fault(self._absent())
        else:
            self._open(waiting)

    def _open(self, waiting):
        kind = waiting[0].waiting
        outcome = None if kind == "sync" else COMBINE[kind]([bool(fiber.value) for fiber in waiting])
        order_block(self, waiting)
        self.launch.progress.met()
        for fiber in waiting:
            fiber.result = outcome
        self.at_barrier = []
        for team in self.warps:
            team.ready = list(team.threads)

    def _absent(self):
        """Say which threads do not come to the barrier."""
        absent = [fiber for team in self.warps for fiber in team.threads if fiber not in set(self.at_barrier)]
        gone = sum(fiber.dead for fiber in absent)
        first = absent[0]
        doing = "has returned from the kernel" if first.dead else f"waits at {describe(first.path.site)}"
        return f"{len(absent)} of {self.size} threads never come ({gone} have returned); {first} {doing}"

    def _fault(self, reason):
        fiber = self.at_barrier.pop(0)
        name = BARRIER_NAMES[fiber.waiting]
        where = f"{len(self.at_barrier) + 1} threads of block {plain(self.block_idx)} wait"
        fiber.fault = BarrierFault(f"{name}: {where} at {describe(fiber.path.site)}, but {reason}")
        fiber.team.ready.append(fiber)
