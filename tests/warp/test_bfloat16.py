"""bfloat16, which NumPy does not have: made from float32 in the kernel, so on a GPU only (PTX: test_shuffle_ptx.py)."""

import numpy as np
import pytest
from numba import cuda
from numba.cuda.bf16 import bfloat16

import warpkit as wk
from tests import reference
from tests.reference import assert_same, at, exclusive, fold

from . import kernels
from .matrix import MASKS, sentinel

pytestmark = pytest.mark.gpu
COUNT = 32 * len(MASKS)


@cuda.jit
def collectives(masks, x, total, largest, before, neighbour):
    """Sum, largest, exclusive sum and the value of the lane above, in bfloat16."""
    i = cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        v = bfloat16(x[i])
        total[i] = np.float32(wk.warp_active_sum(v))
        largest[i] = np.float32(wk.warp_active_max(v))
        before[i] = np.float32(wk.warp_prefix_sum(v))
        neighbour[i] = np.float32(wk.warp_rotate(v, 0))


def test_bfloat16_is_summed_compared_scanned_and_moved():
    x = -np.random.default_rng(70).integers(1, 8, COUNT).astype(np.float32)  # sums of small integers are exact to 256
    out = [sentinel(np.float32, COUNT) for _ in range(4)]
    rules = [
        lambda items: [fold(np.add, items)] * len(items),
        lambda items: [fold(np.maximum, items)] * len(items),
        lambda items: exclusive(np.add, items, np.float32(0)),
        lambda items: items,
    ]
    expected = [
        reference.over(MASKS, 32, lambda warp, lanes, rule=rule: rule(at(x, warp, lanes)), column.copy())
        for rule, column in zip(rules, out)
    ]
    kernels.launch(collectives, MASKS, x, *out)
    for got, right in zip(out, expected):
        assert_same(got, right)
