"""The scalars of a simulated kernel: NumPy scalars that promote as Numba does and wrap as a GPU does.

Array reads, lane numbers, masks, indices and scalar arguments are of these types. A plain NumPy scalar on the *other*
side of an operator promotes too (`np.uint32(1) + x`); an operation between two plain NumPy scalars stays NumPy's,
since neither side is ours: `np.uint32(a) - np.uint32(b)` wraps at 32 bits where Numba's uint64 wraps at 64, the same
value once stored in 32. NumPy's functions (`np.sqrt(x)`) and `math`'s give plain numbers too. Flags are Python bools,
whose `+`, `&` and `~` mean what Numba's mean (NumPy's do not).
"""

import operator
from operator import index

import numpy as np

from .numbers import Floats, Numbers, wrapped
from .promotion import ARITHMETIC, BITWISE, COMPARISONS, INT64, UINT64, result_dtype, unary_dtype
from .shortcuts import COMPARED, FLOATS, INTEGERS, Known

_NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
_PYTHON = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype("c16")}
_LOW, _HIGH, _SPAN = -(2**63), 2**63 - 1, 2**64
COMMUTATIVE = frozenset({"add", "mul", "and_", "or_", "xor"})
_converters: dict = {}


def scalar(value, dtype):
    """Return `value` as a promoting scalar of `dtype`: integers wrap, floats round, as a store on a GPU does."""
    convert = _converters.get(dtype) or converter(dtype)
    return convert(value)


def converter(dtype):
    """Return the function that does `scalar(value, dtype)`."""
    found = _converters.get(dtype)
    if found is None:
        kind = np.dtype(dtype).type
        make = SCALARS[kind]
        if make is bool:
            found = bool
        elif issubclass(kind, np.integer):
            found = _to_integer(kind, make, NUMBERS[make])
        else:
            found = _to_float(kind, make, NUMBERS[make]) if issubclass(kind, np.floating) else make
        _converters[dtype] = found
    return found


def _to_integer(kind, make, numbers):
    def convert(value):
        given = type(value)
        if given is make:
            return value
        return numbers[index(value) if given in INDEXES else wrapped(value, kind)]

    return convert


def _to_float(kind, make, numbers):
    def convert(value):
        given = type(value)
        if given is make:
            return value
        if given in REALS:
            return numbers[float(value)]
        if isinstance(value, (complex, np.complexfloating)):
            raise TypeError(f"a {given.__name__} cannot become a {kind.__name__}; take .real")
        return make(value)

    return convert


def promoted(value):
    """Return a NumPy or Python scalar as the promoting scalar of its own type; anything else unchanged."""
    make = _PROMOTED.get(type(value))
    return value if make is None else make(value)


def dtype_of(value):
    """Return the dtype that Numba gives a scalar; None when it is no scalar."""
    found = _PYTHON.get(type(value))
    if found is None:
        return value.dtype if isinstance(value, np.generic) else None
    return np.dtype(np.uint64) if type(value) is int and value > _HIGH else found


def _integers(name, swapped):
    """Return the exact Python operation, defined also where a GPU's answer is not a Python error."""
    if name in ("floordiv", "mod"):
        raw = operator.floordiv if name == "floordiv" else operator.mod
        exact = lambda a, b: raw(a, b) if b else 0
    elif name == "lshift":
        exact = lambda a, b: a << b if 0 <= b < 64 else 0
    elif name == "rshift":
        exact = lambda a, b: a >> b if 0 <= b < 64 else (-1 if a < 0 else 0)
    elif name == "pow":
        exact = lambda a, b: pow(a, b, _SPAN) if b >= 0 else (a ** (b & 1) if a in (1, -1) else 0)
    else:
        exact = getattr(operator, name)
    return (lambda a, b: exact(b, a)) if swapped and name not in COMMUTATIVE else exact


def _binary(name, kind, swapped):
    """Return the method of `kind` for one operator, with the result class per type of the other side looked up once."""
    mine, integers, raw, plans, known = np.dtype(kind), _integers(name, swapped), getattr(operator, name), {}, Known()
    as_doubles = name in ("add", "sub", "mul", "truediv") and issubclass(kind, (np.integer, np.floating))
    either = [result_dtype(name, *((whole, mine) if swapped else (mine, whole))) for whole in (INT64, UINT64)]
    beyond = either[0] != either[1]  # does a Python int beyond int64, which is a uint64, make another result?
    beside_int = TABLES.get(either[0].type) if beyond and mine.kind in "iu" and either[0].kind in "iu" else None

    def decide(other):
        """Return (what makes the other side a Python int, or None; the results by value, or None; two for the use)."""
        theirs = dtype_of(other)
        known[type(other)] = None
        if theirs is None or theirs.type not in SCALARS:
            return None
        result = result_dtype(name, *((theirs, mine) if swapped else (mine, theirs)))
        if result is None:
            raise TypeError(f"Numba has no {name} of {theirs if swapped else mine} and {mine if swapped else theirs}")
        make = SCALARS[result.type]
        if result.kind in "iu" and theirs.kind in "biu":
            if theirs.kind != "b" and not (beyond and type(other) is int):
                known[type(other)] = NUMBERS[make]
            return (int if theirs.kind == "b" else index, NUMBERS[make], result.type, make)
        if as_doubles and result.kind == "f":
            if mine.kind == "f":
                known[type(other)] = NUMBERS[make]
            return (None, NUMBERS[make], result.type, make)
        return (None, None, result.type, make)

    def method(self, other):
        if other.__class__ is int and beside_int is not None and _LOW <= other <= _HIGH:
            return beside_int[integers(index(self), other)]
        plan = plans.get(type(other), plans)
        if plan is plans:
            plan = plans[type(other)] = decide(other)
        elif other.__class__ is int and not _LOW <= other <= _HIGH:
            plan = decide(other)  # beyond int64 Numba has uint64
        if plan is None:
            return NotImplemented
        whole, numbers, base, make = plan
        if whole is not None:
            return numbers[integers(index(self), whole(other))]
        if numbers is not None:  # rounded twice, to a double and to the result: right for these four operations
            a, b = (float(other), float(self)) if swapped else (float(self), float(other))
            if b or name != "truediv":
                return numbers[raw(a, b)]
        a, b = (base(other), base(self)) if swapped else (base(self), base(other))
        return make(raw(a, b))

    shorter = INTEGERS if mine.kind in "iu" else FLOATS if mine.kind == "f" else {}
    short = shorter.get((name, swapped and name not in COMMUTATIVE))
    return method if short is None else short(known, method)


def _comparison(name, kind):
    raw, plain, real = getattr(operator, name), getattr(kind, f"__{name}__"), issubclass(kind, np.floating)
    if issubclass(kind, np.integer):

        def method(self, other):
            if isinstance(other, (int, np.integer, np.bool_)):
                return raw(int(self), int(other))
            if isinstance(other, (float, np.floating)):
                return raw(float(self), float(other))
            answer = plain(self, other)
            return bool(answer) if isinstance(answer, np.bool_) else answer

        return COMPARED[name](index, INDEXES, method)

    def method(self, other):
        if isinstance(other, (int, float, np.number)):
            return bool(raw(self.item(), other.item() if isinstance(other, np.generic) else other))
        answer = plain(self, other)
        return bool(answer) if isinstance(answer, np.bool_) else answer

    return COMPARED[name](float, REALS, method) if real else method


def _unary(name, kind):
    mine = np.dtype(kind)
    result = unary_dtype(name, mine)
    raw = {"abs": abs}.get(name) or getattr(operator, name)
    make = result.type
    if mine.kind in "iu":
        numbers = TABLES[make]
        return lambda self: numbers[raw(index(self))]
    if mine.kind == "f":
        numbers = TABLES[make]
        return lambda self: numbers[raw(float(self))]
    return lambda self: SCALARS[make](raw(kind(self)))


def _make(name):
    kind = getattr(np, name)
    body = {"__array_priority__": 1e6}  # a plain NumPy scalar on the left gives way
    body |= {"__slots__": (), "__hash__": kind.__hash__, "__module__": __name__}
    for operation in ARITHMETIC + (BITWISE if issubclass(kind, np.integer) else ()):
        spelled = operation.rstrip("_")
        body[f"__{spelled}__"] = _binary(operation, kind, False)
        body[f"__r{spelled}__"] = _binary(operation, kind, True)
    for operation in COMPARISONS:
        body[f"__{operation}__"] = _comparison(operation, kind)
    for operation in ("neg", "pos", "abs") + (("invert",) if issubclass(kind, np.integer) else ()):
        body[f"__{operation}__"] = _unary(operation, kind)
    body["__divmod__"] = lambda self, other: (self // other, self % other)
    body["__rdivmod__"] = lambda self, other: (other // self, other % self)
    return type("UInt" + name[4:] if name.startswith("uint") else name.capitalize(), (kind,), body)


REALS: set = {float, np.float16, np.float32, np.float64}
INDEXES: set = {int}
_KINDS = [getattr(np, name) for name in _NAMES]
TABLES = {kind: Numbers(kind) for kind in _KINDS if issubclass(kind, np.integer)}
TABLES |= {kind: Floats(kind) for kind in _KINDS if issubclass(kind, np.floating)}
SCALARS = {np.bool_: bool} | {getattr(np, name): _make(name) for name in _NAMES}
SCALARS[np.longlong], SCALARS[np.ulonglong] = SCALARS[np.int64], SCALARS[np.uint64]
for _kind, _numbers in TABLES.items():
    _numbers.make = SCALARS[_kind]
    (REALS if issubclass(_kind, np.floating) else INDEXES).add(SCALARS[_kind])
NUMBERS = {numbers.make: numbers for numbers in TABLES.values()}
Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64, Complex64, Complex128 = (
    SCALARS[getattr(np, name)] for name in _NAMES
)
_PROMOTED = dict(SCALARS) | {int: lambda value: UInt64(value) if value > _HIGH else Int64(wrapped(value, np.int64))}
_PROMOTED |= {float: Float64, complex: Complex128}
