"""Keeping some of the items of a device array, in order: one launch over any number of items.

All of them share what follows. `x` is a device array of numba, CuPy, torch, JAX or of anything with an array interface,
of any shape and strides: its items count in C order; up to four axes that do not line up are read in place. True is
what Python takes for true: any number but 0, so NaN too.

Args (keyword-only): out: a device array for what is kept, of one axis (strided or not) or contiguous; it is returned,
nothing waits, nothing is allocated, and the call may be captured into a graph. What does not fit into it is not
written, nor is what lies behind the items that are kept; it may be `x` itself, of other arrays it shares no memory.
count_out: a device array of one int32, uint32, int64 or uint64, which gets how many items are kept, those that did not
fit too; without it nobody is told. It goes with `out`, and is what `num_items=` of the next function takes.
num_items: how many items of `x` count: an int, or a device array of one integer, which is read on the device, where
more than `x` has are all of them and a negative number none: so a count of more than fitted is what is there.
stream: any stream object or handle; None: the current one of the arrays' framework, else the legacy default stream.
policy: a `SelectPolicy` instead of the measured one.
Returns: without `out` a new device array, exactly as long as what is kept: the host waits for the count.
`prepare` without `out` makes an output as long as `x` and a count, and its calls return (output, count).
Order: that of the items.  Deterministic: the same bits every time.
Cost: every item is read once; without `out` what is kept may be copied once more, so that little memory is held.
Errors: Refused (a TypeError) or ValueError in one sentence; MemoryError when there is no room for scratch, with `out`
as it was.
"""

from typing import Any

from ..errors import Refused
from ..host.arrays import as_output
from .calls import Items, Job, items_of, prepares
from .select_call import LANDED, compaction_job, fetched, run
from .select_meaning import ENCODED, FLAGGED, INT64, NONZERO, UNIQUE, meaning_of
from .select_outputs import COUNTS, Call, Output
from .select_policy import SelectPolicy

__all__ = ["SelectPolicy", "nonzero", "partition", "run_length_encode", "select", "select_flagged", "unique"]

Policy = SelectPolicy | None


def read_select(
    x: Any, pred: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `select`."""
    items = items_of("select", x, num_items)
    call = Call("select", meaning_of("select", pred), items, None, stream, policy)
    return compaction_job(call, (Output("out", out, (items.source.dtype,)),), count_out)


def read_select_flagged(
    x: Any, flags: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `select_flagged`."""
    items = items_of("select_flagged", x, num_items)
    call = Call("select_flagged", FLAGGED, items, flags_for("select_flagged", flags, items), stream, policy)
    return compaction_job(call, (Output("out", out, (items.source.dtype,)),), count_out)


def flags_for(name: str, flags: Any, items: Items) -> Items:
    """Return the flags of the items; refuse another number of them."""
    found = items_of(name, flags, None, "flags")
    if found.source.dtype.names:
        raise Refused(f"{name}: flags must hold numbers or bools, not records ({found.source.dtype}).")
    if found.flat.size != items.flat.size:
        raise ValueError(
            f"{name}: there must be a flag for each of the {items.flat.size} items, not {found.flat.size}."
        )
    return found


def read_nonzero(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `nonzero`."""
    items = items_of("nonzero", x, num_items)
    call = Call("nonzero", NONZERO, items, None, stream, policy)
    return compaction_job(call, (Output("out", out, (INT64,)),), count_out)


def read_partition(
    x: Any, pred: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `partition`."""
    items = items_of("partition", x, num_items)
    call = Call("partition", meaning_of("partition", pred), items, None, stream, policy, in_place=False)
    if out is not None and as_output(out, "out").size < items.size:
        raise ValueError(
            f"partition: out must have room for all {items.size} items, not for {as_output(out, 'out').size}."
        )
    return compaction_job(call, (Output("out", out, (items.source.dtype,)),), count_out)


def read_unique(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `unique`."""
    items = items_of("unique", x, num_items)
    call = Call("unique", UNIQUE, items, None, stream, policy)
    return compaction_job(call, (Output("out", out, (items.source.dtype,)),), count_out)


def read_run_length_encode(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `run_length_encode`."""
    items = items_of("run_length_encode", x, num_items)
    if out is None:
        values = lengths = None
    elif isinstance(out, tuple | list) and len(out) == 2 and not any(array is None for array in out):
        values, lengths = out
    else:
        raise Refused("run_length_encode: out must be a pair of device arrays, for the values and for the lengths.")
    call = Call("run_length_encode", ENCODED, items, None, stream, policy)
    outputs = Output("out", values, (items.source.dtype,)), Output("the second out", lengths, COUNTS)
    return compaction_job(call, outputs, count_out)


@prepares(read_select, "x", "out", "count_out", "num_items")
def select(
    x: Any, pred: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Any:  # fmt: skip
    """Return the items of `x` for which `pred` is true.

    Args: pred: item -> a number or bool: a Python function, a lambda, a device function. It may capture numbers and
    device arrays. float16 items reach it as float32, structured ones as tuples of their fields; they are kept as they
    are.  out: of the dtype of `x`.
    Example: select(x, lambda v: v > 2) of 3, 1, 4, 1, 5 -> 3, 4, 5.
    """
    if out is None and count_out is None:
        job = read_select(x, pred, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        return fetched("select", job)[1][0]
    return run(read_select, (x, pred), meaning_of("select", pred), (x, out), out, count_out, num_items, stream, policy)


@prepares(read_select_flagged, "x", "flags", "out", "count_out", "num_items")
def select_flagged(
    x: Any, flags: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Any:  # fmt: skip
    """Return the items of `x` whose flag is true.

    Args: flags: a device array of numbers or bools, as many as `x` has items, of any shape and strides.
    out: of the dtype of `x`, which may be any, records too.
    Example: select_flagged(x, flags) of 3, 1, 4 with flags 1, 0, 2 -> 3, 4.
    """
    if out is None and count_out is None:
        job = read_select_flagged(x, flags, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        return fetched("select_flagged", job)[1][0]
    arrays = x, flags, out
    return run(read_select_flagged, (x, flags), FLAGGED, arrays, out, count_out, num_items, stream, policy)


@prepares(read_nonzero, "x", "out", "count_out", "num_items")
def nonzero(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Any:  # fmt: skip
    """Return the places of the items of `x` that are not 0: flat ones, in C order, ascending, int64.

    Args: out: of dtype int64.
    Example: nonzero(x) of 0, 7, 0, -1 -> 1, 3.
    """
    if out is None and count_out is None:
        job = read_nonzero(x, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        return fetched("nonzero", job)[1][0]
    return run(read_nonzero, (x,), NONZERO, (x, out), out, count_out, num_items, stream, policy)


@prepares(read_partition, "x", "out", "count_out", "num_items")
def partition(
    x: Any, pred: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Any:  # fmt: skip
    """Return (the items of `x` for which `pred` is true, then the others, both in order; how many are in front).

    Not NumPy's, which finds the k-th smallest item. For `pred` see `select`.
    Args: out: of the dtype of `x`, with room for all its items; it is returned, and shares no memory with `x`.
    Returns: without `out` a new array and an int.
    Cost: of many items, what is not in front is read and written once more, within the launch: its place is known at
    the end. Few are written once.
    Example: partition(x, lambda v: v > 2) of 3, 1, 4, 1, 5 -> (3, 4, 5, 1, 1), 3.
    """
    if out is None and count_out is None:
        job = read_partition(x, pred, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        count, arrays = fetched("partition", job, 1)
        return arrays[0], count
    meaning = meaning_of("partition", pred)
    return run(read_partition, (x, pred), meaning, (x, out), out, count_out, num_items, stream, policy)


@prepares(read_unique, "x", "out", "count_out", "num_items")
def unique(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Any:  # fmt: skip
    """Return the items of `x` without those that equal the one before them: the first item of every run.

    Unlike NumPy's it sorts nothing: of a sorted array the items that differ remain, of another one an item may come
    again after another. A NaN equals nothing, so that every NaN is kept; of equal zeros of both signs the first is.
    Args: out: of the dtype of `x`, which may be any but records.
    Example: unique(x) of 3, 3, 1, 3 -> 3, 1, 3.
    """
    if out is None and count_out is None:
        job = read_unique(x, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        return fetched("unique", job)[1][0]
    return run(read_unique, (x,), UNIQUE, (x, out), out, count_out, num_items, stream, policy)


@prepares(read_run_length_encode, "x", "out", "count_out", "num_items")
def run_length_encode(
    x: Any, *, out: Any = None, count_out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
) -> Any:  # fmt: skip
    """Return (the first item of every run of equal items of `x`, the lengths of the runs, how many there are).

    What is equal is said in `unique`. The lengths are int64, and add up to the number of items.
    Args: out: a pair of device arrays for the values, of the dtype of `x`, and for the lengths, of int32, uint32, int64
    or uint64; the pair is returned. The values may take the place of `x`.
    Returns: without `out` two new arrays and an int. `prepare` without `out`: calls return (values, lengths, count).
    Example: run_length_encode(x) of 5, 5, 2 -> (5, 2), (2, 1), 2.
    """
    if out is None and count_out is None:
        job = read_run_length_encode(x, count_out=LANDED, num_items=num_items, stream=stream, policy=policy)
        count, arrays = fetched("run_length_encode", job)
        return *arrays, count
    arrays = (x, *out) if isinstance(out, tuple | list) else (x, out)
    run(read_run_length_encode, (x,), ENCODED, arrays, out, count_out, num_items, stream, policy)
    return tuple(out)
