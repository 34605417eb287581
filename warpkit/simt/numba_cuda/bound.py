"""Functions that carry arrays: the type of a function value whose captured arrays are its data.

Numba freezes what a function captures into the code. Here such a function is a small struct of arrays that goes
wherever the function goes, also as an operator through several levels, and its code receives it as its first argument.
"""

from numba.cuda import cgutils, types
from numba.cuda.extending import core_models, infer_getattr, intrinsic, lower_getattr_generic, register_model
from numba.cuda.typing import signature
from numba.cuda.typing.templates import AttributeTemplate

from ...errors import Refused


class BoundFunction(types.Callable):
    """The type of a device function together with the arrays that it captures."""

    def __init__(self, dispatcher, arrays):
        self.dispatcher, self.arrays = dispatcher, arrays
        super().__init__(f"BoundFunction({dispatcher.number},{','.join(map(str, arrays))})")

    def get_call_type(self, context, args, kws):
        """Compile the function for these arguments and return the signature, with the struct as its receiver."""
        if self.dispatcher.is_compiling:
            raise Refused(f"{self.dispatcher.__name__} calls itself and captures an array: pass the array to it.")
        pysig, args = self.dispatcher.fold_argument_types(args, kws)
        result = self.dispatcher.compile_device((self, *args)).signature.return_type
        return signature(result, *args, recvr=self).replace(pysig=pysig)

    def get_call_signatures(self):
        """Return what it has been compiled for."""
        return [result.signature for result in self.dispatcher.overloads.values()], False

    def get_impl_key(self, sig):
        """Return under what name the compiled function is known."""
        return self.dispatcher.get_overload(sig.args)


@register_model(BoundFunction)
class BoundModel(core_models.StructModel):
    """A struct of arrays."""

    def __init__(self, manager, bound):
        super().__init__(manager, bound, [(f"array{i}", t) for i, t in enumerate(bound.arrays)])


@infer_getattr
class BoundAttributes(AttributeTemplate):
    """`bound.array0` is its first array."""

    key = BoundFunction

    def generic_resolve(self, bound, name):
        """Return the type of an array."""
        return bound.arrays[int(name[5:])] if name.startswith("array") else None


@lower_getattr_generic(BoundFunction)
def lower_array(context, builder, t, value, name):
    """Take an array out of the struct."""
    return getattr(cgutils.create_struct_proxy(t)(context, builder, value=value), name)


@intrinsic
def bind(typing_context, function, arrays):
    """Return a function with the arrays that it captures, a tuple."""
    bound = BoundFunction(function.dispatcher, tuple(arrays))

    def generate(context, builder, sig, args):
        struct = cgutils.create_struct_proxy(bound)(context, builder)
        for position in range(len(bound.arrays)):
            setattr(struct, f"array{position}", builder.extract_value(args[1], position))
        return struct._getvalue()

    return signature(bound, function, arrays), generate
