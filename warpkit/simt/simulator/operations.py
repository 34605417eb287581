"""What the waist calls: lanes meet, blocks meet, memory is touched."""

import sys
from operator import index as as_int

import numpy as np
from greenlet import getcurrent

from warpkit.errors import BoundsFault, LaneFault
from warpkit.simt.refusals import refuse

from . import shadow
from .arrays import KernelArray
from .atomics import ATOMICS
from .elements import element_of, poison
from .paths import call_path, describe, named
from .progress import FUEL, give_way
from .scalars import INDEXES, NUMBERS
from .shadow import Buffer
from .threads import Thread, thread
from .warps import Group

SCOPES = ("block", "device", "system")
_poisoned: dict = {}  # what fresh local arrays hold, by shape and dtype
ORDERS = ("plain", "relaxed", "acquire", "release", "volatile")


def meet(value, resolve, mask=None, name="shuffle"):
    """Wait for this lane's group at this call, then return this lane's result.

    `resolve` gets {lane: value} in lane order, once per group, and returns {lane: result} or one result for all. With
    `mask` the group is every lane it names, at the same call path with the same mask; without, the lanes converged
    here. A call named "syncwarp" or "sync_warp" also orders the lanes' memory accesses, and does not wait for lanes
    that have exited.
    """
    fiber = getcurrent()
    if type(fiber) is not Thread:
        fiber = thread()
    return meet_at(fiber, sys._getframe(1), value, resolve, mask, name)


def meet_at(fiber, frame, value, resolve, mask, name):
    """`meet` for a known thread and calling frame."""
    path = fiber.path = call_path(frame)
    fiber.value = value
    if mask is not None:
        mask = as_int(mask) & 0xFFFFFFFF
        if not mask >> fiber.lane & 1:
            called, name = describe(fiber.path.site), named(fiber.path, name)
            raise LaneFault(f"{name}: {fiber} is not in its own mask 0x{mask:08x}; called at {called}")
    if fiber.launch.progress.suspicious:
        fiber.launch.progress.mark(fiber, frame)
    groups, key = fiber.team.groups, (path.place, mask)
    group = groups.get(key)
    if group is None:
        group = groups[key] = Group(mask, resolve, name, path)
    elif path is not group.path and path.order > group.order:
        group.order = path.order
    group.lanes.append(fiber)
    fiber.waiting = group
    return fiber.wait()


def barrier(kind="sync", value=None):
    """Wait for every thread of the block: kind "sync", "count" (how many values are true), "and", "or"."""
    fiber = thread()
    fiber.path = call_path(sys._getframe(1))
    return fiber.block.arrive(fiber, kind, value)


def grid_barrier():
    """Wait for every thread of the grid; all its blocks become resident."""
    grid_barrier_at(thread(), sys._getframe(1))


def grid_barrier_at(fiber, frame):
    """`grid_barrier` for a known thread and calling frame."""
    fiber.path, fiber.waiting = call_path(frame), "grid"
    fiber.launch.progress.meets(fiber)
    fiber.wait()


def shared(key, shape, dtype, name="shared_array"):
    """Return this block's array for `key`: one memory for one (key, shape, dtype), poisoned when first asked for."""
    fiber = thread()
    asked = (key, shape if type(shape) is not list else tuple(shape), dtype)
    found = fiber.block.shared.get(asked)
    if found is not None:
        return found
    element, shape = element_of(dtype), _shape(name, shape)
    found = fiber.block.shared.get((key, shape, element.dtype, element.kind))
    if found is None:
        data = np.empty(shape, element.dtype)
        poison(data)
        label = f"a shared array of {data.dtype}, shape {shape}"
        buffer = Buffer(fiber.launch, label, fiber.block, element.unit)
        found = KernelArray(data, fiber.launch, buffer, True, 0, element)
        fiber.block.shared[key, shape, element.dtype, element.kind] = found
    fiber.block.shared[asked] = found  # the same question is answered sooner next time
    return found


def dynamic_shared(dtype, offset=0, count=None):
    """Return the block's dynamic shared memory from byte `offset` on: all of it, or `count` items."""
    fiber = thread()
    asked = ("dynamic", dtype, offset, count)
    known = fiber.block.shared.get(asked)
    if known is not None:
        return known
    element, size = element_of(dtype), fiber.launch.dynamic_bytes
    found = fiber.block.shared.get("dynamic")
    if found is None:
        data = np.empty(size, np.uint8)
        poison(data)
        found = fiber.block.shared["dynamic"] = (data, Buffer(fiber.launch, "dynamic shared memory", fiber.block, 16))
    data, buffer = found
    room = (size - offset) // element.dtype.itemsize
    if count is None:
        count = room
    if count > room:
        raise BoundsFault(f"{count} items of {element.dtype} from byte {offset} on do not fit into {size} bytes")
    part = data[offset : offset + count * element.dtype.itemsize].view(element.dtype)
    found = fiber.block.shared[asked] = KernelArray(part, fiber.launch, buffer, True, offset, element)
    return found


def local(shape, dtype, name="local_array"):
    """Return an array of this thread alone, poisoned."""
    asked = (shape if type(shape) is int else _shape(name, shape), dtype)
    known = _poisoned.get(asked)
    if known is None:
        element = element_of(dtype)
        known = _poisoned[asked] = element, np.empty(asked[0], element.dtype)
        poison(known[1])
    element, like = known
    return KernelArray.__new__(KernelArray, like.copy(), thread().launch, None, False, 0, element)


def read(array, index, order="plain"):
    """Return `array[index]`, read with the given memory order; an ordered read also lets other threads run."""
    return read_at(sys._getframe(1), array, index, order)


def read_at(frame, array, index, order):
    """`read` for a known calling frame."""
    if order == "plain":
        return array._read(index, frame)
    fiber, key = _ordered(array, index, order)
    give_way(fiber, FUEL // 8, 8)
    if array._buffer is not None:
        array._buffer.ordered(array._offset(key), array._data.itemsize, order, True, False, frame)
    return array._load(array._item(key) if array._element.kind == "scalar" else array._data[key])


def write(array, index, value, order="plain"):
    """Store `value` in `array[index]` with the given memory order."""
    write_at(sys._getframe(1), array, index, value, order)


def write_at(frame, array, index, value, order):
    """`write` for a known calling frame."""
    if order == "plain":
        array._write(index, value, frame)
        return
    fiber, key = _ordered(array, index, order)
    bits = array._element.store(value)
    if array._exploring:
        shadow.switch_point(fiber.launch)
    _pass_on(array, key, order, False, True, frame)
    array._data[key] = bits
    fiber.launch.version += 1


def atomic(name, array, index, *values):
    """Do the atomic `name`, spelled as in numba's cuda.atomic, on `array[index]`; return the old value."""
    return atomic_at(sys._getframe(1), name, array, index, values)


def atomic_at(frame, name, array, index, values):
    """`atomic` for a known calling frame."""
    fiber, key = _ordered(array, index, "relaxed")
    compute, element, data = ATOMICS[name], array._element, array._data
    if element.kind != "scalar":
        raise TypeError(f"atomic {name} needs an array of numbers, not of {data.dtype}")
    values = [element.load(element.store(value)) for value in values]
    if array._exploring:
        shadow.switch_point(fiber.launch)
    was = data.item(key)
    old = element.load(was)
    new = element.store(compute(old, *values))
    changes = new != was if type(new) is int else _differs(new, data, key)
    _pass_on(array, key, "relaxed", True, True, frame)
    if changes:
        data[key] = new
        fiber.launch.version += 1
    else:
        give_way(fiber, FUEL // 8, 8)  # it may wait for another thread: a lock, a flag
    return old


def fence(scope="device"):
    """Order this thread's earlier memory accesses before its later ones, for "block", "device" or "system"."""
    fiber = thread()
    if scope not in SCOPES:
        raise ValueError(f"a fence's scope is one of {SCOPES}, not {scope!r}")
    shadow.fence(fiber, scope)
    if fiber.launch.exploring:
        shadow.switch_point(fiber.launch)


def pause(nanoseconds=0):
    """Let other threads run, as nanosleep does."""
    give_way(thread(), FUEL // 8, 8)


def _ordered(array, index, order):
    fiber = thread()
    if order not in ORDERS:
        raise ValueError(f"a memory order is one of {ORDERS}, not {order!r}")
    if not isinstance(array, KernelArray):
        raise TypeError(f"an atomic or ordered access needs an array, not {type(array).__name__}")
    if array._line and type(index) in INDEXES:
        at = as_int(index)
        if 0 <= at < array._length:
            return fiber, (at,)
    key, whole = array._key(index)
    if not whole:
        raise TypeError(f"an atomic or ordered access needs the index of one element, not {index!r}")
    return fiber, key


def _pass_on(array, key, order, reads, writes, frame):
    if array._buffer is not None:
        array._buffer.ordered(array._offset(key), array._data.itemsize, order, reads, writes, frame)


def _differs(new, data, key):
    return np.asarray(new, data.dtype).tobytes() != data[key].tobytes()


def _shape(name, shape):
    """Return a shape as ints; refuse, as the compiler does, what the kernel has computed, read or been given."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    for size in sizes:
        if type(size) in NUMBERS:
            refuse(f"{name}: shape must be a compile-time positive integer or a tuple of them, not {size.dtype}.")
    return tuple(int(size) for size in sizes)
