"""Votes, broadcast and the barrier of a block."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import assert_same
from tests.warp.kinds import COMPOUND, RECORDS, dummies
from tests.warp.matrix import NUMBERS, bit_patterns, label, sentinel

from . import kernels
from .matrix import FEW, SHAPES, threads

VOTES = {"all": (wk.block_all, np.all), "any": (wk.block_any, np.any), "count": (wk.block_count, np.sum)}


def predicates(shape):
    """Return telling predicates for two blocks: none, one true, one false, all, some."""
    size = 2 * threads(shape)
    one = np.zeros(size, np.bool_)
    one[size - 1] = True
    some = np.random.default_rng(1).random(size) < 0.5
    return [np.zeros(size, np.bool_), one, ~one, np.ones(size, np.bool_), some]


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("name", VOTES)
def test_every_thread_gets_the_vote_of_its_block(name, shape):
    function, rule = VOTES[name]
    for pred in predicates(shape):
        out = sentinel(np.int32, len(pred))
        kernels.launch(kernels.one(function), shape, pred, out)
        assert_same(out, np.repeat([rule(part) for part in np.split(pred, 2)], threads(shape)).astype(np.int32))


def test_integers_vote_by_being_zero_or_not():
    x, out = np.array([0, -1, 256, 0, 7], np.int64), np.zeros(5, np.int32)
    kernels.launch(kernels.one(wk.block_count), (5,), x, out, blocks=1)
    assert (out == 3).all()


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_], ids=label)
def test_a_broadcast_moves_the_bits_of_every_type(dtype):
    for source in (0, 31, 32, 39):
        x, out = bit_patterns(dtype, 80), sentinel(dtype, 80)
        kernels.launch(kernels.counted(wk.block_broadcast), (8, 5), x, np.array([source]), out)
        assert out.tobytes() == np.repeat(x[[source, 40 + source]], 40).tobytes()


@pytest.mark.parametrize("shape", FEW, ids=label)
def test_a_broadcast_from_every_edge(shape):
    x = np.arange(2 * threads(shape))
    for source in (0, threads(shape) // 2, threads(shape) - 1):
        out = np.zeros_like(x)
        kernels.launch(kernels.counted(wk.block_broadcast), shape, x, np.array([source], np.uint16), out)
        assert_same(out, np.repeat([source, threads(shape) + source], threads(shape)))


@cuda.jit(device=True)
def from_33(value):
    """Broadcast from thread 33."""
    return wk.block_broadcast(value, 33)


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_a_broadcast_of_tuples_and_vectors(kind):
    inputs = [bit_patterns(dtype, 40, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(x.dtype, 40) for x in inputs]
    run = kernels.columns(from_33, kind.build, kind.store)
    kernels.launch(run, (40,), *dummies(inputs), *dummies(outputs), blocks=1)
    for got, x in zip(outputs, inputs):
        assert got.tobytes() == np.repeat(x[33], 40).tobytes()


@pytest.mark.parametrize("name", RECORDS)
def test_a_broadcast_of_records(name):
    x, out = bit_patterns(RECORDS[name], 40), np.zeros(40, RECORDS[name])
    kernels.launch(kernels.one(from_33), (40,), x, out, blocks=1)
    for field in RECORDS[name].names:
        assert out[field].tobytes() == np.repeat(x[field][33], 40).tobytes()


def test_a_barrier_orders_shared_memory():
    @cuda.jit
    def run(x, out):
        index, size, i = kernels.place()
        shared = wk.shared_array(64, np.int32)
        shared[index] = x[i]
        wk.sync_block()
        out[i] = shared[size - 1 - index]

    x = np.arange(80, dtype=np.int32)
    out = np.zeros_like(x)
    kernels.launch(run, (40,), x, out)
    assert_same(out, np.concatenate([x[39::-1], x[:39:-1]]))
