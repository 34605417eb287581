"""parallel_reduce: operators in any order and in order."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest

import warpkit as wk
from tests.host.loops import device, device_function
from tests.host.test_parallel_reduce import BODIES
from warpkit.host.ranges import dimensions_of


def test_operators_of_python_and_numpy_stand_for_warpkits():
    x = np.random.default_rng(9).integers(1, 3, 40)
    y = device(x)
    for op, init, expected in [
        (operator.mul, 1, x.prod()),
        (np.maximum, -5, 2),
        (min, 99, 1),
        (wk.bit_or, 0, 3),
        (operator.xor, 0, np.bitwise_xor.reduce(x)),
    ]:
        assert wk.parallel_reduce(40, lambda i, x: x[i], op, init, y) == expected


def test_floats_propagate_nan_by_warpkits_operators():
    x = np.arange(100.0)
    assert wk.parallel_reduce(100, lambda i, x: x[i], wk.maximum, -math.inf, device(x)) == 99
    x[37] = math.nan
    assert math.isnan(wk.parallel_reduce(100, lambda i, x: x[i], wk.maximum, -math.inf, device(x)))
    assert wk.parallel_reduce(100, lambda i, x: x[i], max, -math.inf, device(x)) == 99


def test_init_comes_once_and_decides_no_dtype():
    result = wk.parallel_reduce(3000, lambda i: np.float32(1), wk.add, 100)
    assert (result, result.dtype) == (3100, np.float32)
    later = device_function(lambda a, b: b)
    assert wk.parallel_reduce(3000, lambda i: i, later, -7) == 2999
    first = device_function(lambda a, b: a)
    assert wk.parallel_reduce(3000, lambda i: i, first, -7) == -7


def test_an_init_is_told_from_an_equal_one_of_another_type():
    assert wk.parallel_reduce(10, BODIES[0], max, 1) == 9
    with pytest.raises(wk.Refused, match=r"init 1\.0 does not go into int64"):
        wk.parallel_reduce(10, BODIES[0], max, 1.0)


PRIME = 1_000_003


def affine(i, x):
    """Return the map x -> a·x + b as (a, b)."""
    return x[i] % 97 + 1, x[i]


def compose(earlier, later):
    """Apply `earlier`, then `later`: associative, not commutative."""
    return earlier[0] * later[0] % PRIME, (earlier[1] * later[0] + later[1]) % PRIME


@pytest.mark.parametrize("items", [1, 3, 4, 5, 31, 127, 128, 129, 500, 1024, 1025, 2500, 4100])
def test_any_operator_is_called_in_order_on_items_that_exist(items):
    x = np.random.default_rng(items).integers(0, PRIME, items)
    maps = [(int(v) % 97 + 1, int(v)) for v in x]
    expected = functools.reduce(compose, maps, (3, 5))
    assert wk.parallel_reduce(items, affine, compose, (3, 5), device(x)) == expected


def spell(earlier, later):
    """Join two words, each (31 to the power of its length, its hash): associative, not commutative."""
    return earlier[0] * later[0] % PRIME, (earlier[1] * later[0] + later[1]) % PRIME


LETTERS = {
    2: lambda i, j: (31, 1000 * i + j),
    3: lambda i, j, k: (31, 1000 * i + 100 * j + k),
    4: lambda i, j, k, m: (31, 1000 * i + 100 * j + 10 * k + m),
}


@pytest.mark.parametrize("shape", [(7, 200), (3, 5, 90), (range(20, 0, -1), 2, 6, 7)], ids=str)
def test_the_order_is_that_of_the_range(shape):
    ranges = [range(d.begin, d.begin + d.step * d.length, d.step) for d in dimensions_of(shape)]
    letter = LETTERS[len(ranges)]
    word = [letter(*place) for place in itertools.product(*ranges)]
    assert wk.parallel_reduce(shape, letter, spell, (1, 0)) == functools.reduce(spell, word, (1, 0))


def test_an_operator_may_capture_arrays_and_numbers():
    weights, x = device(np.array([2.0, 0.5])), device(np.arange(300.0))

    def weigh(a, b):
        return a + b * weights[0] * weights[1]

    assert wk.parallel_reduce(300, lambda i: x[i], weigh, 0.0) == sum(range(300))


def test_an_operator_is_a_device_function_or_a_lambda():
    body = BODIES[0]
    for op in (lambda a, b: a + b, device_function(lambda a, b: a + b)):
        assert wk.parallel_reduce(1000, body, op, 0) == sum(range(1000))
