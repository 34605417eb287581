"""How the library's own functions become known to Numba: by a template of warpkit's, not as overloads or intrinsics.

An overload has a dispatcher for each set of argument types, hashes all flags of the compiler at each call, and a
function of its own around every instruction. Here what is an instruction is generated where it is called, and what is
Python is compiled once for its types, by a shorter pipeline (pipeline.py).
"""

import inspect
import types as python
from typing import Any, NamedTuple

from numba.cuda import dispatcher, types
from numba.cuda.core.errors import TypingError
from numba.cuda.core.targetconfig import ConfigStack
from numba.cuda.descriptor import cuda_target
from numba.cuda.typing import signature
from numba.cuda.typing.templates import AbstractTemplate, fold_arguments, infer_global

from .pipeline import compile_body


class Found(NamedTuple):
    """What a call means: its signature, under what key the target knows its code, and what keeps that alive."""

    signature: Any
    key: Any
    code: Any


class LibraryTemplate(AbstractTemplate):
    """Types the calls of one function of the library; one subclass for each (`register`)."""

    def generic(self, args, kws):
        """Return the signature of a call, after compiling what it calls."""
        capability = _capability()
        given = args, tuple(kws.items()), capability
        found = self._impl_cache.get(given)
        if found is None:
            found = self._impl_cache[given] = self._find(args, kws, capability)
        self._impl_keys[found.signature.args] = found.key  # as compiled for this capability
        return found.signature

    def get_impl_key(self, sig):
        """Return under what key the target knows the code of a call."""
        return self._impl_keys[sig.args]

    def _find(self, args, kws, capability):
        parameters = inspect.signature(self.key)  # not when it registers: few are called
        try:
            given = parameters.bind(*args, **kws)
        except TypeError as error:
            raise TypingError(f"{self.key.__name__}: {error}") from None
        given.apply_defaults()
        meaning = self.define(self.context, *given.arguments.values())
        if isinstance(meaning, python.FunctionType):
            other = None if meaning is self.key else cuda_target.typing_context._lookup_global(meaning)
            if other is not None:
                sig = other.get_call_type(self.context, args, kws)
                return Found(sig, other.get_impl_key(sig), None)
            return _compiled(meaning, args, kws, capability)
        sig, generate = meaning
        sig = sig.replace(pysig=parameters)
        cuda_target.target_context.insert_func_defn([(generate, generate, sig.args)])
        return Found(sig, generate, None)


def _compiled(body, args, kws, capability):
    """Compile a Python function for a call."""
    parameters = inspect.signature(body)
    args = fold_arguments(parameters, args, kws, _itself, _omitted, _starred)
    result = compile_body(body, tuple(args), capability)
    cuda_target.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    return Found(signature(result.signature.return_type, *args).replace(pysig=parameters), result.entry_point, result)


def _itself(index, parameter, value):
    return value


def _omitted(index, parameter, default):
    return types.Omitted(default)


def _starred(index, parameter, values):
    return types.StarArgTuple(values)


def _capability():
    """Return what the caller is compiled for; Numba's dispatchers ask for the device where nothing is."""
    flags = ConfigStack.top_or_none()
    chosen = flags and flags.compute_capability
    return tuple(chosen or dispatcher.get_current_device().compute_capability)


def register(public, define, literal=False) -> None:
    """Let Numba type and lower the calls of `public` as `define(typing context, argument types)` says.

    It returns either a signature and what generates the code, or what stands for `public` for these types: a Python
    function to be compiled, or another function of the library. An argument that is left out arrives as its default, a
    Python value.
    literal: constants come with their values; otherwise only where the call is refused without.
    """
    template = type(
        f"Library_{public.__name__}", (LibraryTemplate,),
        {
            "key": staticmethod(public), "define": staticmethod(define), "prefer_literal": literal,
            "metadata": {"target": "cuda"}, "_impl_cache": {}, "_impl_keys": {},
        },
    )  # fmt: skip
    infer_global(public, types.Function(template))


def lowers(public, literal=False):
    """Decorate the `define` of `register`."""

    def decorate(define):
        register(public, define, literal)
        return define

    return decorate
