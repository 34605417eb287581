"""The cases of the selections' benchmark: arrays, calls, what is right."""

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

PERIOD = 1 << 22  # items after which an array repeats


def positive(v):
    """Return what selects half of random numbers."""
    return v > 0


def piece_of(kind):
    """Return what an array of one kind repeats."""
    rng = np.random.default_rng(1)
    if kind == "half":
        return rng.integers(-(2**31), 2**31, PERIOD).astype(np.int32)
    if kind == "flags":
        return rng.integers(0, 2, PERIOD).astype(np.bool_)
    return np.cumsum(rng.integers(0, kind, PERIOD) == 0).astype(np.int32)


def repeated(piece, n):
    """Return a device array of n items that repeats a piece."""
    array = cuda.device_array(n, piece.dtype)
    there = min(n, piece.size)
    array[:there].copy_to_device(piece[:there])
    while there < n:
        more = min(there, n - there)
        array[there : there + more].copy_to_device(array[:more])
        there += more
    return array


class Data:
    """The arrays of one size, made when they are asked for. out: as many items.  count: one integer."""

    def __init__(self, n):
        self.n, self.made = n, {}
        self.out, self.count = cuda.device_array(n, np.int32), cuda.device_array(1, np.int64)

    def __getitem__(self, kind):
        if kind not in self.made:
            self.made[kind] = repeated(piece_of(kind), self.n)
        return self.made[kind]

    def host(self, kind, n):
        """Return the first items of an array as NumPy sees them: all, up to a period."""
        return piece_of(kind)[: min(n, PERIOD)]


def changes(x):
    """Return how many runs there are."""
    return 1 + int((x[1:] != x[:-1]).sum())


def half(data, n, policy=None):
    """Return (call, what it keeps of a period, bytes) of `select`."""
    x, out = data.host("half", n), data.out[:n]
    call = wk.prepare(device.select, data["half"][:n], positive, out=out, count_out=data.count, policy=policy)
    return call, x[x > 0], 4


def flagged(data, n):
    """Return (call, what it keeps of a period, bytes beside those of what is kept) of `select_flagged`."""
    x, flags = data.host("half", n), data.host("flags", n)
    call = wk.prepare(
        device.select_flagged, data["half"][:n], data["flags"][:n], out=data.out[:n], count_out=data.count
    )
    return call, x[flags], 5


def unique_of(mean):
    """Return the function for `unique`."""

    def make(data, n):
        x = data.host(mean, n)
        call = wk.prepare(device.unique, data[mean][:n], out=data.out[:n], count_out=data.count)
        return call, x[np.append(True, x[1:] != x[:-1])], 4

    return make


def runs_of(mean):
    """Return the function for `run_length_encode`."""

    def make(data, n):
        x = data.host(mean, n)
        if "lengths" not in data.made:
            data.made["lengths"] = cuda.device_array(data.n, np.int64)
        outs = data.out[:n], data.made["lengths"][:n]
        call = wk.prepare(device.run_length_encode, data[mean][:n], out=outs, count_out=data.count)
        return call, x[np.append(True, x[1:] != x[:-1])], 4

    return make


def partitioned(data, n):
    """Return (call, the kept part of a period, bytes) of `partition`."""
    x = data.host("half", n)
    call = wk.prepare(device.partition, data["half"][:n], positive, out=data.out[:n], count_out=data.count)
    return call, x[x > 0], 8


CASES = {
    "select half of int32": (half, 0.8),
    "select_flagged half of int32": (flagged, 1.0),
    "unique of runs of 2": (unique_of(2), 1.0),
    "unique of runs of 100": (unique_of(100), 1.0),
    "run_length_encode of runs of 2": (runs_of(2), 1.0),
    "run_length_encode of runs of 100": (runs_of(100), 1.0),
}
if hasattr(device, "partition"):
    CASES["partition half of int32"] = partitioned, 1.0


def check(name, data, n, kept):
    """Stop where a result is wrong: a fast one says nothing then."""
    count = int(data.count.copy_to_host()[0])
    wanted = len(kept) * max(n // PERIOD, 1)
    if abs(count - wanted) > n // PERIOD:  # where pieces meet a run may end or go on
        raise ValueError(f"{name}: {count} kept instead of {wanted}")
    some = min(len(kept), 1 << 20)
    if not np.array_equal(data.out[:some].copy_to_host(), kept[:some]):
        raise ValueError(f"{name}: wrong items")


class report_errors:
    """A block whose error is one of the report, and costs the others nothing."""

    def __init__(self, report, what):
        self.report, self.what = report, what

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            self.report.errors.append(f"{self.what}: {type(error).__name__}: {error}")
        return isinstance(error, Exception)
