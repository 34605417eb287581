"""What a value is, in words that both machines share: checks and refusals are written once, on kinds."""

import functools
from dataclasses import dataclass
from typing import Any

NUMERIC = frozenset({"bool", "signed", "unsigned", "float", "complex"})


@dataclass(frozen=True)
class Kind:
    """The type of one argument of a device function.

    family: bool, signed, unsigned, float (bfloat16 too), complex, vector, tuple, record, array, none, function, other.
    bits: width of a scalar, 0 otherwise.  parts: kinds of the components of a vector or a tuple.
    constant: the value of a compile-time integer, else None.  function: what a function kind calls, where it is known.
    ndim: dimensions of an array.
    """

    name: str
    family: str
    bits: int = 0
    parts: tuple["Kind", ...] = ()
    constant: int | None = None
    function: Any = None
    ndim: int = 0

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.family in ("signed", "unsigned")

    @property
    def is_numeric(self) -> bool:
        """True for every scalar that arithmetic is defined on."""
        return self.family in NUMERIC

    @property
    def is_flat(self) -> bool:
        """True for scalars, vectors and tuples of scalars: built-in operators act on these per component."""
        return self.is_numeric or (bool(self.parts) and all(part.is_numeric for part in self.parts))

    @property
    def is_movable(self) -> bool:
        """True when the value can travel between lanes."""
        if self.family == "tuple":
            return bool(self.parts) and all(part.is_movable for part in self.parts)
        return self.is_numeric or self.family in ("vector", "record")

    @property
    def leaves(self) -> tuple["Kind", ...]:
        """The scalar kinds inside, in order."""
        return tuple(leaf for part in self.parts for leaf in part.leaves) if self.parts else (self,)


_FAMILIES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}


@functools.cache  # NumPy computes the name of a dtype anew each time
def kind_of_dtype(dtype: Any) -> Kind:
    """Return the kind of a NumPy scalar type."""
    if dtype.kind not in _FAMILIES:
        return Kind(
            f"record of {dtype.itemsize} bytes" if dtype.names else str(dtype), "record" if dtype.names else "other"
        )
    return Kind(dtype.name, _FAMILIES[dtype.kind], 8 * dtype.itemsize)
