"""Transposes against NumPy: items of 1 to 16 bytes, odd extents, strides on both sides, refusals, prepared calls."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.room import large
from tests.warp.matrix import COMPLEX, REALS, SIMULATOR, label
from warpkit import device

from .reductions import to_device

SMALL = device.TransposePolicy(128, 32)
POLICIES = [SMALL] if SIMULATOR else [None, SMALL, device.TransposePolicy(256, 64)]
SHAPES = [(1, 1), (1, 70), (70, 1), (33, 31), (32, 64), (48, 80)]
if not SIMULATOR:
    SHAPES += [(1000, 1000), (1024, 2048), (3, 70_001), (70_001, 3), (4099, 513)]
RECORDS = [
    np.dtype([("a", "u1"), ("b", "<u2")]),
    np.dtype("u4,f4,i4"),
    np.dtype({"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [0, 8], "itemsize": 16}),
    np.dtype("f8,f8"),
]


def matrix(shape, dtype, seed=1):
    """Return a matrix in which every item differs from its neighbours."""
    count, dtype = int(np.prod(shape)), np.dtype(dtype)
    if dtype == np.bool_:
        return np.random.default_rng(seed).random(shape) < 0.5
    bits = np.random.default_rng(seed).integers(0, 120, count * dtype.itemsize).astype(np.uint8)
    return bits.view(dtype).reshape(shape)


def same_bytes(got, right):
    """Assert that two arrays have the same bytes in C order, holes apart."""
    assert got.dtype == right.dtype
    assert got.shape == right.shape
    for name in right.dtype.names or [...]:
        assert got[name].tobytes() == np.ascontiguousarray(right[name]).tobytes()


@pytest.mark.parametrize("dtype", [np.bool_, *REALS, *COMPLEX, *RECORDS], ids=label)
def test_every_dtype_and_shape(dtype):
    for shape in SHAPES:
        x = matrix(shape, dtype)
        for policy in POLICIES:
            same_bytes(device.transpose(to_device(x), policy=policy).copy_to_host(), x.T)


VIEWS = {
    "columns of a wider matrix": lambda base: base[:, 4:44],
    "some columns": lambda base: base[:, 1:38],
    "every other row": lambda base: base[::2],
    "every third column": lambda base: base[:, ::3],
    "backwards": lambda base: base[::-1, ::-1],
    "in Fortran's order": lambda base: base.T,
    "the same row again": lambda base: np.broadcast_to(base[0], (40, base.shape[1])),
    "one item on": lambda base: base.reshape(-1)[1:-47].reshape(-1, 48),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex64, RECORDS[0]], ids=label)
def test_every_layout(view, dtype):
    x = VIEWS[view](matrix((50, 48), dtype))
    for policy in POLICIES:
        same_bytes(device.transpose(to_device(x), policy=policy).copy_to_host(), x.T)


@pytest.mark.parametrize("way", ["contiguous", "columns", "every other", "Fortran"])
def test_out_in_every_layout_keeps_what_is_between(way):
    x = matrix((40, 36), np.float32)
    memory = np.full((80, 80), 7, np.float32)
    view = {
        "contiguous": lambda base: base.reshape(-1)[: 36 * 40].reshape(36, 40),
        "columns": lambda base: base[3:39, 8:48],
        "every other": lambda base: base[4:76:2, 1::2],
        "Fortran": lambda base: base[20:60, 4:40].T,
    }[way]
    out = to_device(view(memory))
    assert device.transpose(to_device(x), out=out, policy=SMALL) is out
    got = out.memory.copy_to_host().view(np.float32).reshape(80, 80)
    right = memory.copy()
    view(right)[...] = x.T
    np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
def test_nothing(shape):
    assert device.transpose(to_device(np.zeros(shape, np.float32))).shape == shape[::-1]


def test_prepared():
    x = cuda.to_device(matrix((40, 36), np.int32))
    call = wk.prepare(device.transpose, x, policy=SMALL)
    for seed in (2, 3):
        x.copy_to_device(matrix((40, 36), np.int32, seed))
        same_bytes(call().copy_to_host(), matrix((40, 36), np.int32, seed).T)
    other = matrix((36, 40), np.int32, 4)
    with pytest.raises(ValueError, match=r"^transpose: out must have shape"):
        call.bind(x=to_device(other))
    out = cuda.to_device(np.zeros((40, 36), np.int32))
    assert call.bind(x=to_device(other), out=out)() is out
    same_bytes(out.copy_to_host(), other.T)


REFUSED = {
    "one axis": (lambda: device.transpose(to_device(np.zeros(3))), r"^transpose: x must be a device array of two axes"),
    "three axes": (lambda: device.transpose(to_device(np.zeros((1, 2, 3)))), r"^transpose: x must be .* \(1, 2, 3\)"),
    "a number": (lambda: device.transpose(3.0), "^transpose: x must be a device array of two axes"),
    "large items": (
        lambda: device.transpose(to_device(np.zeros((2, 2), "f8,f8,f8"))),
        "^transpose: x has items of 24 bytes .* and 16 are the most",
    ),
    "another shape": (
        lambda: device.transpose(to_device(np.zeros((2, 3))), out=to_device(np.zeros((2, 3)))),
        r"^transpose: out must have shape \(3, 2\), as the result has, not \(2, 3\)",
    ),
    "another dtype": (
        lambda: device.transpose(to_device(np.zeros((2, 3))), out=to_device(np.zeros((3, 2), "f4"))),
        "^transpose: out must be of dtype float64, as x is, not float32",
    ),
    "a policy": (
        lambda: device.transpose(to_device(np.zeros((2, 2))), policy=3),
        "^transpose: policy must be a Transp",
    ),
    "threads": (lambda: device.TransposePolicy(100), "^TransposePolicy: threads must be 128, 256 or 512, not 100"),
    "an edge": (lambda: device.TransposePolicy(edge=48), "^TransposePolicy: edge must be 0, 32, 64 or 128, not 48"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    call, sentence = REFUSED[what]
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_out_that_shares_memory_is_refused():
    x = cuda.to_device(np.zeros((4, 4), np.float32))
    with pytest.raises(TypeError, match=r"^transpose: out shares memory with x"):
        device.transpose(x, out=x)
    with pytest.raises(TypeError, match=r"^transpose: out shares memory with x"):
        device.transpose(x[:2], out=x[:, 1:3])  # no `.T`, which copies on a GPU
    device.transpose(x[:2, :2], out=x[2:, 2:])


@large(5)
def test_more_items_than_32_bits_count():
    rows, columns = 65_536, 32_800
    x = cuda.device_array((rows, columns), np.uint8)
    cuda.cudadrv.driver.device_memset(x, 1, x.nbytes)
    for place in ((0, 0), (rows - 1, columns - 1), (rows - 1, 0), (70, 32_000)):
        x[place[0]][place[1] : place[1] + 1].copy_to_device(np.array([9], np.uint8))
    out = device.transpose(x)
    assert device.count_nonzero(out) == rows * columns
    assert device.sum(out) == rows * columns + 4 * 8
    for row, column in ((0, 0), (rows - 1, columns - 1), (rows - 1, 0), (70, 32_000)):
        assert out[column][row : row + 1].copy_to_host()[0] == 9
