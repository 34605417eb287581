"""The usual case of a scalar's operators, spelled out for each: the other side's type has been met before.

Every step of a simulated thread goes through these, so they are as short as Python can be: one look for the results
(`known`, by the type of the other side) and one into them, by value. `slow` does what is not known.
"""

from operator import index


class Known(dict):
    """Results (a Numbers) by the type of the other side; None where there is a longer way."""

    def __missing__(self, kind):
        return None


def _arithmetic(number):
    """Return methods by (operator, whether the sides are swapped); `number` makes the sides Python's numbers."""
    return {
        ("add", False): lambda known, slow: (
            lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[number(a) + number(b)]
        ),
        ("sub", False): lambda known, slow: (
            lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[number(a) - number(b)]
        ),
        ("sub", True): lambda known, slow: (
            lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[number(b) - number(a)]
        ),
        ("mul", False): lambda known, slow: (
            lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[number(a) * number(b)]
        ),
    }


_WHOLE = {
    ("and_", False): lambda known, slow: (
        lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[index(a) & index(b)]
    ),
    ("or_", False): lambda known, slow: (
        lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[index(a) | index(b)]
    ),
    ("xor", False): lambda known, slow: (
        lambda a, b: slow(a, b) if (found := known[type(b)]) is None else found[index(a) ^ index(b)]
    ),
    ("rshift", False): lambda known, slow: (
        lambda a, b: (
            slow(a, b) if (found := known[type(b)]) is None or not 0 <= (by := index(b)) < 64 else found[index(a) >> by]
        )
    ),
    ("lshift", False): lambda known, slow: (
        lambda a, b: (
            slow(a, b) if (found := known[type(b)]) is None or not 0 <= (by := index(b)) < 64 else found[index(a) << by]
        )
    ),
    ("floordiv", False): lambda known, slow: (
        lambda a, b: slow(a, b) if (found := known[type(b)]) is None or not (by := index(b)) else found[index(a) // by]
    ),
    ("mod", False): lambda known, slow: (
        lambda a, b: slow(a, b) if (found := known[type(b)]) is None or not (by := index(b)) else found[index(a) % by]
    ),
}
INTEGERS, FLOATS = _arithmetic(index) | _WHOLE, _arithmetic(float)

# By name: what makes the sides numbers, the types for which it does, what compares other ones.
COMPARED = {
    "lt": lambda number, kinds, slow: lambda a, b: number(a) < number(b) if type(b) in kinds else slow(a, b),
    "le": lambda number, kinds, slow: lambda a, b: number(a) <= number(b) if type(b) in kinds else slow(a, b),
    "eq": lambda number, kinds, slow: lambda a, b: number(a) == number(b) if type(b) in kinds else slow(a, b),
    "ne": lambda number, kinds, slow: lambda a, b: number(a) != number(b) if type(b) in kinds else slow(a, b),
    "ge": lambda number, kinds, slow: lambda a, b: number(a) >= number(b) if type(b) in kinds else slow(a, b),
    "gt": lambda number, kinds, slow: lambda a, b: number(a) > number(b) if type(b) in kinds else slow(a, b),
}
