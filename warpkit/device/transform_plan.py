"""From the arrays of an elementwise function to a launch: how each is accessed, which kernel, how many blocks."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import layout_of, remember
from ..host.launch import enter_with
from ..host.parallel_calls import Calls, Loaded, kernel_of
from ..simt import machine
from ..simt.specs import Spec, tuple_spec
from .calls import Job
from .overlap import check_beside
from .policies import check_bounds
from .reduce_arguments import counted, line_of, one_element
from .reduce_plan import COUNT, flat_of
from .reduce_reading import VECTOR_BYTES, count_given, count_on_device
from .transform_kernel import Form, Port, transform_kernel
from .transform_sides import Pack, Side, check_places, place_of, target_side

NOTHING = (0, 0, 0)
ALWAYS = 256  # threads that there are registers for, whatever a function takes


@dataclass(frozen=True)
class TransformPolicy:
    """The tuning of elementwise functions. threads: of a block; a power of two.  loads: accesses of up to 16 bytes that
    a thread makes to each array before it waits."""

    threads: int = 256
    loads: int = 2

    def __post_init__(self) -> None:
        if self.threads not in (32, 64, 128, 256, 512, 1024):
            raise Refused(f"TransformPolicy: threads must be a power of two from 32 to 1024, not {self.threads!r}.")
        check_bounds(self, threads=(32, 1024), loads=(1, 16))


DEFAULT = TransformPolicy()


class Elementwise(NamedTuple):
    """An elementwise function of a call. function: what kernels call.  several: its parts go to one output each."""

    name: str
    function: Any
    calls: Calls
    several: bool = False


def as_policy(name: str, policy: Any) -> TransformPolicy:
    """Return a user's policy, or the measured one."""
    if policy is None:
        return DEFAULT
    if not isinstance(policy, TransformPolicy):
        raise Refused(f"{name}: policy must be a TransformPolicy, not a {type(policy).__name__}.")
    return policy


class Plan(NamedTuple):
    """A compiled kernel, how its threads work, and how many items lie before the first vector."""

    loaded: Loaded
    form: Form
    head: int


def plan_of(
    what: Elementwise, sources: Sequence[Side], targets: Sequence[Side], counter: Argument | None,
    policy: TransformPolicy,
) -> Plan:  # fmt: skip
    """Return how such arrays are worked on: in vectors from where an output, else an input, is aligned for them.

    A vector has as many items as 16 bytes hold of the largest ones. An array that is not aligned there, or strided, is
    accessed item by item, and so are all where no array is accessed otherwise.
    """
    whole = [side for side in (*targets, *sources) if side.itemsize]
    length = VECTOR_BYTES // max([side.itemsize for side in whole], default=VECTOR_BYTES)
    head = 0
    if length > 1:
        size = whole[0].itemsize
        head = (-whole[0].argument.pointer % (length * size)) // size
    form = Form(length, policy.loads, policy.threads)
    ports = [[side.port(form, head) for side in sides] for sides in (sources, targets)]
    if not any(port.nbytes for port in (*ports[0], *ports[1])):
        form, head = form._replace(length=1), 0
    inputs, outputs = tuple(ports[0]), tuple(ports[1])
    count = COUNT if counter is None else one_element(counter)
    given = [tuple_spec(tuple([side.spec for side in sides])) for sides in (sources, targets)]
    specs = count, COUNT, *given
    number = count_given if counter is None else count_on_device

    def template() -> tuple[Any, tuple[Spec, ...]]:
        return transform_kernel(what.function, number, inputs, outputs, what.several, form), specs

    key = "transform", what.several, ports_key(inputs, outputs), specs, form
    loaded = kernel_of(key, what.calls, template)
    if form.threads > ALWAYS and form.threads > loaded.kernel.max_threads:  # the function takes many registers
        return plan_of(what, sources, targets, counter, replace(policy, threads=form.threads // 2))
    return Plan(loaded, form, head)


def ports_key(*ports: tuple[Port, ...]) -> Hashable:
    """Return what tells ports apart beside the specs of their arrays."""
    return tuple([tuple([(port.nbytes, port.axes, port.whole) for port in some]) for some in ports])


class Request(NamedTuple):
    """An elementwise call as it was read: the inputs, the shape and the dtypes of the outputs."""

    what: Elementwise
    sides: Sequence[Side]
    shape: tuple[int, ...]
    dtypes: Sequence[np.dtype[Any]]


class Decided(NamedTuple):
    """All of an elementwise call but addresses and the number of items."""

    request: Request
    plan: Plan
    packs: Sequence[Sequence[Pack]]
    head: Any


_decided: dict[Any, Decided] = {}


def decide(
    request: Request, given: Sequence[Argument] | None, counter: Argument | None, policy: TransformPolicy
) -> Decided:
    """Decide a call; `given`: its outputs, None for new arrays, which are aligned as address 0 is."""
    fresh = [layout_of(dtype, request.shape, None, False, "out") for dtype in request.dtypes]
    targets = [target_side(one) for one in given or [Argument(layout.spec, None, 0, layout) for layout in fresh]]
    plan = plan_of(request.what, request.sides, targets, counter, policy)
    packs = [[side.pack for side in sides] for sides in (request.sides, targets)]
    return Decided(request, plan, packs, machine.scalar_payload(COUNT, plan.head))


def elementwise_job(
    name: str, read: Callable[[], Request], key: Hashable, arguments: Sequence[Argument], calls: Calls,
    out: Sequence[Any] | None, num_items: Any, stream: Any, policy: TransformPolicy, whole: Sequence[Argument] = (),
) -> Job:  # fmt: skip
    """Return the call that `read` reads; its result is the list of outputs, a tuple where the function returns one.

    key: what decides it besides the layouts of its arguments, so that a call that comes again is a look-up; None: it
    is read anew.  calls: of the function, as it is now.  out: the outputs; None: new arrays.  whole: arguments that
    every item needs.
    """
    given = None if out is None else [as_output(array, "out") for array in out]
    counter, again = None, None
    if key is not None and num_items is None:
        places = tuple([place_of(one) for one in arguments])
        again = key, places, given and tuple([place_of(one) for one in given]), policy, machine.context_key()
    decided = _decided.get(again)
    if decided is None:
        request = read()
        if num_items is not None:
            flat = flat_of(layout_of(request.dtypes[0], request.shape, None, False, "out"), "out")
            size, counter = counted(name, num_items, flat)
        decided = decide(request, given, counter, policy)
        if again is not None:
            remember(_decided, again, decided)
    request, (loaded, form, head), packs, head_payload = decided
    if num_items is None:
        size = math.prod(request.shape)
    if given is not None:
        check_places(name, arguments, given, whole)
        for target in given:
            check_beside(name, target, num_items=counter)
    taken = [*arguments, *(given or ()), *([] if counter is None else [counter])]
    handle, captured, visitors = enter_with(stream, taken, calls.arrays, loaded.captured)
    results: Any = out
    if out is None:
        results = [machine.device_array(request.shape, dtype, handle) for dtype in request.dtypes]
    if request.what.several:
        results = tuple(results)
    if not size:
        return Job(None, NOTHING, NOTHING, 0, (), results, handle)
    targets = given or [as_output(result, "out") for result in results]
    blocks = max(-(-max(size - head, 0) // (form.length * form.threads * form.loads)), 1)
    payloads = [
        machine.scalar_payload(COUNT, size) if counter is None else line_of(counter),
        head_payload,
        machine.tuple_payload([pack(one) for pack, one in zip(packs[0], arguments)]),
        machine.tuple_payload([pack(one) for pack, one in zip(packs[1], targets)]),
        *[argument.payload for argument in captured],
    ]
    held = arguments, targets, captured
    grid, block = (blocks, 1, 1), (form.threads, 1, 1)
    copied = any(isinstance(calls.arrays[place], np.ndarray) for place in loaded.captured)
    return Job(loaded.kernel, grid, block, 0, payloads, results, handle, visitors, held, copied=copied)
