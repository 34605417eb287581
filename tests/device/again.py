"""What tests of calls that come again share: every such function, arrays of one call, and what was launched at once."""

import contextlib
from typing import NamedTuple

import numpy as np
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR
from warpkit import device
from warpkit.host.arrays import as_argument
from warpkit.host.launch_again import on_this_device
from warpkit.host.streams_in import enter

from .selections import changes, encoded, parted

SIZES = {"one tile": 100, "several": 1100 if SIMULATOR else 40_000}
LARGE = 2300 if SIMULATOR else 300_000


def odd(v):
    """A predicate."""
    return v & 1


def later(a, b):
    """An operator of the user's: the later one unless it is 0."""
    return b if b else a


def filled(x):
    """Return what `later` leaves of an array."""
    return x[np.maximum.accumulate(np.where(x != 0, np.arange(x.size), 0))]


class Case(NamedTuple):
    """A function. call: (x, outputs, options) -> what it returns.  outs: dtypes of the outputs.  expected: x -> the
    contents of each.  told: it takes `count_out`."""

    call: object
    outs: tuple
    expected: object
    told: bool = True


CASES = {
    "cumsum": Case(lambda x, o, **k: device.cumsum(x, out=o[0], **k), (np.int64,), lambda x: [np.cumsum(x)], False),
    "reverse": Case(lambda x, o, **k: device.cumsum(x, out=o[0], reverse=True, **k), (np.int64,),
                    lambda x: [np.cumsum(x[::-1])[::-1]], False),
    "exclusive_scan": Case(lambda x, o, **k: device.exclusive_scan(x, wk.maximum, out=o[0], **k), (np.int64,),
                           lambda x: [np.maximum.accumulate(np.append(np.iinfo(np.int64).min, x[:-1]))], False),
    "a user's scan": Case(lambda x, o, **k: device.inclusive_scan(x, later, out=o[0], **k), (np.int64,),
                          lambda x: [filled(x)], False),
    "select": Case(lambda x, o, **k: device.select(x, odd, out=o[0], **k), (np.int64,), lambda x: [x[x & 1 == 1]]),
    "select_flagged": Case(lambda x, o, **k: device.select_flagged(x, x, out=o[0], **k), (np.int64,),
                           lambda x: [x[x != 0]]),
    "nonzero": Case(lambda x, o, **k: device.nonzero(x, out=o[0], **k), (np.int64,), lambda x: [np.flatnonzero(x)]),
    "partition": Case(lambda x, o, **k: device.partition(x, odd, out=o[0], **k), (np.int64,),
                      lambda x: [parted(x, x & 1 == 1)]),
    "unique": Case(lambda x, o, **k: device.unique(x, out=o[0], **k), (np.int64,), lambda x: [x[changes(x)]]),
    "run_length_encode": Case(lambda x, o, **k: device.run_length_encode(x, out=o, **k), (np.int64, np.int32),
                              lambda x: list(encoded(x))),
}  # fmt: skip
TOLD = [name for name, case in CASES.items() if case.told]


def items(n, seed):
    """Return small numbers in runs, many of them 0."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.integers(0, 4, n), 2)[:n]


def kept(case, x):
    """Return how many items a case keeps."""
    if case is CASES["partition"]:
        return int((x & 1 == 1).sum())
    return len(case.expected(x)[0])


def outputs(case, n):
    """Return new outputs of rubbish for a case with `n` items."""
    return tuple([cuda.to_device(np.full(n, 77, dtype)) for dtype in case.outs])


def check(case, x, outs, count=None):
    """Assert that outputs hold what they should, and nothing behind it."""
    for out, expected in zip(outs, case.expected(x)):
        got = out.copy_to_host()
        np.testing.assert_array_equal(got[: len(expected)], expected)
        assert (got[len(expected) :] == 77).all()
    if count is not None:
        assert count.copy_to_host()[0] == kept(case, x)


def reading(arrays, stream):
    """Do `read_again` for the simulator's arrays, which carry nothing that was read of them."""
    try:
        arguments = [as_argument(array, place) for place, array in enumerate(arrays)]
    except wk.Refused:
        return None
    if not all(argument.is_array for argument in arguments):
        return None
    key = on_this_device([argument.layout for argument in arguments])
    return key, [argument.pointer for argument in arguments], enter(stream, arguments)[0]


def reading_again(read_again):
    """Return `read_again` for arrays that are read before: numba's carry what was read of them from then on."""

    def read(arrays, stream):
        for place, array in enumerate(arrays):
            with contextlib.suppress(TypeError, ValueError):
                as_argument(array, place)
        return read_again(arrays, stream)

    return read
