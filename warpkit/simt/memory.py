"""Memory: shared and local arrays, atomics, vector access, relaxed/acquire/release access.

Bodies are the meaning, as in lanes.py. Indices are those of a one-dimensional array; elements of 1, 2, 4, 8 or 16 bytes
(16: complex128, or a record of two 64-bit words) are read and written by the ordered accesses as one.
"""

from .machine import SIMULATOR, operation

if SIMULATOR:
    from . import simulator
    from .refusals import refuse
    from .simulated import uint64
    from .simulated_memory import (
        address,
        call_site,
        from_words,
        read_one,
        read_run,
        to_words,
        words_in,
        write_one,
        write_run,
    )


MOST_ITEMS = 256  # of a thread, in a `local_like`


@operation
def shared_array(shape, dtype):
    """Return an array of this block, not initialised; each call in the source is an array of its own.

    Called by: all threads of the block.  Returns: the same array in each of them, in shared memory.
    Args: shape: a compile-time integer or tuple of them.  dtype: any NumPy scalar type, vector type or record dtype.
    """
    return simulator.shared(call_site(), shape, dtype)


@operation
def dynamic_shared(size, dtype, offset):
    """Return `size` items of the block's dynamic shared memory, whose bytes the launch gives, from byte `offset` on.

    Called by: all threads of a kernel that is launched with so much of it.  Args: dtype: as of `shared_array`.
    offset: a multiple of 16.  The memory is one and not initialised; what overlaps is the same memory.
    """
    return simulator.dynamic_shared(dtype, int(offset), int(size))


@operation
def local_array(shape, dtype):
    """Return an array of this thread, not initialised.

    Called by: any thread.  Args: as `shared_array`.
    Returns: the array; in registers where every index is known at compile time, else in local memory.
    """
    return simulator.local(shape, dtype)


@operation
def local_like(items):
    """Return an array of this thread as long as the one-dimensional `items` and of its type, not initialised.

    Registers where every index is known at compile time. At most 256 items; with more, the kernel stops with an error.
    """
    if items.size > MOST_ITEMS:
        refuse(f"local_like: a thread holds at most {MOST_ITEMS} items, not {items.size}.")
    return simulator.local(items.size, items._element)


@operation
def atomic_add(array, index, value):
    """Add `value` to `array[index]` in one step; returns the old value. 32- and 64-bit integers and floats."""
    return simulator.atomic("add", array, index, value)


@operation
def accumulate(array, index, value):
    """Add `value` to `array[index]` in global memory in one step; no old value returns, so that nothing waits for one.

    32- and 64-bit integers and floats. In a kernel with a fence ptxas does not find out that nobody wants the old one.
    """
    simulator.atomic("add", array, index, value)


@operation
def atomic_min(array, index, value):
    """Lower `array[index]` to `value` where it is larger, in one step; returns the old value."""
    return simulator.atomic("min", array, index, value)


@operation
def atomic_max(array, index, value):
    """Raise `array[index]` to `value` where it is smaller, in one step; returns the old value."""
    return simulator.atomic("max", array, index, value)


@operation
def atomic_and(array, index, value):
    """Clear in `array[index]` the bits that `value` lacks, in one step; returns the old value."""
    return simulator.atomic("and_", array, index, value)


@operation
def atomic_or(array, index, value):
    """Set in `array[index]` the bits of `value`, in one step; returns the old value."""
    return simulator.atomic("or_", array, index, value)


@operation
def atomic_xor(array, index, value):
    """Flip in `array[index]` the bits of `value`, in one step; returns the old value."""
    return simulator.atomic("xor", array, index, value)


@operation
def atomic_exchange(array, index, value):
    """Store `value` in `array[index]` and return the old value, in one step."""
    return simulator.atomic("exch", array, index, value)


@operation
def atomic_compare_exchange(array, index, expected, value):
    """Store `value` in `array[index]` if it holds `expected`, in one step; returns the old value."""
    return simulator.atomic("cas", array, index, expected, value)


@operation
def load_relaxed(array, index):
    """Return `array[index]` as other threads of the device last stored it; orders nothing else."""
    return read_one("load_relaxed", array, index, "relaxed")


@operation
def load_shared_relaxed(array, index):
    """Return `array[index]`, 32 bits in shared memory, as other threads of the block last stored it; orders nothing."""
    return read_one("load_shared_relaxed", array, index, "relaxed")


@operation
def load_acquire(array, index):
    """Return `array[index]`; what its writer stored before a release is seen by this thread's later accesses."""
    return read_one("load_acquire", array, index, "acquire")


@operation
def store_relaxed(array, index, value):
    """Store `value` in `array[index]` for all threads of the device; orders nothing else."""
    write_one("store_relaxed", array, index, value, "relaxed")


@operation
def store_release(array, index, value):
    """Store `value` in `array[index]`; who acquires it sees this thread's earlier stores too."""
    write_one("store_release", array, index, value, "release")


@operation
def is_aligned(array, index, nbytes):
    """Return whether the address of `array[index]` is a multiple of `nbytes`."""
    return address(array, index) % int(nbytes) == 0


@operation
def load_vector(items, at, source, index, nbytes):
    """Fill `items[at:]` with the `nbytes` from `source[index]` on, in one access.

    Args: nbytes: compile-time 2, 4, 8 or 16, a multiple of the item size.  The address must be aligned to it, `source`
    contiguous, both arrays of one dtype.
    """
    read_run(items, at, source, index, nbytes)


@operation
def store_vector(items, at, target, index, nbytes):
    """Store the `nbytes` of `items[at:]` from `target[index]` on, in one access; conditions as for `load_vector`."""
    write_run(items, at, target, index, nbytes)


@operation
def vector_bytes(items, array):
    """Return the bytes of `items` where `load_items` and `store_items` move them in one access of 4, 8 or 16, else 0.

    With an aligned address, that is. Known at compile time where the length of `items` is.
    """
    total = items.size * items.itemsize
    alike = items.dtype == array.dtype and array.strides[0] == array.itemsize
    return total if alike and total in (4, 8, 16) else 0


@operation
def load_items(items, source, index):
    """Fill `items` from `source[index]` on, in the widest accesses that its length and the alignment allow.

    Up to 16 bytes an access for numbers, vectors and records of 1, 2, 4, 8 or 16 bytes in arrays of one dtype, `source`
    contiguous; everything else item by item. Negative indices do not wrap.
    """
    for k in range(items.size):
        items[k] = source[uint64(int(index) + k)]


@operation
def store_items(items, target, index):
    """Store `items` from `target[index]` on; see `load_items`."""
    for k in range(items.size):
        target[uint64(int(index) + k)] = items[k]


@operation
def scratch(slots, like):
    """Return the block's scratch for `slots` (compile-time) values like `like`: 32-bit words, not initialised.

    One memory per size in the whole kernel, shared by everything that asks for it: whoever uses it ends with a barrier.
    The size is slots × the words of a value, rounded up to a power of two, × 4 bytes.
    """
    size = slots << (words_of(like) - 1).bit_length()
    return simulator.shared(("scratch", size), size, "uint32")


@operation
def result_scratch(like):
    """Return the block's scratch for a result like `like` that one thread hands to all: 32-bit words, not initialised.

    One memory per size in the whole kernel, apart from `scratch`. Whoever uses it stores between two barriers of its
    own and reads behind them; nobody waits after reading, since the next to store waits for all first.
    The size is the words of a value, rounded up to a power of two, × 4 bytes.
    """
    size = 1 << (words_of(like) - 1).bit_length()
    return simulator.shared(("result", size), size, "uint32")


@operation
def words_of(value):
    """Return how many 32-bit words hold `value`, known at compile time."""
    return words_in(value)


@operation
def put(words, slot, stride, value):
    """Store `value`, of any type that moves, in `slot` of 32-bit `words`: its k-th word at `slot + k * stride`."""
    for k, word in enumerate(to_words(value)):
        words[int(slot) + k * int(stride)] = word


@operation
def take(words, slot, stride, like):
    """Return the value of the type of `like` that `put` stored in `slot`."""
    return from_words([words[int(slot) + k * int(stride)] for k in range(words_of(like))], like)
