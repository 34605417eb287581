"""Calls that come again with arrays of known layouts: looked up, addresses written, launched.

An array function decides a call as a `Job`. Where a job has `Rules`, everything in it follows from the layouts of the
arrays, from options that are compared, and from the functions of the user's, as long as these are what they were. Such
a call is remembered, and is known again in one of two ways:

- arrays of one framework in the order of its own current stream are only asked for layout and address, and the launch
  is the driver's own: see host/launch_again.py, which launches users' kernels so;
- any other arrays are read as arguments, their streams are ordered, and the job is launched with them.

What is known is left to the one who decides wherever an address says something: arrays that overlap, however little.
Of a call that returns a new array it is remembered which, so that it comes again as one into an array.
"""

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

from ..host.arrays import Argument, as_argument
from ..host.arrays_layout import remember
from ..host.launch_again import on_this_device, read_again
from ..host.scratch import reset, scratch
from ..host.streams_in import enter
from ..simt import machine
from ..simt.specs import ArraySpec, Spec
from .call_table import CallTable
from .calls import Job, Port, Rules, Use, launched, output_of, use_of
from .overlap import extent_of, in_one_place


def launched_again(calls: CallTable, arrays: Sequence[Any], options: Hashable, stream: Any) -> bool:
    """Launch a call that is known and return True, or do nothing and return False: the first time, or not so simple.

    Args: arrays: all that the call has, inputs and outputs, in the order of the `arguments` of its job.  options: what
    else tells it apart.
    """
    found = read_again(arrays, stream)
    if found is None:
        return False
    keys, addresses, handle = found
    known = calls.now().get((keys, options))
    return known is not None and known.again(addresses, handle, arrays)


def new_output(calls: CallTable, arrays: Sequence[Any], options: Hashable, stream: Any) -> Any:
    """Return a new array like the one that a call with such arrays has returned, in the order of its work.

    None: it is the first time, or not so simple.
    """
    found = read_again(arrays, stream)
    if found is None:
        return None
    keys, _, handle = found
    known = calls.now().get((keys, options))
    if known is None:
        return None
    shape, dtype = known
    return output_of(None, shape, dtype, handle)[0]


def remember_output(calls: CallTable, arguments: Sequence[Argument], options: Hashable, output: Argument) -> None:
    """Remember what a call with these arguments has returned, for `new_output`."""
    key = on_this_device([argument.layout for argument in arguments]), options
    remember(calls.now(), key, (output.shape, output.dtype))


def run(calls: CallTable, arrays: Sequence[Any], options: Hashable, stream: Any, decide: Callable[[], Job]) -> None:
    """Make a call that is not known, or not so simple, and remember it.

    Args: those of `launched_again`.  decide: reads the call from the beginning, and refuses what is wrong.
    """
    table = calls.now()
    try:
        arguments = [as_argument(array, place) for place, array in enumerate(arrays)]
    except (TypeError, ValueError):  # whoever decides says it, by the names of the arguments
        arguments = []
    if not arguments or not all(argument.is_array for argument in arguments):  # nor is a number a part of any layout
        launched(decide())
        return
    key = on_this_device([argument.layout for argument in arguments]), options
    known = table.get(key)
    if known is not None and known.with_arguments(arguments, stream):
        return
    job = decide()
    launched(job)
    if job.kernel is not None and job.rules is not None and known is None and calls.now() is table:
        remember(table, key, Known(job, job.kernel, job.rules))


class Known:
    """A call that is decided but for addresses and the stream."""

    __slots__ = ("_aligned", "_apart", "_job", "_kernel", "_order", "_templates", "_use")

    def __init__(self, job: Job, kernel: machine.Kernel, rules: Rules) -> None:
        arguments, self._kernel = job.arguments, kernel
        self._job = job._replace(result=None, visitors=(), held=None, outputs=None, arguments=())
        self._apart = [_reach(arguments, *pair) for pair in rules.apart]
        self._aligned, self._use = rules.aligned, use_of(job)
        places = [len(arguments) if type(each) is Use else each.place
                  for each in job.payloads if type(each) in (Port, Use)]  # fmt: skip
        self._order = None if places == list(range(len(places))) else itemgetter(*places)
        self._templates: dict[int, Any] = {}

    def again(self, addresses: list[int], stream: int, arrays: Sequence[Any]) -> bool:
        """Launch at these addresses; return False, having done nothing, where that is not so simple."""
        if not self._fits(addresses):
            return False
        job, use, memory, slots, owners = self._job, self._use, None, 0, arrays
        if use is not None:
            memory = scratch(use.what, use.spec, use.slots, stream)
            slots = memory.slots
            addresses.append(memory.pointer)
        template = self._templates.get(slots)
        if template is None:
            template = self._templates[slots] = self._template(slots)
        if not template:
            return False
        if self._order is not None:
            addresses, owners = self._order(addresses), self._order((*arrays, None))
        try:
            return template(job.grid, job.block, job.shared, stream, addresses, owners)
        except BaseException:
            if memory is not None:
                reset(memory, stream)
            raise

    def with_arguments(self, arguments: Sequence[Argument], stream: Any) -> bool:
        """Launch with these arguments, on a stream ordered after what made them; return False, having done nothing."""
        if not self._fits([argument.pointer for argument in arguments]):
            return False
        handle, visitors = enter(stream, arguments)
        launched(self._job._replace(stream=handle, visitors=visitors, arguments=arguments))
        return True

    def _fits(self, addresses: Sequence[int]) -> bool:
        """Return whether addresses are as the rules say, as far as that is seen at once."""
        for first, second, least, most, may_be_one in self._apart:
            distance = addresses[first] - addresses[second]
            if least < distance < most and (distance or not may_be_one):
                return False
        for place, bits in self._aligned:
            if addresses[place] & bits:
                return False
        return True

    def _template(self, slots: int) -> Any:
        """Return the template of launches with so much scratch; False where arrays stand in tuples."""
        specs: list[Spec | None] = []
        packs: list[Any] = []
        for payload in self._job.payloads:
            if type(payload) is Port:
                specs.append(payload.spec)
                packs.append(payload.pack)
            elif type(payload) is Use:
                specs.append(payload.spec)
                packs.append(machine.array_packer((slots,), None, payload.spec.dtype))
            else:
                specs.append(None)
                packs.append(payload)
        if not all(spec is None or isinstance(spec, ArraySpec) for spec in specs):
            return False
        return machine.template(self._kernel, specs, packs) or False


def _reach(arguments: Sequence[Argument], first: int, second: int, may_be_one: bool) -> tuple[int, int, int, int, bool]:
    """Return (first, second, least, most, whether one address is fine): between these distances memory is shared."""
    a, b = arguments[first], arguments[second]
    (low, high), (other_low, other_high) = extent_of(a.layout), extent_of(b.layout)
    if not a.size or not b.size:
        return first, second, 0, 0, True
    return first, second, other_low - high, other_high - low, may_be_one and in_one_place(a, b)
