"""From a user's call of a compaction to a launch: arguments read and checked, outputs made, the count brought back."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import Refused
from ..host.arrays import as_argument
from ..host.arrays_layout import remember
from ..host.results import landing
from ..simt import machine
from ..simt.specs import ArraySpec, array_spec
from . import again
from .calls import Job, Port, Rules, Use, entered, launched
from .overlap import share
from .reduce_arguments import one_element
from .reduce_plan import NO_INIT
from .select_meaning import INT64, Meaning
from .select_outputs import (
    COUNTS,
    Call,
    Output,
    Target,
    arguments_of,
    as_target,
    check_targets,
    moved_as_words,
    new_target,
    rules_of,
    target_of,
)
from .select_plan import NO_COUNT, Launch, Plan, few, plan_for, port_of
from .select_policy import SelectPolicy, policy_of

NUMBERS = 2  # that land: how many items are kept; of a partition how many there are
LANDED = object()  # for `count_out`: the host waits for the count


class Told(NamedTuple):
    """A count that a prepared call has made, and tells with its outputs."""

    array: Any


def run(
    read: Callable[..., Job], given: tuple[Any, ...], meaning: Meaning, arrays: tuple[Any, ...], out: Any,
    count_out: Any, num_items: Any, stream: Any, policy: SelectPolicy | None,
) -> Any:  # fmt: skip
    """Make a call that nobody waits for; return `out`.

    read: decides it, of what is `given` and the options.  arrays: all that it has but `count_out` and `num_items`.
    """
    known = out is not None and (policy is None or type(policy) is SelectPolicy)
    if known:
        if count_out is not None:
            arrays += (count_out,)
        if num_items is not None:
            arrays += (num_items,)
        options = count_out is None, num_items is None, arrays[0] is out, policy  # in place there may be another kernel
        if again.launched_again(meaning.calls, arrays, options, stream):
            return out
    decide = partial(read, *given, out=out, count_out=count_out, num_items=num_items, stream=stream, policy=policy)
    if not known:
        return launched(decide())
    again.run(meaning.calls, arrays, options, stream, decide)
    return out


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
    check_targets(call, asked, targets)
    handle, visitors = entered(call.stream, *arguments_of(call, targets))
    results = [output.given for output in asked]
    if new:
        for place in range(len(asked) - lands):
            size = 1 if place == len(outputs) else call.items.size
            results[place], targets[place] = new_target(asked[place], size, handle)
    written = results[0] if len(outputs) == 1 else tuple(results[:-1])
    result = tuple(results) if told else tuple(results[:-1]) if lands else written
    named = {"out": written, "count_out": Told(results[-1])} if told else None
    arguments = arguments_of(call, targets)
    rules = None if new else rules_of(call, targets)
    call = moved_as_words(call, targets)
    policy = policy_of(name, call.policy, call.items.source.dtype.itemsize)
    plan = plan_of(call, policy, [None if target is None else target.spec for target in targets])
    launch = plan.launch(
        call.items.size, handle, targets[0] is None or not share(call.items.source, targets[0].argument)
    )
    if launch.apart and rules is not None:
        rules = Rules([(one, other, False) for one, other, _ in rules.apart], rules.aligned)
    payloads = payloads_of(call, plan, launch, targets, landing.place(INT64, NUMBERS)[0] if lands else NO_COUNT)
    grid, block, held = (launch.blocks, 1, 1), (launch.threads, 1, 1), (call, targets, launch)
    copied = bool(launch.captured)
    return Job(launch.kernel, grid, block, launch.shared, payloads, result, handle, visitors, held, named, copied,
               arguments, None if copied else rules)  # fmt: skip


def payloads_of(call: Call, plan: Plan, launch: Launch, targets: list[Target | None], no_count: Any) -> Sequence[Any]:
    """Return what the kernel gets; `no_count`: for the count, where there is no array for it."""
    read = [port_of(0, call.items), NO_INIT if call.flags is None else port_of(1, call.flags)]
    place = 1 if call.flags is None else 2
    written: list[Any] = [NO_INIT, NO_INIT, no_count]
    for where, target in zip((*range(len(targets) - 1), -1), targets):
        if target is not None:
            written[where] = Port(place, target.spec, target.pack)
            place += 1
    counter = call.items.counter
    count = call.items.count_payload if counter is None else Port(place, *as_target(counter)[1:])
    return [
        *read,
        *written,
        Use("tiles", plan.states, launch.slots) if launch.slots else plan.no_states,
        count,
        *[argument.payload for argument in launch.captured],
    ]


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
