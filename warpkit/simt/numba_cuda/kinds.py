"""Numba types as kinds."""

import sys

from numba.cuda import types

from ..kinds import Kind


def is_vector(t) -> bool:
    """Return True for a CUDA vector type.

    Numba loads its vector types with the first kernel and takes a while: before that nothing is one.
    """
    module = sys.modules.get("numba.cuda.vector_types")
    return module is not None and isinstance(t, module.VectorType)


def kind_of(t) -> Kind:
    """Return the kind of a Numba type, literals and omitted arguments included."""
    if isinstance(t, types.Omitted):
        return kind_of_default(t.value)
    if not isinstance(t, types.Type):  # a default argument reaches an overload as the Python value itself
        return kind_of_default(t)
    if isinstance(t, types.IntegerLiteral):
        return kind_of_constant(t.literal_value)
    t = types.unliteral(t)
    if isinstance(t, types.Boolean):
        return Kind("bool", "bool", 8)
    if isinstance(t, types.Integer):
        return Kind(str(t), "signed" if t.signed else "unsigned", t.bitwidth)
    if t == types.bfloat16:
        return Kind("bfloat16", "float", 16)
    if isinstance(t, types.Float):
        return Kind(str(t), "float", t.bitwidth)
    if isinstance(t, types.Complex):
        return Kind(str(t), "complex", t.bitwidth)
    if is_vector(t):
        return Kind(str(t), "vector", parts=(kind_of(t.base_type),) * t.num_elements)
    if isinstance(t, types.BaseTuple):
        parts = tuple(kind_of(part) for part in t)
        return Kind(f"({', '.join(part.name for part in parts)})", "tuple", parts=parts)
    return _other_kind(t)


def kind_of_default(value) -> Kind:
    """Return the kind of the Python value of a default argument."""
    if type(value) is int:
        return kind_of_constant(value)
    if type(value) is bool:
        return Kind("bool", "bool", 8)
    return Kind(str(value), "none" if value is None else "other")


def kind_of_constant(value: int) -> Kind:
    """Return the kind of a compile-time integer."""
    return Kind("int64", "signed", 64, constant=value)


def _other_kind(t) -> Kind:
    record = getattr(t, "record", t)  # a record, or one held by value
    if isinstance(record, types.Record):
        return Kind(f"record of {record.size} bytes", "record")
    if isinstance(t, types.Array):
        return Kind(str(t), "array", parts=(kind_of(t.dtype),), ndim=t.ndim)
    if isinstance(t, types.NoneType):
        return Kind("None", "none")
    if isinstance(t, types.Callable):
        function = getattr(t, "typing_key", None) or getattr(t, "dispatcher", None)
        return Kind(getattr(function, "__name__", str(t)), "function", function=function)
    return Kind(str(t), "other")
