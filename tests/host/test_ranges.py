"""What a range means, against Python's own `range`, and the numbers with which kernels divide, against divmod."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpkit.host.ranges import Range, dimensions_of, num_items
from warpkit.host.ranges_walk import divisor, walk_of

pytestmark = pytest.mark.everywhere
INT64 = 1 << 63


def indices(dimensions):
    """Return the indices of a range in order, by Python's `range`."""
    return list(itertools.product(*(range(d.begin, d.begin + d.step * d.length, d.step) for d in dimensions)))


def test_every_small_range_is_pythons():
    for begin, end, step in itertools.product(range(-7, 8), range(-7, 8), (-3, -2, -1, 1, 2, 3)):
        expected = [(i,) for i in range(begin, end, step)]
        for form in (range(begin, end, step), Range(begin, end, step), ((begin, end, step),)):
            assert indices(dimensions_of(form)) == expected
        assert num_items(dimensions_of(Range(begin, end, step))) == len(expected)


ENDS = st.one_of(st.integers(-50, 50), st.integers(-INT64, INT64 - 1))


@given(ENDS, ENDS, st.one_of(st.integers(-9, 9), st.integers(-INT64, INT64 - 1)).filter(bool))
def test_counts_and_ends_of_any_range_are_pythons(begin, end, step):
    expected = range(begin, end, step)
    count = max(0, (end - begin + step + (-1 if step > 0 else 1)) // step)
    if count > INT64:
        with pytest.raises(ValueError, match=r"2\*\*63"):
            dimensions_of(expected)
        return
    (dimension,) = dimensions_of(expected)
    assert dimension.length == count
    if count:
        assert (dimension.begin, dimension.last) == (expected[0], expected[-1])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, [range(5)]),
        (0, [range(0)]),
        (-3, [range(0)]),
        (np.int32(4), [range(4)]),
        (np.uint64(3), [range(3)]),
        (True, [range(1)]),
        (range(3, 5), [range(3, 5)]),
        (range(10, 0, -1), [range(10, 0, -1)]),
        ((3, 5), [range(3), range(5)]),
        ((7,), [range(7)]),
        ((range(2, 9, 3), 4), [range(2, 9, 3), range(4)]),
        (((1, 4), (2, 7, 3), range(2), 2), [range(1, 4), range(2, 7, 3), range(2), range(2)]),
        ((Range(1, 6, 2), np.int64(2)), [range(1, 6, 2), range(2)]),
        (Range(3, 10, 2), [range(3, 10, 2)]),
        (Range(3, 5), [range(3, 5)]),
        (Range((1, 2, 3), (4, 7, 8), (2, 3, 2)), [range(1, 4, 2), range(2, 7, 3), range(3, 8, 2)]),
        (Range([0, 0], [2, 3], [1, 1]), [range(2), range(3)]),
        (Range(0, (2, 4), 1), [range(2), range(4)]),
        (Range(4, (0, 1), -1), [range(4, 0, -1), range(4, 1, -1)]),
    ],
    ids=repr,
)
def test_every_way_to_write_a_range(given, expected):
    assert indices(dimensions_of(given)) == list(itertools.product(*expected))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Range(0, 5, 0), ValueError, "step 0"),
        (lambda: dimensions_of((3, (0, 5, 0))), ValueError, "step 0"),
        (lambda: Range(5, 0, 0), ValueError, "step 0"),
        (lambda: Range((0, 0), (0, 5), (1, 0)), ValueError, "step 0"),
        (lambda: Range(0, 5, "2.0"), TypeError, "'2.0' (str)"),
        (lambda: Range(0, 5, 2.0), TypeError, "2.0 (float)"),
        (lambda: dimensions_of(5.0), TypeError, "5.0 (float)"),
        (lambda: dimensions_of((5, 5.0)), TypeError, "5.0 (float)"),
        (lambda: dimensions_of(None), TypeError, "None (NoneType)"),
        (lambda: dimensions_of("5"), TypeError, "'5' (str)"),
        (lambda: dimensions_of([3, 5]), TypeError, "(list)"),
        (lambda: dimensions_of(np.zeros(3)), TypeError, "(ndarray)"),
        (lambda: dimensions_of(()), ValueError, "1 to 4 dimensions, not 0"),
        (lambda: dimensions_of((1, 2, 3, 4, 5)), ValueError, "1 to 4 dimensions, not 5"),
        (lambda: Range((), (), ()), ValueError, "1 to 4 dimensions, not 0"),
        (lambda: dimensions_of(((1, 2, 3, 4), 5)), ValueError, "(1, 2, 3, 4)"),
        (lambda: dimensions_of((((1, 2), 3),)), TypeError, "(1, 2)"),
        (lambda: dimensions_of((Range((1, 2), (3, 4), 1), 2)), ValueError, "Range((1, 2), (3, 4)"),
        (lambda: Range((0, 0), (3, 4, 5), 1), ValueError, "2 for begin and 3 for end"),
        (lambda: dimensions_of(INT64 + 1), ValueError, "2**63"),
        (lambda: dimensions_of((1 << 32, 1 << 32)), ValueError, "2**63"),
        (lambda: dimensions_of((3, INT64 // 2)), ValueError, "2**63"),
        (lambda: dimensions_of(range(INT64, INT64 + 2)), ValueError, "int64"),
        (lambda: dimensions_of(range(-INT64, -INT64 - 3, -1)), ValueError, "int64"),
    ],
    ids=map(str, range(24)),
)
def test_what_is_no_range_is_refused_in_one_sentence(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_true_counts_as_one_and_a_float_never_as_an_integer_seen_before():
    assert num_items(dimensions_of(1)) == 1
    assert num_items(dimensions_of((1, 2))) == 2
    for wrong in (1.0, (1, 2.0), (1.0, 2)):
        with pytest.raises(TypeError):
            dimensions_of(wrong)


@pytest.mark.parametrize("given", [(0, 1 << 62, 1 << 62), (1 << 62, 1 << 62, 0), (range(1 << 70), 0), (INT64 + 5, -1)])
def test_an_empty_dimension_is_seen_before_the_product_overflows(given):
    assert num_items(dimensions_of(given)) == 0


@pytest.mark.parametrize(
    "given",
    [
        range(INT64 - 3, INT64 - 1),
        range(INT64 - 3, INT64),
        range(INT64 - 8, INT64 + 2, 5),
        range(-INT64 + 2, -INT64 - 1, -1),
        range(-INT64, INT64, INT64 - 1),
        range(-INT64, INT64, 2 * INT64 - 1),
        range(INT64 - 1, -INT64 - 1, 1 - 2 * INT64),
        range(7, 8, 1 << 80),
        range(2**31 - 2, 2**31),
        range(2**32 - 2, 2**32),
        range(2**32 - 2, 2**32 + 3),
        range(-2, 2),
    ],
    ids=str,
)
def test_a_range_up_to_the_last_index_of_its_type(given):
    dimensions = dimensions_of(given)
    walk = walk_of(dimensions)
    begin, step = (int(number) for number in walk.steps)
    span = 1 << (32 if walk.steps[0].dtype == np.uint32 else 64)
    got = [(begin + step * k) % span for k in range(dimensions[0].length)]
    assert [n - span if walk.steps[0].dtype == np.int64 and n >= INT64 else n for n in got] == list(given)


def test_equal_ranges_are_equal_and_say_what_they_are():
    assert Range(0, 10, 3) == Range(0, 12, 3)
    assert hash(Range(0, 10, 3)) == hash(Range(0, 12, 3))
    assert Range(0, 10, 3) != Range(0, 13, 3)
    assert Range(0, 10, 3) != range(0, 10, 3)
    assert eval(repr(Range((1, 2), (4, 7), (2, 3)))) == Range((1, 2), (4, 7), (2, 3))
    assert repr(Range(1, 5)) == "Range(1, 5, 1)"


# ------------------------------------------------------------------ dividing by a product


def divided(number, magic, shift, bits):
    """Divide as a kernel does."""
    assert 0 <= 2 * number < 1 << bits
    return (2 * number * magic >> bits) >> shift


def extents(bits):
    """Return extents around every power of two, small ones, and some in between."""
    around = {max(1, (1 << k) + d) for k in range(bits) for d in (-2, -1, 0, 1, 2)}
    between = {int(x) for x in np.random.default_rng(bits).integers(1, 1 << (bits - 2), 200)}
    return sorted(n for n in around | between | set(range(1, 130)) if n <= 1 << (bits - 1))


@pytest.mark.parametrize("bits", [32, 64])
def test_dividing_is_exact_at_every_boundary(bits):
    most = (1 << (bits - 1)) - 1
    for extent in extents(bits):
        magic, shift = divisor(extent, bits)
        assert 0 < magic < 1 << bits
        assert 0 <= shift < bits
        last = most // extent
        multiples = {0, 1, 2, 3, last, last - 1, last // 2, last // 3} | {1 << k for k in range(0, bits, 5)}
        for multiple in multiples:
            for number in (multiple * extent - 1, multiple * extent, multiple * extent + 1, most):
                if 0 <= number <= most:
                    assert divided(number, magic, shift, bits) == number // extent, (number, extent)


def test_dividing_is_exact_for_every_small_number_and_extent():
    numbers = np.arange(1 << 16, dtype=np.uint64)
    for extent in [*range(1, 300), 4095, 4096, 4097, 65535]:
        magic, shift = divisor(extent, 32)
        assert ((2 * numbers * np.uint64(magic) >> 32) >> np.uint64(shift) == numbers // np.uint64(extent)).all()


@given(st.sampled_from([32, 64]), st.data())
def test_dividing_is_exact(bits, data):
    extent = data.draw(st.integers(1, 1 << (bits - 1)))
    number = data.draw(st.integers(0, (1 << (bits - 1)) - 1))
    assert divided(number, *divisor(extent, bits), bits) == number // extent


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=4), st.data())
def test_an_items_number_becomes_its_coordinates(counts, data):
    walk = walk_of(dimensions_of(tuple(counts)))
    bits = 8 * np.dtype(walk.word).itemsize
    assert bits == (32 if math.prod(counts) <= 1 << 31 else 64)
    number = data.draw(st.integers(0, walk.num_items - 1))
    quotients = [divided(number, int(m), int(s), bits) for m, s in zip(walk.numbers[::3], walk.numbers[1::3])]
    minus = [int(n) for n in walk.numbers[2::3]]
    place = [(a + b * m) % (1 << bits) for a, b, m in zip([*quotients[1:], number], quotients, minus)]
    assert tuple([*quotients[:1], *place] if quotients else [number]) == np.unravel_index(number, counts)


def test_narrow_numbers_where_they_fit_and_no_further():
    assert walk_of(dimensions_of(1 << 31)).word is np.uint32
    assert walk_of(dimensions_of((1 << 31) + 1)).word is np.uint64
    assert walk_of(dimensions_of((1 << 16, 1 << 15))).word is np.uint32
    assert walk_of(dimensions_of((1 << 16, (1 << 15) + 1))).word is np.uint64
    assert walk_of(dimensions_of(INT64)).num_items == INT64
    assert walk_of(dimensions_of((3, 4))).steps == ()
    assert walk_of(dimensions_of((3, range(1)))).steps == ()
    assert {type(n) for n in walk_of(dimensions_of((3, range(1, 5, 3)))).steps} == {np.uint32}
    assert {type(n) for n in walk_of(dimensions_of((3, range(4, -1, -3)))).steps} == {np.uint32}
    assert {type(n) for n in walk_of(dimensions_of((3, range(4, -3, -3)))).steps} == {np.int64}
    assert {type(n) for n in walk_of(dimensions_of((3, range(2**32 - 3, 2**32 + 3, 3)))).steps} == {np.int64}
