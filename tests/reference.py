"""The meaning of the collectives in plain Python and NumPy: lists of lanes, folds from left to right.

Nothing here knows warpkit. Integers wrap in their own width, floats are combined in their own precision; where float
results must be equal bit for bit, the tests feed values whose every partial result is exact.
"""

import numpy as np

WARP = 32


def participants(mask, width=WARP, lane=0):
    """Return the lanes of `mask` in the group of `width` lanes that holds `lane`, ascending."""
    start = lane - lane % width
    return [k for k in range(start, start + width) if int(mask) >> k & 1]


def groups(mask, width=WARP):
    """Return the non-empty groups of a warp: lists of lanes."""
    found = (participants(mask, width, start) for start in range(0, WARP, width))
    return [lanes for lanes in found if lanes]


def over(masks, width, rule, out):
    """Fill `out` for the participants: `rule(warp, lanes)` gives one result per lane of a group; others keep theirs."""
    with np.errstate(all="ignore"):
        for warp, mask in enumerate(masks):
            for lanes in groups(mask, width):
                for lane, result in zip(lanes, rule(warp, lanes), strict=True):
                    out[warp * WARP + lane] = result
    return out


def at(values, warp, lanes):
    """Return the values of these lanes of a warp."""
    return [values[warp * WARP + lane] for lane in lanes]


# ------------------------------------------------------------------ folds over a list, in order


def fold(op, items):
    """Combine a non-empty list from left to right."""
    total = items[0]
    for item in items[1:]:
        total = op(total, item)
    return total


def inclusive(op, items):
    """Return the running folds."""
    out = [items[0]]
    for item in items[1:]:
        out.append(op(out[-1], item))
    return out


def exclusive(op, items, start):
    """Return `start` and the running folds onto it, the last one left out."""
    out = [start]
    for item in items[:-1]:
        out.append(op(out[-1], item))
    return out


def backwards(scan):
    """Turn a scan of a list into the scan from its end: reverse(scan(reverse(x))), exactly."""
    return lambda op, items, *start: scan(op, items[::-1], *start)[::-1]


def segments(flags, tail=False):
    """Cut positions 0..n-1 where a head stands (before it) or a tail (after it); return lists of positions."""
    cut, out = True, []
    for position, flag in enumerate(flags):
        if cut or (flag and not tail):
            out.append([])
        out[-1].append(position)
        cut = bool(flag) and tail
    return out


def segmented(op, items, flags, tail=False):
    """Return, for each position, the fold of its segment."""
    return [fold(op, [items[p] for p in part]) for part in segments(flags, tail) for _ in part]


# ------------------------------------------------------------------ operators in a dtype's own arithmetic


def minimum(a, b):
    """Return the smaller: NaN wins, −0.0 < +0.0."""
    if a != a or b != b:
        return a if a != a else b
    return a if (a, not np.signbit(a)) < (b, not np.signbit(b)) else b


def maximum(a, b):
    """Return the larger: NaN wins, −0.0 < +0.0."""
    if a != a or b != b:
        return a if a != a else b
    return b if (a, not np.signbit(a)) < (b, not np.signbit(b)) else a


OPS = {
    "sum": np.add,
    "product": np.multiply,
    "min": minimum,
    "max": maximum,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
}


def identity(name, dtype):
    """Return the value that `name` combines with any other to that other."""
    dtype = np.dtype(dtype)
    if name in ("sum", "bit_or", "bit_xor"):
        return dtype.type(0)
    if name == "product":
        return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(np.inf if name == "min" else -np.inf)
    if name == "bit_and":
        return ~dtype.type(0)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if name == "min" else limits.min)


# ------------------------------------------------------------------ comparing


def bits(array):
    """Return an array's bytes as unsigned integers, so that −0.0 and NaN payloads count; NaNs made equal first."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
        return array.view(f"u{array.dtype.itemsize}")
    return array


def assert_same(got, expected, what=""):
    """Assert that two arrays agree bit for bit (any NaN equals any NaN; complex by value), and show where not."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    wrong = np.flatnonzero(bits(got) != bits(expected))
    first = [(int(i), got[i], expected[i]) for i in wrong[:5]]
    assert not len(wrong), f"{what}: {len(wrong)} of {len(got)} differ; (index, got, expected): {first}"
