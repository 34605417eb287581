"""Array functions: whole device arrays in, a number or an array out, one launch each."""

from .reduce import (
    ReducePolicy,
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    minmax,
    prod,
    reduce,
    sum,
    transform_reduce,
)

REDUCTIONS = (
    "ReducePolicy", "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "minmax", "prod", "reduce",
    "sum", "transform_reduce",
)  # fmt: skip
__all__ = [*REDUCTIONS]
