"""The scans by name and by operator: what is combined in which dtype, what comes out, what comes first."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..host.dtypes import as_dtype, kind_of, single
from ..simt import ops
from ..simt.rules import check_operand
from .call_table import CallTable
from .reduce_operators import check_calls, checked_operator, keep_in, memo_of
from .reduce_rules import check_goes_into, total_of

WIDENING = (ops.add, ops.mul)


@dataclass(frozen=True, eq=False)
class ScanFamily:
    """A scan that users ask for.

    op: a built-in operator, or a function of the user's, which is not `fixed`.  exclusive: without the item itself.
    plans: what was compiled for it.  calls: those with `out` alone that are known.
    """

    name: str
    op: Callable[..., Any]
    exclusive: bool
    fixed: bool
    plans: dict[Any, Any] = field(default_factory=dict)
    calls: CallTable = field(default_factory=CallTable)


CUMSUM, CUMPROD = ScanFamily("cumsum", ops.add, False, True), ScanFamily("cumprod", ops.mul, False, True)


def scan_family(name: str, op: Any) -> ScanFamily:
    """Return the scan by `op`, inclusive or exclusive as its name says; kept with the function itself."""
    known = checked_operator(name, op)
    memo = memo_of(known or op)
    found = memo.get(name)
    if found is None:
        if known is None:
            check_calls(name, "op", op, 2)
        calls = CallTable() if known is not None else CallTable(op)
        found = ScanFamily(name, known or op, name == "exclusive_scan", known is not None, calls=calls)
        keep_in(memo, name, found)
    return found


def dtypes_of(family: ScanFamily, item: np.dtype[Any], dtype: Any) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes of (totals, results): NumPy's accumulators; halves are combined as float32 and stay halves."""
    known = family.op if family.fixed else None
    if dtype is not None:
        result = as_dtype(family.name, dtype)
        check_goes_into(family.name, "dtype", item, result)
        total = single(result)
        if known is not None:
            check_operand(known, kind_of(total), family.name)
        return total, result
    total = total_of(family.name, item, known, None)
    return total, with_halves(total, item) if known in WIDENING else item


def with_halves(total: np.dtype[Any], item: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of totals, with float16 where the items have it."""
    if total.names:
        return np.dtype([(name, with_halves(total[name], item[name])) for name in total.names])
    return item if item == np.float16 else total


def identity(op: Callable[..., Any], total: np.dtype[Any]) -> Any:
    """Return the identity of a built-in operator as a value of `total`, of a structured one a tuple of them."""
    if total.names:
        return tuple([identity(op, total[name]) for name in total.names])
    meaning = ops.IDENTITIES[op]
    if not isinstance(meaning, str):
        return total.type(meaning)
    if total.kind == "f":
        return total.type(np.inf if meaning == ops.HIGHEST else -np.inf)
    if total.kind == "b":
        return total.type(meaning != ops.LOWEST)
    if meaning == ops.ALL_ONES:
        return total.type(-1 if total.kind == "i" else np.iinfo(total).max)
    return total.type(np.iinfo(total).max if meaning == ops.HIGHEST else np.iinfo(total).min)


def nothing(total: np.dtype[Any]) -> Any:
    """Return zero as a value of `total`."""
    return tuple([nothing(total[name]) for name in total.names]) if total.names else total.type(0)
