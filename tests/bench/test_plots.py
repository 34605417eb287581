"""What the pictures show, before they are drawn: building the site draws them."""

import json

import pytest

from bench import plots

pytestmark = pytest.mark.everywhere


def row(case, ours, peer=None, **more):
    """Return a row as it is recorded."""
    return {"case": case, "ours": ours, "unit": "µs"} | ({"peer": peer, "ratio": ours / peer} if peer else {}) | more


def test_curves_are_the_cases_of_several_sizes():
    rows = [row(f"sum, 2^{n}; peer: CUB", 1.0, 2.0, num_bytes=4 << n, copy=0.5) for n in (20, 10, 15)]
    rows += [row("sum float32 2^1", 1.0, num_bytes=8), row("max, 2^10", 1.0, num_bytes=4096), row("other", 1.0)]

    found = plots.curves(rows)

    assert list(found) == ["sum; peer: CUB"]
    assert [num_bytes for num_bytes, _ in found["sum; peer: CUB"]] == [4 << 10, 4 << 15, 4 << 20]
    assert found["sum; peer: CUB"][0][1] == pytest.approx([4.096, 2.048, 8.192])


def test_code_of_others_is_not_compared():
    rows = [row("prepared, numba", 1.0, 2.0), row("numba's own launch, numba", 9.0, 2.0), row("alone", 3.0)]

    assert plots.compared(rows) == rows[:1]


def test_the_newest_record_of_a_suite_counts(tmp_path):
    for day, value in (("2026-01-02", 2), ("2026-01-01", 1)):
        content = {"environment": {}, "suites": {"warp": {"rows": [row("sum", value)]}}}
        (tmp_path / f"{day}-gpu-warp.json").write_text(json.dumps(content), encoding="utf-8")

    assert plots.newest(tmp_path)["suites"]["warp"]["rows"][0]["ours"] == 2


@pytest.mark.parametrize("mark", [0.5, 1, 2])
def test_marks_are_where_the_ratios_are(mark):
    assert plots.inside(mark, [[0.4, 0.9], [2.5]])
    assert not plots.inside(50 * mark, [[0.4, 0.9], [2.5]])
