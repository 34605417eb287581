"""The outputs of a compaction: what they have to be, as which words they are written, when they come again."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import layout_of
from ..simt import machine
from ..simt.specs import ArraySpec
from .calls import Items, Rules
from .overlap import check_apart, share
from .reduce_plan import flat_of
from .select_meaning import Meaning
from .select_policy import SelectPolicy
from .transpose import word_of

COUNTS = tuple(np.dtype(kind) for kind in (np.int64, np.int32, np.uint32, np.uint64))


class Call(NamedTuple):
    """What a user asks of a compaction, but for its outputs. in_place: `out` may be `x`."""

    name: str
    meaning: Meaning
    items: Items
    flags: Items | None
    stream: Any
    policy: SelectPolicy | None
    in_place: bool = True


class Output(NamedTuple):
    """An output of a compaction. dtypes: those that it may have; the first is that of a new one."""

    what: str
    given: Any
    dtypes: tuple[np.dtype[Any], ...]


class Target(NamedTuple):
    """An output as a kernel takes it."""

    argument: Argument
    spec: ArraySpec
    pack: Callable[[int, Any], Any]


def target_of(name: str, output: Output) -> Target | None:
    """Return a given output, as one axis; None where there is none."""
    what, given, dtypes = output
    if given is None:
        return None
    argument = as_output(given, what)
    if argument.dtype not in dtypes:
        wanted = str(dtypes[0]) if len(dtypes) == 1 else "one of " + ", ".join(map(str, dtypes))
        raise Refused(f"{name}: {what} must be of dtype {wanted}, not {argument.dtype}.")
    if argument.strides is not None and len(argument.shape) > 1:
        raise Refused(f"{name}: {what} must have one axis, or be contiguous, not have strides {argument.strides}.")
    return as_target(argument)


def as_target(argument: Argument) -> Target:
    """Return how a kernel takes an array of one axis, or a contiguous one."""
    flat = flat_of(argument.layout, "out")
    return Target(argument, flat.spec, flat.pack or argument.layout.pack)


def new_target(what: Output, size: int, stream: int) -> tuple[Any, Target]:
    """Return (a new output for `size` items, how a kernel takes it)."""
    made = machine.device_array((size,), what.dtypes[0], stream)
    return made, as_target(as_output(made, what.what))


def check_targets(call: Call, asked: list[Output], targets: list[Target | None]) -> None:
    """Check the outputs that are given."""
    counts = targets[-1]
    if counts is not None and counts.argument.size != 1:
        raise ValueError(f"{call.name}: count_out must have one element, not shape {counts.argument.shape}.")
    check_outputs(call, [(one.what, target.argument) for one, target in zip(asked, targets) if target is not None])


def check_outputs(call: Call, written: list[tuple[str, Argument]]) -> None:
    """Refuse outputs that share memory with what is read, or with each other; but `out` may be `x`, if the call can."""
    read = [("x", call.items.source)]
    if call.items.counter is not None:
        read.append(("num_items", call.items.counter))
    if call.flags is not None:
        read.append(("flags", call.flags.source))
    for what, argument in written:
        for other, array in read:
            if not share(argument, array):
                continue
            if what == "out" and other == "x" and call.in_place:
                check_apart(call.name, array, argument)
            else:
                raise ValueError(f"{call.name}: {what} shares memory with {other}; pass an array of its own.")
        read.append((what, argument))


def arguments_of(call: Call, targets: list[Target | None]) -> list[Argument]:
    """Return the arrays of a call: what is read, the outputs, the number of items."""
    read = [call.items.source] if call.flags is None else [call.items.source, call.flags.source]
    counter = [] if call.items.counter is None else [call.items.counter]
    return [*read, *[target.argument for target in targets if target is not None], *counter]


def moved_as_words(call: Call, targets: list[Target | None]) -> Call:
    """Return the call with items that are words, where only the bits count: fewer kernels, and wider accesses.

    The first target becomes one of words too, if it is for items.
    """
    items, moved = call.items, moved_arrays(call, targets)
    word = word_of(*moved) if moved else items.source.dtype
    if word == items.source.dtype:
        return call
    if len(moved) > 1:
        targets[0] = as_target(viewed(moved[1], word))
    source = viewed(items.source, word)
    return call._replace(items=Items(source, flat_of(source.layout, "x"), items.size, items.counter))


def moved_arrays(call: Call, targets: list[Target | None]) -> list[Argument]:
    """Return the items, and the first target if it is for items; nothing where more than the bits count."""
    source, out = call.items.source, targets[0]
    if source.dtype.kind not in call.meaning.words:
        return []
    return [source] if out is None or out.argument.dtype != source.dtype else [source, out.argument]


def rules_of(call: Call, targets: list[Target | None]) -> Rules | None:
    """Return when the call comes again with other arrays; None: these are not aligned as others may be."""
    moved, reads = moved_arrays(call, targets), 1 if call.flags is None else 2
    aligned = []
    if moved:
        word = word_of(*[argument._replace(pointer=0) for argument in moved])
        if word_of(*moved) != word:
            return None
        if word.alignment > call.items.source.dtype.alignment:
            aligned = [(place, word.alignment - 1) for place in (0, reads)[: len(moved)]]
    ends = reads + sum(target is not None for target in targets)
    total = ends if call.items.counter is None else ends + 1
    apart = [(one, other, call.in_place and (one, other) == (0, reads)) for other in range(total)
             for one in range(other) if reads <= other < ends or reads <= one < ends]  # fmt: skip
    return Rules(apart, aligned)


def viewed(argument: Argument, dtype: np.dtype[Any]) -> Argument:
    """Return an array as one of another dtype of the same size."""
    layout = layout_of(dtype, argument.shape, argument.strides, argument.readonly, "x")
    return argument._replace(spec=layout.spec, payload=layout.pack(argument.pointer, argument.owner), layout=layout)
