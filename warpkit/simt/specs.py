"""What a kernel is compiled for and what compiling gives: specs of arguments, options, images.

Specs are interned: equal specs are one object, so they compare and hash as fast as an identity. Make them with
`array_spec`, `scalar_spec` and `tuple_spec`, never by calling the classes.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class ArraySpec:
    """An array of `ndim` axes; where it is not `contiguous` (C order) the kernel reads its strides.

    aligned: bytes of which the address is known to be a multiple, for policies; 0: only the elements' own alignment.
    """

    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool
    readonly: bool
    aligned: int

    @property
    def digest(self) -> str:
        """The same text in every process."""
        order, access = "C" if self.contiguous else "A", "read" if self.readonly else "write"
        return f"array({self.dtype!r},{self.ndim},{order},{access},{self.aligned})"

    def __reduce__(self) -> tuple[Any, ...]:
        return array_spec, (self.dtype, self.ndim, self.contiguous, self.readonly, self.aligned)


@dataclass(frozen=True, slots=True, eq=False)
class ScalarSpec:
    """One number passed by value; a structured dtype is a record, which the kernel reads through a pointer."""

    dtype: np.dtype[Any]

    @property
    def digest(self) -> str:
        """The same text in every process."""
        return f"scalar({self.dtype!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return scalar_spec, (self.dtype,)


@dataclass(frozen=True, slots=True, eq=False)
class TupleSpec:
    """A tuple of arguments, passed as its parts."""

    parts: "tuple[Spec, ...]"

    @property
    def digest(self) -> str:
        """The same text in every process."""
        return f"tuple({','.join(part.digest for part in self.parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple_spec, (self.parts,)


Spec = ArraySpec | ScalarSpec | TupleSpec

_interned: dict[tuple[Any, ...], Any] = {}


def _intern(kind: type, *fields: Any) -> Any:
    """Return the one spec with these fields; `setdefault` is atomic, so threads agree."""
    return _interned.get((kind, *fields)) or _interned.setdefault((kind, *fields), kind(*fields))


@functools.cache
def array_spec(dtype: Any, ndim: int, contiguous: bool = True, readonly: bool = False, aligned: int = 0) -> ArraySpec:
    """Return the spec of an array."""
    return _intern(ArraySpec, np.dtype(dtype), int(ndim), bool(contiguous), bool(readonly), int(aligned))


@functools.cache
def scalar_spec(dtype: Any) -> ScalarSpec:
    """Return the spec of a scalar or a record."""
    return _intern(ScalarSpec, np.dtype(dtype))


@functools.cache
def tuple_spec(parts: tuple[Spec, ...]) -> TupleSpec:
    """Return the spec of a tuple; `parts` are specs."""
    return _intern(TupleSpec, tuple(parts))


@dataclass(frozen=True, slots=True)
class Options:
    """How a kernel is compiled.

    launch_bounds: (threads a block, least blocks a multiprocessor) or None.  max_registers: per thread.
    cluster: blocks of one cluster along x, y, z, which the launch asks for.
    """

    launch_bounds: tuple[int, int] | None = None
    max_registers: int | None = None
    fastmath: bool = False
    debug: bool = False
    lineinfo: bool = False
    cluster: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """A compiled kernel: code for one compute capability, and what a launch must know.

    code: bytes that the driver loads; in the simulator the function itself.
    captured: which of `identity(function).arrays` follow the explicit arguments, in this order, as arguments.
    shared, local: bytes of static shared memory a block and of local memory a thread; spills: bytes of the latter that
    are spilled registers.  cooperative: every block must be resident (the kernel waits for its whole grid).
    name: the function's own, for messages.  storable: False where the code rests on what this process alone knows.
    """

    code: Any = field(repr=False)
    entry: str
    compute_capability: tuple[int, int]
    options: Options
    captured: tuple[int, ...] = ()
    registers: int = 0
    shared: int = 0
    local: int = 0
    spills: int = 0
    cooperative: bool = False
    name: str = "kernel"
    storable: bool = True


@dataclass(frozen=True, slots=True)
class Returned:
    """What a function returns.

    dtype: of a tuple a structured one.  storable: as of an image.
    """

    dtype: np.dtype[Any]
    storable: bool = True


@dataclass(frozen=True, slots=True)
class Properties:
    """What a device is and offers; sizes in bytes."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    max_threads_per_block: int
    threads_per_multiprocessor: int
    shared_per_block: int
    shared_per_multiprocessor: int
    l2_bytes: int
    max_grid: tuple[int, int, int]
    max_block: tuple[int, int, int]
    memory_pools: bool


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of an array in C order."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
