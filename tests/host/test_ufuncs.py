"""NumPy's ufuncs in bodies, transforms and kernels: what they give is what NumPy gives."""

import numpy as np
import pytest

import warpkit as wk
from warpkit.simt import machine

INTEGERS = np.array([-(2**31), -7, -3, -1, 0, 1, 2, 5, 9, 2**31 - 1], np.int32)
FLOATS = np.array([-np.inf, -7.5, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 1.5, 3.75, 40.0, np.inf, np.nan], np.float32)
SMALL = np.array([0.0, 0.125, 0.5, 1.0, 2.0, 3.5, 11.0])
COMPLEX = np.array([3 + 4j, -1 - 1j, 0.5j, 2], np.complex128)
EVERYWHERE = (np.absolute, np.positive, np.negative, np.square, np.isfinite, np.isinf)
ROUNDING = (np.floor, np.ceil, np.trunc)

UNARY = [
    *[(ufunc, x) for ufunc in (*EVERYWHERE, *ROUNDING, np.sign) for x in (INTEGERS, FLOATS)],
    *[(ufunc, COMPLEX) for ufunc in EVERYWHERE],
    *[(ufunc, SMALL) for ufunc in (np.sqrt, np.exp, np.exp2, np.expm1, np.log1p, np.fabs, np.reciprocal)],
    *[(ufunc, SMALL.astype(np.float32)) for ufunc in (np.sqrt, np.exp, np.sin, np.log)],
    (np.signbit, FLOATS),
    (np.sqrt, np.arange(5)),
]
BINARY = [
    *[(ufunc, x) for ufunc in (np.add, np.subtract, np.multiply) for x in (INTEGERS, FLOATS, COMPLEX)],
    *[(ufunc, INTEGERS) for ufunc in (np.remainder, np.floor_divide)],
    *[(ufunc, FLOATS) for ufunc in (np.copysign, np.fmod)],
    (np.power, SMALL),
]


def named(case):
    """Return a name for a case."""
    return case.__name__ if isinstance(case, np.ufunc) else str(case.dtype)


def check(ours, theirs):
    """Compare; functions of math differ in the last places."""
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-6 if theirs.dtype.itemsize < 8 else 1e-14, equal_nan=True)
    if theirs.dtype.kind == "f":
        finite = np.isfinite(theirs)  # zeros have signs; NaNs have any
        np.testing.assert_array_equal(np.signbit(ours[finite]), np.signbit(theirs[finite]))


@pytest.mark.parametrize(("ufunc", "values"), UNARY, ids=named)
@np.errstate(all="ignore")
def test_of_one_number(ufunc, values):
    expected = ufunc(values)
    x, y = machine.to_device(values), machine.to_device(np.zeros(values.shape, expected.dtype))

    def body(i, x, y):
        y[i] = ufunc(x[i])

    wk.parallel_for(len(values), body, x, y)
    check(y.copy_to_host(), expected)


@pytest.mark.parametrize(("ufunc", "values"), BINARY, ids=named)
@np.errstate(all="ignore")
def test_of_two_numbers(ufunc, values):
    a, b = (part.ravel() for part in np.meshgrid(values, values))
    if ufunc in (np.remainder, np.floor_divide):  # what has no result, or overflows, is nobody's promise
        a, b = a[(b != 0) & (b != -1)], b[(b != 0) & (b != -1)]
    expected = ufunc(a, b)
    x, y, z = machine.to_device(a), machine.to_device(b), machine.to_device(np.zeros(a.shape, expected.dtype))

    def body(i, x, y, z):
        z[i] = ufunc(x[i], y[i])

    wk.parallel_for(len(a), body, x, y, z)
    ours = z.copy_to_host()
    if expected.dtype.kind == "f":  # which zero and which NaN is nobody's promise
        ours, expected = ours + 0.0, expected + 0.0
        ours[np.isnan(ours)] = expected[np.isnan(expected)] = np.nan
    check(ours, expected)


@pytest.mark.parametrize("ufunc", [np.absolute, np.sqrt, np.square, np.negative], ids=named)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float16])
def test_as_transforms(ufunc, dtype):
    values = np.arange(1, 50).astype(dtype)
    total = wk.device.transform_reduce(machine.to_device(values), ufunc, wk.add)
    np.testing.assert_allclose(total, ufunc(values.astype(np.float64)).sum(), rtol=1e-5)
