"""A user's Python functions as Numba's device functions: one for all that are equal, none that is stale.

Numba compiles a device function once for each set of argument types and never looks again at the globals and cells that
it read. Here what a kernel calls is compiled from a copy (hollow.py) in which every captured value is what it is now,
and arrays are placeholders. Copies are found again by what the function is (identity.py).
"""

import contextlib
import itertools
import types as python
from collections import OrderedDict

import numpy as np
from numba import cuda
from numba.cuda import types
from numba.cuda.dispatcher import CUDADispatcher
from numba.cuda.np.numpy_support import from_dtype

from ...errors import Refused
from ..captured import Bound, Placeholder, is_jitted, jitted
from ..constants import library_name
from ..hollow import HollowModule, Replacing, empty_copy
from ..identity import identity
from .building import build, capability, is_known
from .forgetting import forget

MOST_FUNCTIONS = 32
_OPTIONS = {"device": True, "inline": "never", "forceinline": False, "link": (), "opt": True}
_numbers = itertools.count()


class DeviceFunction(CUDADispatcher):
    """A device function made of a copy."""

    def __init__(self, function, specs, options):
        super().__init__(function, {**_OPTIONS, **options})
        self.number, self.scope = next(_numbers), Scope(specs, options)

    def compile_device(self, args, return_type=None):
        """Compile for these argument types, of which the first is the struct of captured arrays where there are any."""
        if args not in self.overloads:
            with self._compiling_counter:
                receiver = args[0] if self.scope.placeholders else None
                result, _ = build(self.py_func, args, return_type, self.targetoptions, self.scope, receiver)
                self.overloads[args] = result
                result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return self.overloads[args]


_functions: "OrderedDict[tuple, DeviceFunction]" = OrderedDict()


def device_function(function, known, options):
    """Return the device function of all that is equal to `function`; `options`: the kernel's, for what has no own."""
    key = known.key, capability(), *sorted(options.items())
    found = _functions.get(key)
    if found is not None:
        _functions.move_to_end(key)
        return found
    if is_jitted(function):
        options = {**options, "fastmath": bool(function.targetoptions.get("fastmath"))}
        function = jitted(function).function
    copy = empty_copy(function)
    found = _functions[key] = DeviceFunction(copy, known.specs, options)
    found.scope.look_at(copy, function, known.arrays)
    return found


def trim():
    """Forget the half of the functions that were not asked for for longest, where there are too many.

    Never while something is being compiled; half of them, since looking through Numba's caches takes 50 ms.
    """
    if len(_functions) > MOST_FUNCTIONS:
        gone = [_functions.popitem(last=False)[1] for _ in range(len(_functions) - MOST_FUNCTIONS // 2)]
        forget(gone, _functions.values())


class Scope(Replacing):
    """What the code of one function is compiled with: placeholders for its arrays, device functions, hollow modules."""

    module_type = HollowModule

    def __init__(self, specs, options):
        super().__init__()
        self.placeholders = [Placeholder(position, spec) for position, spec in enumerate(specs)]
        self.options, self._arrays, self._below, self._registered = options, (), {}, False

    def look_at(self, copy, function, arrays):
        """Let a copy capture what stands for all that `function` captures, which are these arrays among others."""
        self._arrays = arrays
        try:
            self.fill(copy, function)
        finally:
            self._arrays = ()  # the user's memory is not held

    def is_portable(self):
        """Return False where anything called has a meaning that was registered with Numba in this process."""
        seen, waiting = set(), [self]
        while waiting:
            scope = waiting.pop()
            if scope._registered:
                return False
            seen.add(scope)
            waiting += {function.scope for function in scope._below.values()} - seen
        return True

    def array_type(self, position):
        """Return Numba's type of a captured array."""
        return array_type(self.placeholders[position].spec)

    def replaced(self, value):
        """Return what stands for a captured value; itself where Numba may have it as it is."""
        if isinstance(value, Bound):
            return Bound(value.function, tuple(map(self.array, value.arrays)))
        if isinstance(value, np.void):  # Numba calls a method of it that NumPy has no more
            raise Refused("a kernel cannot capture a record: capture an array of one, or pass the record to it.")
        return super().replaced(value)

    def array(self, array):
        """Return the placeholder of an array."""
        if any(array is known for known in self.placeholders):
            return array
        for known, placeholder in zip(self._arrays, self.placeholders):
            if known is array:
                return placeholder
        raise Refused("a captured array is reached in a way that warpkit cannot follow: pass it as an argument.")

    def function(self, function):
        """Return a device function, with its arrays where it has any."""
        if is_known(function):
            self._registered = True
            return function
        inline = getattr(function, "targetoptions", {}).get("inline", "never")
        if inline != "never":  # it becomes a part of this function
            inner = jitted(function).function
            return cuda.jit(device=True, inline=inline)(self.fill(empty_copy(inner), inner))
        known = identity(function)
        found = self._below[id(known.key)] = device_function(function, known, self.options)
        return Bound(found, tuple(map(self.array, known.arrays))) if known.arrays else found


def array_type(spec):
    """Return Numba's type for an array spec."""
    return types.Array(scalar_type(spec.dtype), spec.ndim, "C" if spec.contiguous else "A", readonly=spec.readonly)


def scalar_type(dtype):
    """Return Numba's type for a dtype."""
    if dtype.name == "bfloat16":
        return types.bfloat16
    with contextlib.suppress(NotImplementedError):
        if not dtype.hasobject:
            return from_dtype(dtype)
    raise Refused(f"a kernel cannot take {dtype}: pass numbers, or records of numbers.")


def as_device(function):
    """Return the device function of a plain Python function or lambda; what a kernel can call anyway as it is."""
    if not isinstance(function, python.FunctionType) or library_name(function) or is_known(function):
        return function
    found = function.__dict__.get("_warpkit_device")
    if found is None or found.py_func is not function:  # functools.wraps copies the dictionary
        found = function.__dict__["_warpkit_device"] = cuda.jit(device=True)(function)
    return found
