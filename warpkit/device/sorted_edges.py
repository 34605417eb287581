"""Edges that users give: in host memory, which are checked and kept on the device, or in device memory."""

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..host.arrays import Argument, as_argument
from ..host.streams_in import enter
from ..simt import machine

MOST_KEPT = 64  # sets of edges
_kept: OrderedDict[Any, Argument] = OrderedDict()
_lock = threading.Lock()


def edges_argument(name: str, bins: Any, stream: Any, descending: bool) -> tuple[Argument, bool]:
    """Return (edges as a kernel takes them, in device memory, whether they descend).

    Args: bins: a sequence or a NumPy array, whose order is checked; or a device array, whose order is not looked at.
    descending: they may descend.
    Errors: Refused for what holds no numbers in one axis, ValueError for edges out of order; Refused under capture,
    where edges of the host have not been seen before.
    """
    if isinstance(bins, list | tuple | np.ndarray | range):
        edges = np.asarray(bins)
        _check(name, edges.dtype, edges.shape)
        falls = _order(name, edges, descending)
        return _on_device(name, edges[::-1] if falls else edges, stream), falls
    found = None if bins is None or isinstance(bins, str) else as_argument(bins, "bins")
    if found is None or not found.is_array:
        raise Refused(f"{name}: bins must be edges in a sequence, a NumPy array or a device array, not {shown(bins)}.")
    _check(name, found.dtype, found.shape)
    return found, False


def compared_as(item: np.dtype[Any], edge: np.dtype[Any]) -> Any:
    """Return the type in which items and edges are compared: NumPy's, halves as float32."""
    kind = np.result_type(item, edge)
    return np.float32 if kind == np.float16 else kind.type


def _check(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise Refused(f"{name}: the edges in bins must have one axis, not shape {shape}.")
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise Refused(f"{name}: the edges in bins must be integers or floats, not {dtype}.")


def _order(name: str, edges: np.ndarray[Any, Any], descending: bool) -> bool:
    """Return whether edges descend; refuse those that do not keep one direction, NaN among them."""
    if bool(np.all(edges[1:] >= edges[:-1])) and not (edges.dtype.kind == "f" and bool(np.isnan(edges).any())):
        return False
    if descending and bool(np.all(edges[1:] <= edges[:-1])):
        return True
    direction = "ascend or descend" if descending else "ascend"
    raise ValueError(f"{name}: the edges in bins must {direction} from one to the next.")


def _on_device(name: str, edges: np.ndarray[Any, Any], stream: Any) -> Argument:
    """Return edges of the host in device memory, as long as few others are used: at once where they are known."""
    edges = np.ascontiguousarray(edges)
    key = edges.dtype, edges.tobytes(), machine.context_key()
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
        if machine.is_capturing(enter(stream, ())[0]):
            raise Refused(
                f"{name}: edges in host memory cannot be sent while a graph is captured; pass a device array."
            )
        found = _kept[key] = as_argument(machine.to_device(edges), "bins")
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return found
