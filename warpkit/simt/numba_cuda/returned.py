"""What a function returns for given arguments, before anything is launched."""

import numpy as np
from numba.cuda import types
from numba.cuda.np.numpy_support import as_dtype

from ...errors import Refused
from ..hollow import empty_copy
from ..identity import identity
from ..specs import Returned
from .building import build, compiling_for
from .compiler import argument_type
from .functions import Scope, scalar_type
from .ufuncs import said_simply


def returned_dtype(function, dtypes, capability):
    """Return what `function` returns for one value of each dtype.

    A structured dtype stands for the tuple of its fields. The function is compiled, as the kernel that calls it will.
    """

    def probe(*given):
        return function(*given)

    with compiling_for(capability):
        return _returned(probe, (types.StarArgTuple(tuple(map(_value_type, dtypes))),), function)


def returned_by(function, specs, capability):
    """Return what `function` returns for arguments of these types."""
    with compiling_for(capability):
        return _returned(function, tuple(map(argument_type, specs)), function)


def _returned(function, args, meant):
    """Return what a function returns; `meant`: the one that messages name."""
    known = identity(function)
    chosen = dict.fromkeys(("fastmath", "debug", "lineinfo"), False)
    scope, copy = Scope(known.specs, chosen), empty_copy(function)
    scope.look_at(copy, function, known.arrays)
    with said_simply(_name(meant)):
        result, _ = build(copy, args, None, chosen, scope)
    return Returned(_dtype_of(result.signature.return_type, meant), scope.is_portable())


def _value_type(dtype):
    """Return Numba's type of a value."""
    if dtype.names:
        return types.Tuple(tuple(_value_type(dtype[name]) for name in dtype.names))
    return scalar_type(dtype)


def _dtype_of(t, function):
    """Return the dtype of a value of a Numba type."""
    t = types.unliteral(t)
    if isinstance(t, types.BaseTuple) and len(t):
        return np.dtype([(f"f{k}", _dtype_of(part, function)) for k, part in enumerate(t)])
    if not isinstance(t, types.Number | types.Boolean):
        raise Refused(f"{_name(function)} returns {t}; return a number or a tuple of numbers.")
    return as_dtype(t)


def _name(function):
    """Return a function's name for messages."""
    return getattr(function, "__name__", str(function))
