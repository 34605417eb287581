"""From a user's call of a compaction to a launch: arguments read and checked, outputs made, the count brought back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.arrays_layout import layout_of, remember
from ..host.results import landing
from ..simt import machine
from ..simt.specs import ArraySpec, array_spec
from .calls import Items, Job, Use, entered, launched
from .overlap import check_apart, share
from .reduce_arguments import line_of, one_element
from .reduce_plan import NO_INIT, flat_of
from .select_meaning import INT64, Meaning
from .select_plan import NO_COUNT, Launch, Plan, few, payload_of, plan_for
from .select_policy import SelectPolicy, policy_of
from .transpose import word_of

COUNTS = tuple(np.dtype(kind) for kind in (np.int64, np.int32, np.uint32, np.uint64))
NUMBERS = 2  # that land: how many items are kept; of a partition how many there are
LANDED = object()  # for `count_out`: the host waits for the count


class Output(NamedTuple):
    """An output of a compaction. dtypes: those that it may have; the first is that of a new one."""

    what: str
    given: Any
    dtypes: tuple[np.dtype[Any], ...]


class Target(NamedTuple):
    """An output as a kernel takes it."""

    argument: Argument
    spec: Any
    payload: Any


def target_of(name: str, output: Output) -> Target | None:
    """Return a given output, as one axis; None where there is none."""
    what, given, dtypes = output
    if given is None:
        return None
    argument = as_output(given, what)
    if argument.dtype not in dtypes:
        wanted = str(dtypes[0]) if len(dtypes) == 1 else "one of " + ", ".join(map(str, dtypes))
        raise Refused(f"{name}: {what} must be of dtype {wanted}, not {argument.dtype}.")
    if argument.strides is None:
        return Target(argument, array_spec(argument.dtype, 1), line_of(argument))
    if len(argument.shape) > 1:
        raise Refused(f"{name}: {what} must have one axis, or be contiguous, not have strides {argument.strides}.")
    return Target(argument, argument.spec, argument.payload)


def new_target(what: Output, size: int, stream: int) -> tuple[Any, Target]:
    """Return (a new output for `size` items, how a kernel takes it)."""
    made = machine.device_array((size,), what.dtypes[0], stream)
    argument = as_output(made, what.what)
    return made, Target(argument, argument.spec, argument.payload)


def check_outputs(call: "Call", written: list[tuple[str, Argument]]) -> None:
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


class Call(NamedTuple):
    """What a user asks of a compaction, but for its outputs. in_place: `out` may be `x`."""

    name: str
    meaning: Meaning
    items: Items
    flags: Items | None
    stream: Any
    policy: SelectPolicy | None
    in_place: bool = True


class Told(NamedTuple):
    """A count that a prepared call has made, and tells with its outputs."""

    array: Any


def compaction_job(call: Call, outputs: tuple[Output, ...], count_out: Any) -> Job:
    """Return the call that writes what is kept to `outputs`, one or two, and how much that is to `count_out`.

    count_out: a device array; None: nobody wants to know; LANDED: the host, which waits; a count that was `Told`.
    Outputs that are not given are made, as long as there are items, and then the count is made too, unless it lands.
    """
    name, new, lands = call.name, outputs[0].given is None, count_out is LANDED
    if new and count_out is not None and not lands:
        raise Refused(f"{name}: count_out= goes with out=; without them the result is as long as what is kept.")
    told = isinstance(count_out, Told) or (new and not lands)
    count = count_out.array if isinstance(count_out, Told) else None if lands else count_out
    asked = [*outputs, Output("count_out", count, COUNTS)]
    targets = [target_of(name, output) for output in asked]
    handle, visitors = ordered(call, asked, targets)
    results = [output.given for output in asked]
    if new:
        for place in range(len(asked) - lands):
            size = 1 if place == len(outputs) else call.items.size
            results[place], targets[place] = new_target(asked[place], size, handle)
    written = results[0] if len(outputs) == 1 else tuple(results[:-1])
    result = tuple(results) if told else tuple(results[:-1]) if lands else written
    named = {"out": written, "count_out": Told(results[-1])} if told else None
    call = moved_as_words(call, targets)
    policy = policy_of(name, call.policy, call.items.source.dtype.itemsize)
    plan = plan_of(call, policy, [None if target is None else target.spec for target in targets])
    launch = plan.launch(call.items.size, handle)
    payloads = payloads_of(call, plan, launch, targets, landing.place(INT64, NUMBERS)[0] if lands else NO_COUNT)
    grid, block, held = (launch.blocks, 1, 1), (launch.threads, 1, 1), (call, targets, launch)
    return Job(launch.kernel, grid, block, launch.shared, payloads, result, handle, visitors, held, named)


def ordered(call: Call, asked: list[Output], targets: list[Target | None]) -> tuple[int, Sequence[Argument]]:
    """Check the outputs that are given against the inputs; return what `entered` does of all of them."""
    name, items, flags = call.name, call.items, call.flags
    counts = targets[-1]
    if counts is not None and counts.argument.size != 1:
        raise ValueError(f"{name}: count_out must have one element, not shape {counts.argument.shape}.")
    given = [(output.what, target.argument) for output, target in zip(asked, targets) if target is not None]
    check_outputs(call, given)
    return entered(
        call.stream,
        items.source,
        items.counter,
        None if flags is None else flags.source,
        *[array for _, array in given],
    )


def payloads_of(call: Call, plan: Plan, launch: Launch, targets: list[Target | None], no_count: Any) -> Sequence[Any]:
    """Return what the kernel gets; `no_count`: for the count, where there is no array for it."""
    written = [NO_INIT if target is None else target.payload for target in targets[:-1]]
    return [
        payload_of(call.items),
        NO_INIT if call.flags is None else payload_of(call.flags),
        *written,
        *[NO_INIT] * (2 - len(written)),
        no_count if targets[-1] is None else targets[-1].payload,
        Use("tiles", plan.states, launch.slots) if launch.slots else plan.no_states,
        call.items.count_payload,
        *[argument.payload for argument in launch.captured],
    ]


def moved_as_words(call: Call, targets: list[Target | None]) -> Call:
    """Return the call with items that are words, where only the bits count: fewer kernels, and wider accesses.

    The first target becomes one of words too, if it is for items.
    """
    items = call.items
    if items.source.dtype.kind not in call.meaning.words:
        return call
    out = targets[0]
    beside = [] if out is None or out.argument.dtype != items.source.dtype else [out.argument]
    word = word_of(items.source, *beside)
    if word == items.source.dtype:
        return call
    if out is not None and beside:
        argument = viewed(out.argument, word)
        payload = line_of(argument) if argument.strides is None else argument.payload
        targets[0] = Target(argument, array_spec(word, 1, argument.strides is None), payload)
    source = viewed(items.source, word)
    return call._replace(items=Items(source, flat_of(source.layout, "x"), items.size, items.counter))


def viewed(argument: Argument, dtype: np.dtype[Any]) -> Argument:
    """Return an array as one of another dtype of the same size."""
    layout = layout_of(dtype, argument.shape, argument.strides, argument.readonly, "x")
    return argument._replace(spec=layout.spec, payload=layout.pack(argument.pointer, argument.owner), layout=layout)


def plan_of(call: Call, policy: SelectPolicy, targets: list[ArraySpec | None]) -> Plan:
    """Return what was compiled for such a call, or will be where it is the first. targets: specs of the outputs."""
    items, flags, counter = call.items, call.flags, call.items.counter
    key = (
        items.flat.spec, None if flags is None else flags.flat.spec, *targets,
        None if counter is None else counter.dtype, few(items.size), policy, machine.context_key(),
    )  # fmt: skip
    found = call.meaning.plans.get(key)
    if found is None:
        specs = [*targets[:-1], *[None] * (3 - len(targets)), targets[-1] or array_spec(INT64, 1)]
        fields = call.meaning.fields(call.name, items.source.dtype, few(items.size))
        count = None if counter is None else one_element(counter)
        made = plan_for(call.name, fields, items, flags, specs, count, policy, call.meaning.function)
        found = remember(call.meaning.plans, key, made)
    return found


def fetched(name: str, job: Job, length: int = 0) -> tuple[int, tuple[Any, ...]]:
    """Launch, wait, and return (the count, the outputs, cut to which of the numbers); `count_out` was LANDED."""
    if job.stream and machine.is_capturing(job.stream):
        raise Refused(f"{name}: how much is kept has to be waited for, which no graph can; pass out= and count_out=.")
    view = landing.place(INT64, NUMBERS)[1]
    try:
        launched(job)
        machine.stream_synchronize(job.stream)
    except BaseException:
        landing.leave(INT64, NUMBERS)  # the kernel may still write there
        raise
    count, size = int(view[0]), int(view[length])
    return count, tuple([shortened(array, size, job.stream) for array in job.result])


def shortened(array: Any, count: int, stream: int) -> Any:
    """Return the first `count` items of a new array: itself where most of it is wanted, else a copy."""
    if count == array.size:
        return array
    if 2 * count >= array.size:
        return array[:count]
    short = machine.device_array((count,), array.dtype, stream)
    if count:
        nbytes = count * array.dtype.itemsize
        machine.copy(as_argument(short, "out").pointer, as_argument(array, "out").pointer, nbytes, stream)
        machine.stream_synchronize(stream)  # as the kernel it is over for work on any stream
    return short
