"""Tile states: a value and what it stands for, which other blocks read as one. What look-back is made of.

An element of a states array names the type of its value and is read as a whole. A value of at most 4 bytes travels with
its tag in one 64-bit access, one of at most 12 bytes in 128 bits. A larger one is stored before its tag is released, in
a place of its own for each status, so that none is overwritten while it may be read.
The tag is 4 × epoch + status: what another epoch left behind counts as absent.
"""

import numpy as np

from ..errors import Refused
from .debug import check_index
from .machine import SIMULATOR, device_function, operation
from .memory import load_acquire, load_relaxed, put, store_relaxed, store_release, take, words_of
from .refusals import refuse

if SIMULATOR:
    from . import simulator
    from .simulated import as_kind, int32, uint32
    from .simulated_kinds import is_vector, kind_of_value
    from .simulated_memory import address, packed, unpacked

ABSENT, AGGREGATE, INCLUSIVE = 0, 1, 2
LONGEST_IN_ONE_ACCESS = 16  # bytes
HEAD_WORDS = 4  # of a state that takes more: the tag, and padding so that the values are aligned
WORD = np.uint32(0)
NOTES = 4


def state_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the states of values of `dtype`: a packed scalar or (nested) record. Host code."""
    words = -(-dtype.itemsize // 4)
    if words == 1:
        return np.dtype({"names": ["value", "tag"], "formats": [dtype, "u4"], "offsets": [0, 4], "itemsize": 8})
    if words <= 3:
        return np.dtype({"names": ["value", "tag"], "formats": [dtype, "u4"], "offsets": [0, 12], "itemsize": 16})
    places = 4 * HEAD_WORDS + 2 * 4 * words
    return np.dtype(
        {"names": ["value", "tag"], "formats": [dtype, "u4"], "offsets": [16, 0], "itemsize": -(-places // 16) * 16}
    )


@operation
def state_value(states, value=None):
    """Return `value` in the type that `states` carry, zero for None; a vector of the same components stays one."""
    like = _zero(_carried(states))
    if value is None:
        return like
    if is_vector(value) and [part.name for part in kind_of_value(like).leaves] == [
        part.name for part in kind_of_value(value).parts
    ]:
        return value
    try:
        return as_kind(like, value)
    except Refused:
        refuse_value(kind_of_value(value).name, kind_of_value(like).name)


@operation
def in_one_access(states):
    """Return whether a state is read and written in one access, known at compile time."""
    return states.itemsize <= LONGEST_IN_ONE_ACCESS


@operation
def words_a_state(states):
    """Return how many 32-bit words a state takes, int32, known at compile time."""
    return int32(states.itemsize // 4)


@operation
def joined(states, value, tag):
    """Return the state that holds `value` and `tag`, to be stored in one access."""
    data = packed(value).ljust(states.itemsize - 4, b"\0") + int(tag).to_bytes(4, "little")
    return np.frombuffer(data, states.dtype)[0]


@operation
def parted(state, like):
    """Return (value in the type of `like`, tag) of a state that was read in one access."""
    data = state.tobytes()
    return unpacked(data[:-4], like), uint32(int.from_bytes(data[-4:], "little"))


@operation
def viewed(array, like):
    """Return the memory of a contiguous array as an array of the type of the number `like`."""
    return array.view(like.dtype)


@operation
def address_of(array):
    """Return the address of the first element, int64."""
    return simulator.scalar(address(array, 0), np.dtype(np.int64))


@operation
def block_notes():
    """Return four int64 of shared memory that last for the kernel: one memory in it, not initialised."""
    return simulator.shared("notes", NOTES, np.dtype(np.int64))


@device_function()
def tag_of(epoch, status):
    """Return the tag of `status` in `epoch`, int64 in 32 bits."""
    return ((epoch << 2) + status) & 0xFFFFFFFF


@device_function()
def status_of(tag, epoch):
    """Return the status that `tag` means in `epoch`, int64."""
    status = (tag - (epoch << 2)) & 0xFFFFFFFF
    return status if status <= INCLUSIVE else ABSENT


@operation
def load_state(states, index, epoch, like):
    """Return (value in the type of `like`, status in `epoch`); the value means nothing when it is absent."""
    return (load_whole if in_one_access(states) else load_acquired)(states, index, epoch, like)


@operation
def store_state(states, index, value, epoch, status):
    """Publish `value` with `status`: once per epoch and status, by one thread."""
    (store_whole if in_one_access(states) else store_released)(states, index, value, epoch, status)


@operation
def nothing_begun(states):
    """Return what stands for a load that `begin_load` has not begun: of the same type, to be overwritten."""
    return joined(states, state_value(states), 0) if in_one_access(states) else int32(0)


@operation
def begin_load(states, index):
    """Begin to load a state and return it as it is; nobody waits for it before `end_load`."""
    return load_relaxed(states, index) if in_one_access(states) else int32(0)


@operation
def end_load(states, begun, index, epoch, like):
    """Do `load_state` with what `begin_load` returned; a state that takes more than one access is loaded only now."""
    return (end_whole if in_one_access(states) else end_acquired)(states, begun, index, epoch, like)


@device_function()
def end_whole(states, begun, index, epoch, like):
    """Do `end_load` where the state has been loaded."""
    value, tag = parted(begun, like)
    return value, status_of(tag, epoch)


@device_function()
def end_acquired(states, begun, index, epoch, like):
    """Do `end_load` by loading the state."""
    return load_acquired(states, index, epoch, like)


@device_function()
def load_whole(states, index, epoch, like):
    """Do `load_state` in one access."""
    check_index(states, index)
    value, tag = parted(load_relaxed(states, index), like)
    return value, status_of(tag, epoch)


@device_function()
def store_whole(states, index, value, epoch, status):
    """Do `store_state` in one access."""
    check_index(states, index)
    store_relaxed(states, index, joined(states, value, tag_of(epoch, status)))


@device_function()
def load_acquired(states, index, epoch, like):
    """Do `load_state` by acquiring the tag; the value is read only where the tag says that it is there."""
    check_index(states, index)
    words = viewed(states, WORD)
    at = index * words_a_state(states)
    status = status_of(load_acquire(words, at), epoch)
    value = like
    if status != ABSENT:
        value = take(words, at + HEAD_WORDS + (status - 1) * words_of(like), 1, like)
    return value, status


@device_function()
def store_released(states, index, value, epoch, status):
    """Do `store_state` by releasing the tag after the value."""
    check_index(states, index)
    words = viewed(states, WORD)
    at = index * words_a_state(states)
    if status != ABSENT:
        put(words, at + HEAD_WORDS + (status - 1) * words_of(value), 1, value)
    store_release(words, at, tag_of(epoch, status))


def refuse_states(found: str):
    """Refuse an array that `tile_states` or `grid_scratch` did not make."""
    refuse(f"look-back and grid_reduce need an array from tile_states or grid_scratch, not {found}.")


def refuse_value(value: str, carried: str):
    """Refuse a value that the states cannot carry."""
    refuse(f"a value of {value} does not go into states of {carried}; make them with the dtype of the value.")


def _carried(states):
    dtype = getattr(states, "dtype", None)
    if dtype is None or dtype.names != ("value", "tag"):
        refuse_states(kind_of_value(states).name)
    return dtype["value"]


def _zero(dtype):
    """Return the zero of a scalar dtype, of a record the tuple of its fields' zeros."""
    if dtype.names:
        return tuple(_zero(dtype[name]) for name in dtype.names)
    return simulator.scalar(0, dtype)
