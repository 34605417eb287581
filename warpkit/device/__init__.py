"""Array functions: whole device arrays in, a number or an array out, one launch each."""

from .histogram import bincount, histogram
from .histogram_plan import HistogramPolicy
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
from .scan import ScanPolicy, cumprod, cumsum, exclusive_scan, inclusive_scan
from .transpose import TransposePolicy, transpose

REDUCTIONS = (
    "ReducePolicy", "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "minmax", "prod", "reduce",
    "sum", "transform_reduce",
)  # fmt: skip
HISTOGRAMS = ("HistogramPolicy", "bincount", "histogram")
SCANS = ("ScanPolicy", "cumprod", "cumsum", "exclusive_scan", "inclusive_scan")
MAPS = ("TransposePolicy", "transpose")
__all__ = [*REDUCTIONS, *HISTOGRAMS, *SCANS, *MAPS]
