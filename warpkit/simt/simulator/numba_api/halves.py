"""cuda.fp16: half arithmetic by name. Every operand is rounded to float16 first, every result once."""

import numpy as np

from warpkit.simt.simulator.scalars import Float16


def _half(function):
    """Return the half version of a NumPy function: computed in double, rounded once."""

    def call(*values):
        return Float16(np.float16(function(*(np.float64(np.float16(value)) for value in values))))

    call.__doc__ = f"Return {getattr(function, '__name__', 'the result')} of halves, rounded once."
    return call


def _predicate(function):
    return lambda a, b: bool(function(np.float16(a), np.float16(b)))


class Halves:
    """The functions of `cuda.fp16`."""

    hadd, hsub, hmul, hdiv = (staticmethod(_half(f)) for f in (np.add, np.subtract, np.multiply, np.divide))
    hfma = staticmethod(_half(lambda a, b, c: a * b + c))
    hneg, habs = staticmethod(_half(np.negative)), staticmethod(_half(np.abs))
    hsin, hcos, htanh = staticmethod(_half(np.sin)), staticmethod(_half(np.cos)), staticmethod(_half(np.tanh))
    hlog, hlog2, hlog10 = (staticmethod(_half(f)) for f in (np.log, np.log2, np.log10))
    hexp, hexp2, hexp10 = (staticmethod(_half(f)) for f in (np.exp, np.exp2, lambda x: 10.0**x))
    hsqrt, hrsqrt = staticmethod(_half(np.sqrt)), staticmethod(_half(lambda x: 1 / np.sqrt(x)))
    hrcp = staticmethod(_half(np.reciprocal))
    hceil, hfloor, hrint, htrunc = (staticmethod(_half(f)) for f in (np.ceil, np.floor, np.rint, np.trunc))
    hmax, hmin = staticmethod(_half(np.fmax)), staticmethod(_half(np.fmin))
    heq, hne = staticmethod(_predicate(np.equal)), staticmethod(_predicate(np.not_equal))
    hge, hgt = staticmethod(_predicate(np.greater_equal)), staticmethod(_predicate(np.greater))
    hle, hlt = staticmethod(_predicate(np.less_equal)), staticmethod(_predicate(np.less))


fp16 = Halves()
