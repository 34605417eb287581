"""From the arrays of an elementwise function to a launch: how each is accessed, which kernel, how many blocks."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import layout_of
from ..host.dtypes import type_of
from ..host.launch import enter_with
from ..host.parallel_calls import Calls, Loaded, kernel_of
from ..simt import machine
from ..simt.specs import Spec, c_strides, tuple_spec
from .calls import Job
from .overlap import check_apart
from .reduce_arguments import counted, line_of, one_element
from .reduce_plan import COUNT, INVERSE, Flat, flat_of
from .reduce_reading import VECTOR_BYTES, count_given, count_on_device
from .transform_kernel import Form, Port, transform_kernel

HALF, NOTHING = np.dtype(np.float16), (0, 0, 0)


@dataclass(frozen=True)
class TransformPolicy:
    """The tuning of elementwise functions. threads: of a block; a power of two.  loads: accesses of up to 16 bytes that
    a thread makes to each array before it waits."""

    threads: int = 256
    loads: int = 2

    def __post_init__(self) -> None:
        if self.threads not in (32, 64, 128, 256, 512, 1024):
            raise Refused(f"TransformPolicy: threads must be a power of two from 32 to 1024, not {self.threads!r}.")
        if self.loads not in range(1, 17):
            raise Refused(f"TransformPolicy: loads must be 1 to 16, not {self.loads!r}.")


DEFAULT = TransformPolicy()


class Side(NamedTuple):
    """An array of a call, in the shape of the result, or what goes to the function as it is (flat: None)."""

    argument: Argument
    flat: Flat | None

    @property
    def itemsize(self) -> int:
        """Bytes of an item that may be moved in vectors, 0 for any other."""
        if self.flat is None or not self.flat.spec.contiguous or self.argument.dtype.names:
            return 0
        size = self.argument.dtype.itemsize
        return size if size in (1, 2, 4, 8) else 0

    @property
    def payload(self) -> Any:
        """What the kernel gets."""
        argument, flat = self.argument, self.flat
        if flat is None:
            return argument.payload
        array = argument.payload if flat.pack is None else flat.pack(argument.pointer, argument.owner)
        inverses = [1 / max(extent, 1) for extent in (1, *flat.extents[1:])]
        return machine.tuple_payload([array, machine.tuple_payload([_inverse(value) for value in inverses])])

    @property
    def spec(self) -> Spec:
        """How the kernel takes it."""
        if self.flat is None:
            return self.argument.spec
        return tuple_spec((self.flat.spec, tuple_spec((INVERSE,) * max(self.flat.spec.ndim, 1))))

    def port(self, form: Form, head: int) -> Port:
        """Return how the kernel accesses it."""
        if self.flat is None:
            return Port(None, whole=True)
        dtype, nbytes = self.argument.dtype, self.itemsize * form.length
        aligned = nbytes >= 2 and (self.argument.pointer + head * self.itemsize) % nbytes == 0
        fits = form.length > 1 and aligned
        axes = self.flat.spec.ndim
        return Port(type_of(dtype), axes, nbytes if fits else 0, half=dtype == HALF, record=bool(dtype.names))


def _inverse(value: float) -> Any:
    return machine.scalar_payload(INVERSE, value)


def in_shape(argument: Argument, shape: tuple[int, ...], name: str) -> Side:
    """Return an array as one of this shape, its items repeated as NumPy repeats them."""
    layout = argument.layout
    if layout.shape != shape:
        strides = layout.strides or c_strides(layout.shape, layout.dtype.itemsize)
        left = (0,) * (len(shape) - len(strides))
        repeated = [0 if extent == 1 else step for extent, step in zip(layout.shape, strides)]
        layout = layout_of(layout.dtype, shape, (*left, *repeated), True, name)
        payload = layout.pack(argument.pointer, argument.owner)
        argument = argument._replace(spec=layout.spec, payload=payload, layout=layout)
    return Side(argument, flat_of(layout, name))


def check_places(name: str, sources: Sequence[Side], targets: Sequence[Argument]) -> None:
    """Refuse outputs in which results would take the place of items that are still to be read, or of each other."""
    for k, target in enumerate(targets):
        for other in targets[:k]:
            check_apart(name, other, target)
            if other.pointer == target.pointer and target.size:
                raise Refused(f"{name}: two arrays of out are the same one; pass others.")
        for source in sources:
            if not source.argument.is_array:
                continue
            check_apart(name, source.argument, target)
            if source.flat is None and source.argument.pointer == target.pointer and target.size:
                raise Refused(f"{name}: out is an array that every item is compared with; pass another.")


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

    return Plan(kernel_of(("transform", what.several, ports_key(inputs, outputs), specs, form), what.calls, template),
                form, head)  # fmt: skip


def ports_key(*ports: tuple[Port, ...]) -> Hashable:
    """Return what tells ports apart beside the specs of their arrays."""
    return tuple([tuple([(port.nbytes, port.axes, port.whole) for port in some]) for some in ports])


def elementwise_job(
    what: Elementwise, sources: Sequence[Side], shape: tuple[int, ...], dtypes: Sequence[np.dtype[Any]],
    out: Sequence[Any] | None, num_items: Any, stream: Any, policy: TransformPolicy,
) -> Job:  # fmt: skip
    """Return the call that computes `what` for every item; its result is the list of outputs.

    dtypes: of the outputs.  out: these; None: new arrays.
    """
    size, counter = math.prod(shape), None
    if num_items is not None:
        size, counter = counted(what.name, num_items, flat_of(layout_of(dtypes[0], shape, None, False, "out"), "out"))
    given = None if out is None else [as_output(array, "out") for array in out]
    if given is not None:
        check_places(what.name, sources, given)
    fresh = [layout_of(dtype, shape, None, False, "out") for dtype in dtypes]
    like = given or [Argument(layout.spec, None, 0, layout) for layout in fresh]  # new memory is aligned as 0 is
    loaded, form, head = plan_of(what, sources, [target_side(array) for array in like], counter, policy)
    arguments = [*[side.argument for side in sources], *(given or ()), *([] if counter is None else [counter])]
    handle, captured, visitors = enter_with(stream, arguments, what.calls.arrays, loaded.captured)
    results = list(out) if out is not None else [machine.device_array(shape, dtype, handle) for dtype in dtypes]
    if not size:
        return Job(None, NOTHING, NOTHING, 0, (), results, handle)
    targets = given or [as_output(result, "out") for result in results]
    blocks = max(-(-max(size - head, 0) // (form.length * form.threads * form.loads)), 1)
    payloads = [
        machine.scalar_payload(COUNT, size) if counter is None else line_of(counter),
        machine.scalar_payload(COUNT, head),
        machine.tuple_payload([side.payload for side in sources]),
        machine.tuple_payload([target_side(array).payload for array in targets]),
        *[argument.payload for argument in captured],
    ]
    held = arguments, targets, captured
    grid, block = (blocks, 1, 1), (form.threads, 1, 1)
    copied = any(isinstance(what.calls.arrays[place], np.ndarray) for place in loaded.captured)
    return Job(loaded.kernel, grid, block, 0, payloads, results, handle, visitors, held, copied=copied)


def target_side(array: Argument) -> Side:
    """Return an output as a kernel takes it."""
    return Side(array, flat_of(array.layout, "out"))
