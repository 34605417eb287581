"""Array functions: whole device arrays in, a number or an array out, one launch each.

What the functions of a kind share, `out=`, `count_out=`, `num_items=`, `stream=` and `policy=` among it, is said once
for all of them: `help` shows it below what each does itself.
"""

from .digitize import digitize
from .histogram import bincount, histogram
from .histogram_policy import HistogramPolicy
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
from .select import SelectPolicy, nonzero, partition, run_length_encode, select, select_flagged, unique
from .softmax import softmax
from .softmax_plan import SoftmaxPolicy
from .transform import transform
from .transform_plan import TransformPolicy
from .transpose import transpose
from .transpose_policy import TransposePolicy

REDUCTIONS = (
    "ReducePolicy", "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "minmax", "prod", "reduce",
    "sum", "transform_reduce",
)  # fmt: skip
HISTOGRAMS = ("HistogramPolicy", "bincount", "digitize", "histogram")
SELECTIONS = ("SelectPolicy", "nonzero", "partition", "run_length_encode", "select", "select_flagged", "unique")
SCANS = ("ScanPolicy", "cumprod", "cumsum", "exclusive_scan", "inclusive_scan")
MAPS = ("SoftmaxPolicy", "TransformPolicy", "TransposePolicy", "softmax", "transform", "transpose")
__all__ = [*REDUCTIONS, *HISTOGRAMS, *SCANS, *SELECTIONS, *MAPS]
