"""Functions that carry arrays: the type of a function value whose captured arrays are its data.

Numba freezes what a function captures into the code. Here such a function is a small struct of arrays that goes
wherever the function goes, also as an operator through several levels, and its code receives it as its first argument.
"""

from numba.cuda import cgutils, types
from numba.cuda.extending import core_models, infer_getattr, lower_builtin, lower_getattr_generic, register_model
from numba.cuda.typing import signature
from numba.cuda.typing.templates import AbstractTemplate, AttributeTemplate, infer_global

from ...errors import Refused


class BoundFunction(types.Callable):
    """The type of a device function together with the arrays that it captures."""

    def __init__(self, function, arrays):
        self.function, self.arrays = function, arrays
        super().__init__(f"BoundFunction({self.dispatcher.number},{','.join(map(str, arrays))})")

    @property
    def dispatcher(self):
        """The device function; Numba's type of it, which is all that is kept here, holds it weakly."""
        return self.function.dispatcher

    def get_call_type(self, context, args, kws):
        """Compile the function for these arguments and return the signature, with the struct as its receiver."""
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


def bind(function, arrays):
    """Return a function with the arrays that it captures, a tuple: known to the compiler alone.

    No intrinsic, since each set of types would leave an implementation behind in Numba.
    """


@infer_global(bind)
class BindTemplate(AbstractTemplate):
    """The type of a function with its arrays."""

    def generic(self, args, kws):
        """Return the signature."""
        function, arrays = args
        if isinstance(function, types.RecursiveCall):
            name = function.dispatcher_type.dispatcher.__name__
            raise Refused(f"{name} calls itself and captures an array, which must then be one of its arguments.")
        return signature(BoundFunction(function, tuple(arrays)), function, arrays)


@lower_builtin(bind, types.Dispatcher, types.BaseTuple)
def lower_bind(context, builder, sig, args):
    """Make the struct."""
    struct = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    for position in range(len(sig.return_type.arrays)):
        setattr(struct, f"array{position}", builder.extract_value(args[1], position))
    return struct._getvalue()
