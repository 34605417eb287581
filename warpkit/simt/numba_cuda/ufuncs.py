"""A repair: NumPy's ufuncs on numbers, of which Numba knows the types of all but on a GPU the meaning of half.

numba-cuda 0.30.4 ends in a bare KeyError for `np.abs(x)`, `np.sqrt(x)`, `np.add(x, y)` in a kernel. What is added here
is what its own table for arrays holds, where that is right on a GPU, and the functions of `math`. A ufunc that is still
missing is refused by `said_simply`.
"""

import contextlib
import math
import re
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core.errors import TypingError as NumbaTypingError
from numba.cuda import ufuncs
from numba.cuda.core.errors import TypingError
from numba.cuda.cpython.numbers import real_sign_impl
from numba.cuda.mathimpl import get_binary_impl_for_fn_and_ty, get_unary_impl_for_fn_and_ty
from numba.cuda.np import ufunc_db

from ...errors import Refused

# The loops that Numba's other table has right, by their letters; the rest calls a C library, or is not NumPy's.
_INTEGERS, _FLOATS, _COMPLEX = "bBhHiIlLqQ", "fd", "FD"
_NUMBERS = _INTEGERS + _FLOATS + _COMPLEX
_TAKEN: dict[Any, str] = {
    **dict.fromkeys((np.add, np.multiply), "?" + _NUMBERS),
    **dict.fromkeys((np.absolute, np.isfinite, np.isinf), "?" + _NUMBERS),
    **dict.fromkeys((np.subtract, np.negative, np.positive, np.square), _NUMBERS),
    **dict.fromkeys((np.floor, np.ceil), "?" + _INTEGERS + _FLOATS),
    **dict.fromkeys((np.remainder, np.floor_divide), _INTEGERS),  # of floats it rounds the quotient, as NumPy does not
    np.trunc: "?" + _INTEGERS,  # of floats it is an instruction that NVVM knows from 13.1 on
    np.sign: _INTEGERS,
    np.reciprocal: _FLOATS,
    np.signbit: _FLOATS,
}
_UNARY: dict[Any, Any] = {
    np.exp: math.exp,
    np.exp2: math.exp2,
    np.expm1: math.expm1,
    np.fabs: math.fabs,
    np.log1p: math.log1p,
    np.sqrt: math.sqrt,
}
_BINARY: dict[Any, Any] = {np.copysign: math.copysign, np.fmod: math.fmod, np.power: math.pow}


def _of_math(function, implementation):
    def generate(context, builder, sig, args):
        return implementation(function, sig.args[0])(context, builder, sig, args)

    return generate


def _sign(context, builder, sig, args):
    """Numba's sign of −0.0 is −0.0, NumPy's is 0.0."""
    result = real_sign_impl(context, builder, sig, args)
    return builder.fadd(result, ir.Constant(result.type, 0.0))


def _fill(table) -> None:
    for ufunc, letters in _TAKEN.items():
        loops = ufunc_db.get_ufunc_info(ufunc).items()
        table.setdefault(ufunc, {loop: made for loop, made in loops if loop[0] in letters})
    for ufunc, function in _UNARY.items():
        made = _of_math(function, get_unary_impl_for_fn_and_ty)
        table.setdefault(ufunc, {"f->f": made, "d->d": made})
    for ufunc, function in _BINARY.items():
        made = _of_math(function, get_binary_impl_for_fn_and_ty)
        table.setdefault(ufunc, {"ff->f": made, "dd->d": made})

    truncated = _of_math(math.trunc, get_unary_impl_for_fn_and_ty)
    table[np.trunc] |= {"f->f": truncated, "d->d": truncated}
    table[np.sign] |= {"f->f": _sign, "d->d": _sign}


_fill(ufuncs.ufunc_db())


_LOOP = re.compile(r"Don't know how to lower ufunc '(\w+)'|unsupported type for input operand")
_TYPES = re.compile(r"No implementation of function Function\(<ufunc '(\w+)'>\)")
_NAME = re.compile(r"unsupported NumPy function 'numpy\.(\w+)'|Cannot determine Numba type of <class 'numpy\.ufunc'>")


@contextlib.contextmanager
def said_simply(name):
    """Refuse, in the name of the function that is compiled, a ufunc that a GPU has not, or not for such numbers."""
    try:
        yield
    except KeyError as missing:
        ufunc = missing.args[0] if missing.args else None
        if not isinstance(ufunc, np.ufunc):
            raise
        raise _refusal(name, ufunc.__name__) from None
    except NotImplementedError as missing:
        loop = _LOOP.match(str(missing))
        if loop is None:
            raise
        raise _refusal(name, loop[1], " for numbers of such types") from None
    except (TypingError, NumbaTypingError) as error:
        said = str(error)
        types, absent = _TYPES.search(said), _NAME.search(said)
        if types is not None:
            raise _refusal(name, types[1], " for numbers of such types") from None
        if absent is None or (absent[1] and not isinstance(getattr(np, absent[1], None), np.ufunc)):
            raise
        raise _refusal(name, absent[1]) from None


def _refusal(name, ufunc, numbers=""):
    called = f"NumPy's {ufunc}" if ufunc else "a ufunc of NumPy's"
    return Refused(
        f"{name} calls {called}{numbers}, which a GPU does not have: call a function of math or of Python's own, or "
        "write one that does the same."
    )
