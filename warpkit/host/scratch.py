"""Scratch: device memory that kernels leave as they found it, so that the next launch needs no reset.

A kernel that combines blocks needs a counter and room for what the blocks leave behind; a scan needs tile states. This
memory is made of zeros once and then belongs to one *use*: what for, which elements, which stream. Launches on one
stream come one after the other, so they share it; launches on two streams never do.

- A stream is known by the driver's number for it, not by its handle, which a later stream may get while work of the
  earlier one still runs. The default stream of a thread is each thread's own.
- Under capture the memory belongs to that capture and stream, and is never handed out again: nobody knows when the last
  replay of a graph is over. A thousand graphs cost a thousand times some kilobytes; `forget_captures` gives them back.
  Two instances of one graph share it, as they share everything else that they work on: do not run them side by side.
- A use that needs more gets memory of twice the size. The old one is kept with it, since a launch that is just being
  made may be about to name it; all old ones together are no larger than the new one.
- Streams come and go. When many new ones have been seen since a use was last asked for, its memory is given back.

In steady state `scratch` is one look-up: it allocates nothing, launches nothing and waits for nothing.
"""

import threading
import weakref
from collections.abc import Hashable

from ..simt import machine
from ..simt.specs import ArraySpec
from .arrays_layout import Argument, device_argument
from .streams_order import LASTING

DEFAULT, THREAD_DEFAULT = 0, 2
LEAST_BYTES = 1 << 12
MOST_STREAMS = 256  # new ones after which memory of a stream that nobody asked for in the meantime is given back

Use = tuple[Hashable, ...]


class Scratch:
    """Memory of one use. `argument`: the array, `slots` elements long, as a kernel takes it."""

    __slots__ = ("__weakref__", "argument", "earlier", "nbytes", "pointer", "seen", "slots")

    def __init__(self, spec: ArraySpec, slots: int, stream: int, seen: int, earlier: "Scratch | None" = None) -> None:
        self.nbytes = -(-slots * spec.dtype.itemsize // LEAST_BYTES) * LEAST_BYTES
        self.slots = self.nbytes // spec.dtype.itemsize
        self.pointer = machine.allocate(self.nbytes, stream, zeroed=True)
        self.argument: Argument = device_argument(self.pointer, (self.slots,), spec.dtype)
        self.seen, self.earlier = seen, earlier

    def release(self, stream: int) -> None:
        """Give the memory back, and what it has outgrown, once the work that `stream` has so far is done."""
        memory: Scratch | None = self
        while memory is not None:
            machine.release(memory.pointer, stream)
            memory = memory.earlier


_pool: dict[Use, Scratch] = {}
_captures: dict[Use, Scratch] = {}
_lock = threading.Lock()
_streams_seen = 0


def scratch(what: str, spec: ArraySpec, slots: int, stream: int) -> Scratch:
    """Return memory for at least `slots` elements, in which every launch on `stream` leaves what the next one needs.

    Called by: host code right before a launch on `stream`, from any thread; also while the stream is captured.
    Args: what: for what kind of kernel: kernels share memory that mean the same by it.  spec: of a one-dimensional
    contiguous array.  slots: at least 1.
    Returns: a `Scratch`; zeros, where no launch has used it yet.
    Cost: one look-up; on a stream of warpkit one question to the driver, of others two.
    Errors: MemoryError, when there is no room; nothing has changed then.
    """
    if stream == DEFAULT:
        use: Use = (what, spec, machine.context_key(), stream)
        found = _pool.get(use)
        if found is not None and found.slots >= slots:
            return found
        return _grown(_pool, use, spec, slots, stream)
    capture = machine.capture_id(stream)
    thread = threading.get_ident() if stream == THREAD_DEFAULT else 0
    if capture is not None:
        pool, number = _captures, capture
    else:
        pool, number = _pool, 0 if stream in LASTING else machine.stream_id(stream)
    use = (what, spec, machine.context_key(), stream, thread, number)
    found = pool.get(use)
    if found is not None and found.slots >= slots:
        found.seen = _streams_seen
        return found
    return _grown(pool, use, spec, slots, stream)


def _grown(pool: dict[Use, Scratch], use: Use, spec: ArraySpec, slots: int, stream: int) -> Scratch:
    """Return new memory for a use; twice as much as before, but in captures, where it is never used again."""
    global _streams_seen
    with _lock:
        found = pool.get(use)
        if found is not None and found.slots >= slots:
            return found  # another thread was faster
        if found is None and pool is _pool and stream != DEFAULT:
            _streams_seen += 1
            _let_go_of_old_streams(stream)
        if found is not None and pool is _pool:
            slots = max(slots, 2 * found.slots)
        memory = pool[use] = Scratch(spec, slots, stream, _streams_seen, found)
        return memory


def _let_go_of_old_streams(stream: int) -> None:
    """Give back the memory of streams that have not been seen for long; some of them may not exist any more."""
    old = [use for use, memory in _pool.items() if use[3] != DEFAULT and _streams_seen - memory.seen > MOST_STREAMS]
    if len(old) < MOST_STREAMS // 2 or machine.is_capturing(stream):
        return
    try:
        machine.synchronize()  # nobody can be asked for the work of a stream that is gone
    except RuntimeError:
        return  # while somebody else captures nobody waits: another time
    for use in old:
        _pool.pop(use).release(DEFAULT)


def own_scratch(spec: ArraySpec, slots: int, stream: int) -> Scratch:
    """Return memory like `scratch` that lives as long as the object returned: for a prepared call, which keeps it.

    It is there for work on any stream: waits for `stream`, unless that is being captured.
    """
    memory = Scratch(spec, slots, stream, 0)
    if not machine.is_capturing(stream):  # there it was made beside the graph, and waited for
        machine.stream_synchronize(stream)
    weakref.finalize(memory, _release_quietly, memory.pointer, stream).atexit = False
    return memory


def _release_quietly(pointer: int, stream: int) -> None:
    try:
        machine.release(pointer, stream)
    except Exception:
        pass  # the end may come at any time, also while the driver goes down


def reset(memory: Scratch, stream: int) -> None:
    """Make memory as new, in the order of `stream`: a launch failed or was aborted, and may have left anything."""
    try:
        machine.fill(memory.pointer, 0, memory.nbytes, stream)
    except Exception:  # not even that: nobody shall get it again
        with _lock:
            for pool in (_pool, _captures):
                for use in [use for use, held in pool.items() if held is memory]:
                    del pool[use]


def forget_captures() -> None:
    """Give back the scratch memory of all captured graphs; none of them may be launched, or running, any more."""
    with _lock:
        for memory in _captures.values():
            memory.release(DEFAULT)
        _captures.clear()


def held_bytes() -> int:
    """Return how many bytes of scratch memory there are, for uses, for captures and outgrown."""
    total = 0
    with _lock:
        for pool in (_pool, _captures):
            for held in pool.values():
                memory: Scratch | None = held
                while memory is not None:
                    total += memory.nbytes
                    memory = memory.earlier
    return total
