"""Array functions against the size of the array: bandwidth beside a copy of as many bytes, and what else is installed.

Peers, each in the same run: CUB through nvcc (sums, maxima), cuda.compute (sums), torch and CuPy. Bytes are those that
have to be read and written once. Items are float32. Below 2^24 items a graph of 100 calls is timed, from there on one
call that waits on the stream behind another. Results are compared with NumPy's before anything is timed.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .mode import MODE
from .peers import Peer
from .timing import copy_time, graph_time, queued_time

EXPONENTS, QUICK, SIMULATED = (10, 12, 14, 16, 18, 20, 22, 24, 26, 28), (14, 20, 24), (4, 9)
LARGE = 24
PERIOD = 1 << 20  # items after which an array repeats: what is right is computed on so many
PATTERN = 2654435761


@dataclass(frozen=True)
class Case:
    """One array function. ours, torch, cupy: (module, x, out) -> a call.  right: the result for one period.

    bytes_of: of n items.  out_of: (n) -> shape and dtype.  folds: how the periods' results become that of the array.
    """

    name: str
    ours: Callable[..., Any]
    right: Callable[[Any], Any]
    out_of: Callable[[int], Any]
    bytes_of: Callable[[int], int]
    folds: Callable[[Any, int], Any]
    peers: tuple[tuple[str, Callable[..., Any]], ...] = ()
    cub: str = ""


def torch_sum(torch, x, out):
    """Add up with torch."""
    return lambda: torch.sum(x, dim=0, out=out[0])


def torch_max(torch, x, out):
    """Find the largest with torch."""
    return lambda: torch.amax(x, dim=0, out=out[0])


def torch_cumsum(torch, x, out):
    """Scan with torch."""
    return lambda: torch.cumsum(x, 0, out=out)


def cupy_sum(cupy, x, out):
    """Add up with CuPy."""
    return lambda: x.sum(out=out[0])


def cupy_max(cupy, x, out):
    """Find the largest with CuPy."""
    return lambda: x.max(out=out[0])


def cupy_cumsum(cupy, x, out):
    """Scan with CuPy."""
    return lambda: cupy.cumsum(x, out=out)


def one(n):
    """Return the shape and dtype of a number."""
    return (1,), np.float32


def as_many(n):
    """Return the shape and dtype of an array of as many items."""
    return (n,), np.float32


CASES = [
    Case("sum", lambda x, out: wk.prepare(device.sum, x, out=out), lambda x: [x.sum(dtype=np.float64)], one,
         lambda n: 4 * n, lambda found, periods: np.multiply(found, periods),
         (("torch", torch_sum), ("cupy", cupy_sum)), "sum float32"),
    Case("max", lambda x, out: wk.prepare(device.max, x, out=out), lambda x: [x.max()], one,
         lambda n: 4 * n, lambda found, periods: found, (("torch", torch_max), ("cupy", cupy_max)), "max float32"),
    Case("histogram of 256 bins", lambda x, out: wk.prepare(device.histogram, x, 256, (0, 4), out=out),
         lambda x: np.histogram(x, 256, (0, 4))[0], lambda n: ((256,), np.int32), lambda n: 4 * n,
         lambda found, periods: found * periods),
]  # fmt: skip
if hasattr(device, "cumsum"):
    CASES.append(
        Case("cumsum", lambda x, out: wk.prepare(device.cumsum, x, out=out), np.cumsum, as_many, lambda n: 8 * n,
             lambda found, periods: None, (("torch", torch_cumsum), ("cupy", cupy_cumsum)))
    )  # fmt: skip


@functools.cache
def pattern(n):
    """Return n small numbers that differ: quarters, so that sums of few of them are exact."""
    return ((np.arange(n) * PATTERN % 2**32 >> 7 & 7) * 0.25).astype(np.float32)


def numbers(n):
    """Return a device array of n items: the pattern, again and again."""
    array = cuda.device_array(n, np.float32)
    there = min(n, PERIOD)
    array[:there].copy_to_device(pattern(there))
    while there < n:
        array[there : 2 * there].copy_to_device(array[:there])
        there *= 2
    return array


def check(case, n, out):
    """Stop where a result is wrong: a fast one says nothing then."""
    period = min(n, PERIOD)
    right = case.folds(case.right(pattern(period)), n // period)
    found = out.copy_to_host()
    if right is None:  # a scan: its first period
        right, found = case.right(pattern(period)), found[:period]
    if not np.allclose(found, right, rtol=1e-4, atol=0):
        raise ValueError(f"{case.name}, {n} items: wrong values")


def beside(name, make, x, out):
    """Return a framework's call as work on a stream; ImportError where it is not installed."""
    module = importlib.import_module(name)
    if name == "torch":
        work = make(module, module.as_tensor(x, device="cuda"), module.as_tensor(out, device="cuda"))

        def call(stream):
            with module.cuda.stream(module.cuda.ExternalStream(int(stream))):
                work()
    else:
        work = make(module, module.asarray(x), module.asarray(out))

        def call(stream):
            with module.cuda.ExternalStream(int(stream)):
                work()

    return call


class OnStream:
    """A stream as cuda.compute takes it."""

    def __init__(self, stream):
        self.handle = int(stream)

    def __cuda_stream__(self):
        """Return version and handle."""
        return 0, self.handle


def compute_sum(x, out):
    """Return cuda.compute's sum as work on a stream; ImportError where it is not installed."""
    compute = importlib.import_module("cuda.compute")
    zero, plus = np.zeros(1, np.float32), compute.OpKind.PLUS

    def call(stream):
        compute.reduce_into(d_in=x, d_out=out, op=plus, num_items=x.size, h_init=zero, stream=OnStream(stream))

    return call


def timed(work, n):
    """Time a call by its size."""
    return graph_time(work) if n < 1 << LARGE else queued_time(work)


def measure(report, case, exponent, cub):
    """Measure one function at one size: a row for each peer, or one without."""
    n = 1 << exponent
    x, out = numbers(n), cuda.device_array(*case.out_of(n))
    work = case.ours(x, out)
    work()
    check(case, n, out)
    ours, copy, num_bytes = timed(work, n), copy_time(case.bytes_of(n)), case.bytes_of(n)
    found = {"CUB": cub[f"{case.cub} 2^{exponent}"]} if f"{case.cub} 2^{exponent}" in cub else {}
    makers = {name: functools.partial(beside, name, make, x, out) for name, make in case.peers}
    if case.name == "sum":
        makers["cuda.compute"] = functools.partial(compute_sum, x, out)
    for name, make in {} if MODE.simulated else makers.items():
        try:
            found[name] = timed(make(), n)
        except ImportError:
            missing(report, f"{name} is not installed")
        except Exception as error:
            missing(report, f"{name} has no figure for {case.name}: {type(error).__name__}: {str(error)[:200]}")
    for name, peer in found.items() or [("", None)]:
        title = f"{case.name}, float32, 2^{exponent}" + (f"; peer: {name}" if name else "")
        report.rows.append(Row(title, ours, peer, num_bytes=num_bytes, copy=copy))


def missing(report, note):
    """Say once what is not there."""
    if note not in report.notes:
        report.notes.append(note)


def over(report, exponents, cub):
    """Measure every function at every size; what fails is an error of the report and costs the others nothing."""
    pairs = [(case, exponent) for case in CASES for exponent in exponents]
    for case, exponent in report.cases(pairs, lambda pair: f"{pair[0].name}, 2^{pair[1]}"):
        with report.attempt(f"{case.name}, 2^{exponent}"):
            measure(report, case, exponent, cub)
    report.notes.append("bytes: those that have to be read and written once; items: float32")


def run(report):
    """Fill the report."""
    if MODE.simulated:
        over(report, SIMULATED, {})
        return
    exponents = QUICK if MODE.quick else EXPONENTS
    peer = Peer("reduce", cuda.get_current_device().compute_capability)
    cub = peer.beside(report, *exponents)
    over(report, exponents, cub)
    if not peer.built:
        report.notes.append(peer.missing)
