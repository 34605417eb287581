"""From an array of rows to a launch of softmax: how rows are accessed, who works on one, which kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument
from ..host.arrays_layout import remember
from ..host.program import Program
from ..simt import machine
from ..simt.specs import ArraySpec, Options, Spec, array_spec, c_strides, tuple_spec
from .calls import Use
from .reduce_plan import COUNT, INVERSE, flat_of, lined_up
from .reduce_policy import power_of_two
from .reduce_reading import VECTOR_BYTES
from .softmax_kernel import Access, Form, softmax_kernel
from .softmax_long import long_kernel, slots_of

STORE = array_spec(np.float64, 1)
FEWEST_LANES = 8  # of a row, where it has as many vectors: neighbouring lanes access whole sectors of memory


@dataclass(frozen=True)
class SoftmaxPolicy:
    """The tuning of softmax.

    words: 32-bit words of a row that a thread holds; 8, 16 or 32.  most_threads: of a block for one row, before a
    thread holds twice as many words, 32 at most.  wide_threads: the most threads that do.  threads: of a block that has
    several rows.  part_threads: of a block that works on parts of longer rows, `words` a thread.
    """

    words: int = 16
    most_threads: int = 512
    wide_threads: int = 1024
    threads: int = 256
    part_threads: int = 256

    def __post_init__(self) -> None:
        if self.words not in (8, 16, 32):
            raise Refused(f"SoftmaxPolicy: words must be 8, 16 or 32, not {self.words!r}.")
        for name in ("most_threads", "wide_threads", "threads", "part_threads"):
            if getattr(self, name) not in (32, 64, 128, 256, 512, 1024):
                raise Refused(
                    f"SoftmaxPolicy: {name} must be a power of two from 32 to 1024, not {getattr(self, name)!r}."
                )


DEFAULT = SoftmaxPolicy()
MOST_WORDS = 32


class Side(NamedTuple):
    """The rows of an array. pack: (address, owner) -> payload.  pitch: see `Access`.  inverses: 1 / extents."""

    access: Access
    spec: ArraySpec
    pack: Callable[[int, Any], Any]
    pitch: int
    inverses: tuple[float, ...]


class Rows(NamedTuple):
    """A call's rows: how many, and of how many items."""

    number: int
    length: int


def rows_of(argument: Argument) -> Rows:
    """Return the rows of an array: its last axis."""
    length = argument.shape[-1]
    return Rows(argument.size // max(length, 1), length)


def row_pitch(argument: Argument) -> int | None:
    """Return how many items lie between the beginnings of two rows of neighbouring items; None for any other rows."""
    itemsize, shape = argument.dtype.itemsize, argument.shape
    strides = argument.strides or c_strides(shape, itemsize)
    lead = lined_up(shape[:-1], strides[:-1])
    apart = lead[0][1] if lead[0][0] > 1 else shape[-1] * itemsize
    neighbours = shape[-1] == 1 or strides[-1] == itemsize
    return apart // itemsize if len(lead) == 1 and neighbours and apart >= 0 and not apart % itemsize else None


def vector_of(argument: Argument, rows: Rows, length: int) -> int:
    """Return the bytes of a vector of so many items, if all rows can be accessed in such vectors, else 0."""
    pitch, nbytes = row_pitch(argument), length * argument.dtype.itemsize
    if pitch is None or length == 1 or rows.length % length:
        return 0
    whole = argument.pointer % nbytes == 0 and (rows.number == 1 or pitch % length == 0)
    return nbytes if whole and 2 <= nbytes <= VECTOR_BYTES else 0


def side_of(argument: Argument, rows: Rows, length: int) -> Side:
    """Return how an array is accessed by vectors of so many items."""
    item, nbytes = argument.dtype, vector_of(argument, rows, length)
    if nbytes:
        pitch = row_pitch(argument) or 0
        size = (rows.number - 1) * pitch + rows.length
        pack = machine.array_packer((size,), None, item)
        return Side(Access(item.type, nbytes, 1), array_spec(item, 1), pack, pitch, (1.0,))
    strides = argument.strides or c_strides(argument.shape, item.itemsize)
    lead = lined_up(argument.shape[:-1], strides[:-1])
    if len(lead) == 1:
        shape, steps = (rows.number, rows.length), (lead[0][1], strides[-1])
        whole = steps == (rows.length * item.itemsize, item.itemsize)
        pack = machine.array_packer(shape, None if whole else steps, item)
        return Side(Access(item.type, 0, 2), array_spec(item, 2, whole), pack, 0, (1.0,))
    flat = flat_of(argument.layout, "x")
    inverses = tuple([1 / max(extent, 1) for extent in (1, *flat.extents[1:])])
    return Side(
        Access(item.type, 0, flat.spec.ndim, True), flat.spec, flat.pack or argument.layout.pack, rows.length, inverses
    )


def form_of(vectors: int, length: int, total: Any, policy: SoftmaxPolicy) -> tuple[Form, int]:
    """Return (how threads work on rows of so many vectors, threads of a block); 0 threads: in parts."""
    words = length * np.dtype(total).itemsize // 4
    loads = max(policy.words // words, 1)
    if vectors <= 32 * loads:
        lanes = power_of_two(max(-(-vectors // loads), min(FEWEST_LANES, vectors)))
        return Form(length, power_of_two(-(-vectors // lanes)), policy.threads, lanes, total), policy.threads
    wide = max(min(2 * policy.words, MOST_WORDS) // words, 1)
    for held, most in ((loads, policy.most_threads), (wide, policy.wide_threads)):
        threads = whole_block(-(-vectors // held))
        if threads <= most:
            return Form(length, held, threads, 0, total), threads
    return Form(length, loads, policy.part_threads, 0, total), 0


def whole_block(threads: int) -> int:
    """Return a number of threads not below this one, of few that there are: a power of two, or one and a half."""
    power = max(power_of_two(threads), 64)
    return power * 3 // 4 if 64 < threads <= power * 3 // 4 else power


def options_of(form: Form, parts: bool) -> Options:
    """Return how a kernel is compiled: with registers for so many threads of a multiprocessor, and what they hold."""
    words = form.loads * form.length * np.dtype(form.total).itemsize // 4
    resident = (1536 if words <= 16 else 1024) >> parts  # threads of a multiprocessor
    return Options(launch_bounds=(form.threads, max(resident // form.threads, 1)))


class Kernel(NamedTuple):
    """A compiled kernel. most_blocks: resident at once, for the one that works on parts."""

    kernel: machine.Kernel
    most_blocks: int


_kernels: dict[Any, Kernel] = {}


def specs_of(sides: Sequence[Side], parts: bool) -> tuple[Spec, ...]:
    """Return the specs of a kernel's arguments."""
    inverses = tuple_spec(tuple([tuple_spec((INVERSE,) * len(side.inverses)) for side in sides]))
    numbers = (COUNT,) * 4 if not parts else (COUNT,) * 6 + (INVERSE,)
    arrays = [side.spec for side in sides]
    return (*arrays, tuple_spec(numbers), inverses, *((STORE,) if parts else ()))


def kernel_for(sides: Sequence[Side], form: Form, parts: bool) -> Kernel:
    """Return the compiled kernel for such rows."""
    specs = specs_of(sides, parts)
    key = specs, sides[0].access, sides[1].access, form, parts, machine.context_key()
    found = _kernels.get(key)
    if found is None:
        make = long_kernel if parts else softmax_kernel
        function = make(sides[0].access, sides[1].access, form)
        kernel = Program(function, options_of(form, parts)).compiled(specs)[0].kernel
        resident = machine.occupancy(kernel, form.threads, 0) * machine.properties().multiprocessors if parts else 0
        found = remember(_kernels, key, Kernel(kernel, resident))
    return found


class Launch(NamedTuple):
    """What a launch takes but addresses. packs: of the two arrays.  rest: payloads behind theirs."""

    kernel: machine.Kernel
    blocks: int
    threads: int
    packs: Sequence[Callable[[int, Any], Any]]
    rest: Sequence[Any]


_launches: dict[Any, Launch] = {}


def launch_of(source: Argument, target: Argument, total: Any, policy: SoftmaxPolicy) -> Launch:
    """Return the launch for rows that have items."""
    places = source.layout, source.pointer % VECTOR_BYTES, target.layout, target.pointer % VECTOR_BYTES
    key = places, total, policy, machine.context_key()
    return _launches.get(key) or remember(_launches, key, _launch(source, target, total, policy))


def _launch(source: Argument, target: Argument, total: Any, policy: SoftmaxPolicy) -> Launch:
    rows = rows_of(source)
    length = VECTOR_BYTES // max(source.dtype.itemsize, target.dtype.itemsize)
    while length > 1 and not any(vector_of(side, rows, length) for side in (source, target)):
        length //= 2
    sides = [side_of(side, rows, length) for side in (source, target)]
    packs = [side.pack for side in sides]
    vectors = rows.length // length
    form, threads = form_of(vectors, length, total, policy)
    numbers = [_count(number) for number in (rows.number, vectors, sides[0].pitch, sides[1].pitch)]
    compiled = kernel_for(sides, form, not threads)
    inverses = machine.tuple_payload(
        [machine.tuple_payload([_inverse(one) for one in side.inverses]) for side in sides]
    )
    if threads:
        blocks = -(-rows.number // (form.threads // form.lanes if form.lanes else 1))
        return Launch(compiled.kernel, blocks, threads, packs, [machine.tuple_payload(numbers), inverses])
    parts = -(-vectors // (form.threads * form.loads))
    units = rows.number * parts
    blocks = max(min(compiled.most_blocks, 2 * units), 1)
    lag = min(parts + blocks, units)
    numbers += [_count(parts), _count(lag), _inverse(1 / parts)]
    use = Use("softmax", STORE, slots_of(rows.number, parts))
    return Launch(compiled.kernel, blocks, form.threads, packs, [machine.tuple_payload(numbers), inverses, use])


def _count(number: int) -> Any:
    return machine.scalar_payload(COUNT, number)


def _inverse(number: float) -> Any:
    return machine.scalar_payload(INVERSE, number)
