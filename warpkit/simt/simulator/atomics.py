"""The arithmetic of atomics: (old, operands) -> new; wrapping is the store's."""

import operator


def _increment(old, limit):
    return 0 if old >= limit else old + 1


def _decrement(old, limit):
    return limit if old == 0 or old > limit else old - 1


def _maximum(old, value):
    return value if value > old else old


def _minimum(old, value):
    return value if value < old else old


def _nan_maximum(old, value):
    return value if old != old or value > old else old


def _nan_minimum(old, value):
    return value if old != old or value < old else old


ATOMICS = {
    "add": operator.add,
    "sub": operator.sub,
    "and_": operator.and_,
    "or_": operator.or_,
    "xor": operator.xor,
    "max": _maximum,
    "min": _minimum,
    "nanmax": _nan_maximum,
    "nanmin": _nan_minimum,
    "inc": _increment,
    "dec": _decrement,
    "exch": lambda old, value: value,
    "cas": lambda old, expected, value: value if old == expected else old,
}
