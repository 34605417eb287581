"""A warp's lanes: who runs, who waits, and which group goes on.

Lanes that wait at the same call (same path) form a group. A group with a mask goes on when every lane that it names
has come. A group without one goes on only when no lane of its warp can run, and then only the group earliest in
program order: so lanes meet again after an `if`, and lanes that left a loop wait for those still in it.
"""

from operator import attrgetter

from warpkit.errors import LaneFault

from .clocks import order_lanes
from .paths import describe, named
from .threads import plain

BARRIERS = frozenset({"syncwarp", "sync_warp", "sync warp"})
_lane = attrgetter("lane")


class Group:
    """Lanes that wait at one call with one mask (None: whoever converges)."""

    __slots__ = ("lanes", "mask", "name", "order", "orders_memory", "path", "resolve")

    def __init__(self, mask, resolve, name, path):
        self.mask, self.resolve, self.name, self.orders_memory = mask, resolve, name, name in BARRIERS
        self.lanes, self.path, self.order = [], path, path.order


class Warp:
    """The lanes of one warp; `ready` can run, `groups` wait."""

    __slots__ = ("block", "exited", "groups", "hub", "launch", "number", "ready", "size", "threads", "turns")

    def __init__(self, block, number):
        self.block, self.launch, self.hub, self.number = block, block.launch, block.launch.hub, number
        self.threads, self.ready, self.groups, self.exited, self.size = [], [], {}, 0, 0

    def turn(self):
        """Run every lane that can run until it waits, then let groups go on."""
        ready, self.ready = self.ready, []
        launch = self.launch
        if launch.random is not None:
            launch.random.shuffle(ready)
        self.turns = iter(ready)  # lanes that wait take the next one from here, too
        for fiber in self.turns:
            launch.running = fiber
            fiber.switch()
            last = launch.running
            if last.dead:
                self.exited |= 1 << last.lane
                self.block.leave(last)
        if self.groups:
            self.release()

    def release(self):
        """Let complete groups go on; when no lane can run, the earliest group without a mask; else find the fault."""
        if len(self.groups) > 1:
            self._compare_masks()
        for key, group in list(self.groups.items()):
            if group.mask is not None and self._complete(group):
                del self.groups[key]
                self._resolve(group)
        if not self.ready and self.groups and not self.release_earliest():
            group = min(self.groups.values(), key=attrgetter("order"))
            self.throw(group.lanes[0], LaneFault(self._why(group)))

    def release_earliest(self):
        """Release the group without a mask that is earliest in program order, if there is one."""
        earliest = None
        for key, group in self.groups.items():
            if group.mask is None and (earliest is None or group.order < self.groups[earliest].order):
                earliest = key
        if earliest is None:
            return False
        self._resolve(self.groups.pop(earliest))
        return True

    def throw(self, fiber, fault):
        """Wake a waiting lane with a fault, so that it is raised at the user's line."""
        for key, group in list(self.groups.items()):
            if fiber in group.lanes:
                group.lanes.remove(fiber)
                if not group.lanes:
                    del self.groups[key]
        fiber.fault = fault
        self.ready.append(fiber)

    def _complete(self, group):
        needed = group.mask
        if group.orders_memory:  # a barrier waits for those only that still exist
            needed &= ((1 << self.size) - 1) & ~self.exited
        return len(group.lanes) == needed.bit_count()

    def _compare_masks(self):
        """Fault when a lane that a waiting group names has come to the same call with another mask."""
        masked = [(place, group) for (place, mask), group in self.groups.items() if mask is not None]
        for place, group in masked:
            for other_place, other in masked:
                if place == other_place and other is not group:
                    odd = next((fiber for fiber in other.lanes if group.mask >> fiber.lane & 1), None)
                    if odd is not None:
                        come = sorted(fiber.lane for fiber in group.lanes)
                        why = f"lane {odd.lane} came with mask 0x{other.mask:08x}, the masks disagree"
                        here = f"lanes {come} wait at {describe(group.lanes[0].path.site)}"
                        self.throw(group.lanes[0], LaneFault(f"{self._title(group)}: {why}; {here}"))
                        return

    def _resolve(self, group):
        lanes = group.lanes
        lanes.sort(key=_lane)
        self.launch.meetings += 1
        try:
            result = group.resolve({fiber.lane: fiber.value for fiber in lanes})
        except Exception as error:
            if type(error) is LaneFault:
                error = LaneFault(f"{self._title(group)}: {error}; called at {describe(lanes[0].path.site)}")
            self.throw(lanes[0], error)
            return
        if group.orders_memory:
            order_lanes(lanes)
        if type(result) is dict:
            for fiber in lanes:
                fiber.result = result[fiber.lane]
        else:
            for fiber in lanes:
                fiber.result = result
        self.ready += lanes

    def _title(self, group):
        come = sum(1 << fiber.lane for fiber in group.lanes)
        mask = f"mask 0x{group.mask:08x}" if group.mask is not None else f"lanes 0x{come:08x} without a mask"
        name = named(group.lanes[0].path, group.name)
        return f"{name} in warp {self.number} of block {plain(self.block.block_idx)}, {mask}"

    def _why(self, group):
        """Say why a group with a mask cannot go on, now that no lane of the warp can run."""
        come = {fiber.lane for fiber in group.lanes}
        missing = [lane for lane in range(32) if group.mask >> lane & 1 and lane not in come]
        here = f"lanes {sorted(come)} wait at {describe(group.lanes[0].path.site)}"
        return f"{self._title(group)}: lane {missing[0]} never comes, it {self._doing(missing[0])}; {here}"

    def _doing(self, lane):
        if lane >= self.size:
            return f"does not exist (this warp has {self.size} lanes)"
        fiber = self.threads[lane]
        if fiber.dead:
            return "has returned from the kernel"
        return f"waits at {describe(fiber.path.site)}"
