"""Who knows of whose accesses: vector clocks, kept small by barriers.

A thread's own accesses carry its `tick` and its block's `epoch` (the number of block barriers so far). A clock holds
the last tick known of single threads and the epoch before which everything of a block is known. Clocks are never
changed in place, so threads share them.
"""


class Clock:
    """What a thread knows: {thread uid: tick} and {block number: epoch}."""

    __slots__ = ("epochs", "ticks")

    def __init__(self, ticks, epochs):
        self.ticks, self.epochs = ticks, epochs


NOTHING = Clock({}, {})


def join(a, b):
    """Return the clock that knows what either knows."""
    if a is b or b is NOTHING:
        return a
    if a is NOTHING:
        return b
    return Clock(_maximum(a.ticks, b.ticks), _maximum(a.epochs, b.epochs))


def join_all(clocks):
    """Join many clocks; the usual case, all the same object, costs nothing."""
    joined = NOTHING
    for clock in set(clocks):
        joined = join(joined, clock)
    return joined


def _maximum(a, b):
    merged = dict(a)
    for key, value in b.items():
        if merged.get(key, -1) < value:
            merged[key] = value
    return merged


def snapshot(thread):
    """Return what others learn from this thread by a release now; its later accesses are not part of it."""
    block = thread.block
    ticks = {**thread.clock.ticks, thread.uid: thread.tick}
    epochs = {**thread.clock.epochs, block.number: block.epoch}
    thread.tick += 1
    return Clock(ticks, epochs)


def order_lanes(threads):
    """Order the memory accesses of these lanes as a warp barrier does."""
    joined = join_all([thread.clock for thread in threads])
    ticks = dict(joined.ticks)
    for thread in threads:
        ticks[thread.uid] = thread.tick
    clock = Clock(ticks, joined.epochs)
    for thread in threads:
        thread.tick += 1
        thread.clock = clock


def order_block(block, threads):
    """Order everything before a block barrier before everything after it."""
    block.epoch += 1
    clocks = {thread.clock for thread in threads}
    if clocks == {NOTHING}:
        return
    own = {thread.uid for thread in threads}
    joined = join_all(clocks)
    clock = Clock({uid: tick for uid, tick in joined.ticks.items() if uid not in own}, joined.epochs)
    for thread in threads:
        thread.clock = clock


def order_grid(blocks, threads):
    """Order everything before a grid barrier before everything after it, in every block."""
    for block in blocks:
        block.epoch += 1
    joined = join_all([thread.clock for thread in threads])
    clock = Clock({}, {**joined.epochs, **{block.number: block.epoch for block in blocks}})
    for thread in threads:
        thread.clock = clock


def knows(thread, access):
    """Tell whether an access of another thread (other, tick, epoch, …) is ordered before what `thread` does now."""
    other, tick, epoch = access[:3]
    if other.block is thread.block and epoch < thread.block.epoch:
        return True
    clock = thread.clock
    return clock.ticks.get(other.uid, -1) >= tick or clock.epochs.get(other.block.number, 0) > epoch
