"""Tree reduction: any block size, order kept, two barriers a step."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import assert_same
from tests.warp import operators
from tests.warp.kinds import FLAT, dummies
from tests.warp.matrix import NUMBERS, label, sentinel

from . import kernels
from .matrix import SIMULATOR, bit_strings, data, threads
from .test_reduce import reduced

SHAPES = [(n,) for n in (1, 2, 31, 33, 48, 100)] + [(3, 5, 7)] + ([] if SIMULATOR else [(1000,), (1024,)])


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_a12_a_halving_tree_of_every_size_keeps_the_order(shape):
    x = bit_strings(2 * threads(shape))
    out = sentinel(np.int64, len(x))
    kernels.launch(kernels.with_op(wk.block_tree_reduce, operators.append_bits), shape, x, out)
    assert_same(out, reduced(operators.py_append_bits, x))


@pytest.mark.parametrize("dtype", NUMBERS, ids=label)
def test_sums_of_every_type(dtype):
    x, out = data("sum", dtype, 66), sentinel(dtype, 66)
    kernels.launch(kernels.one(wk.block_tree_sum), (33,), x, out)
    assert_same(out, reduced(np.add, x))


@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_sums_of_vectors_and_tuples(kind):
    inputs = [data("sum", dtype, 66, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(x.dtype, 66) for x in inputs]
    kernels.launch(
        kernels.columns(wk.block_tree_sum, kind.build, kind.store), (33,), *dummies(inputs), *dummies(outputs)
    )
    for got, x in zip(outputs, inputs):
        assert_same(got, reduced(np.add, x))


@pytest.mark.parametrize("own", [1, 3, 16, 64])
def test_an_own_scratch_of_any_length_will_do(own):
    @cuda.jit
    def run(x, out):
        i = kernels.item()
        out[i] = wk.block_tree_sum(x[i], wk.shared_array(own, np.int32))

    x, out = np.arange(66, dtype=np.int32), np.zeros(66, np.int32)
    kernels.launch(run, (33,), x, out)
    assert_same(out, reduced(np.add, x))
