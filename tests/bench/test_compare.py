"""Comparing two records: bands of noise, what differs between the runs, and files that hold no record."""

import io
import json

import pytest
from rich.console import Console

from bench import compare

pytestmark = pytest.mark.everywhere


def record(rows, **known):
    """Return a record of one suite."""
    rows = [{"case": case, "ours": ours, "unit": "µs", "noise": noise} for case, ours, noise in rows]
    return {"environment": {"gpu": {"name": "H200"}, "versions": {}} | known, "suites": {"arrays": {"rows": rows}}}


def compared(tmp_path, a, b):
    """Return the status and what is printed."""
    paths = []
    for name, content in (("a.json", a), ("b.json", b)):
        paths.append(tmp_path / name)
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    out = io.StringIO()
    return compare.main(*map(str, paths), console=Console(file=out, width=160)), out.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "noise", "verdict"),
    [
        (100, 102, 0.0, "same"),
        (100, 98, 0.0, "same"),
        (100, 104, 0.0, "slower"),
        (100, 96, 0.0, "faster"),
        (100, 110, 0.03, "same"),
        (100, 115, 0.03, "slower"),
        (100, 85, 0.03, "faster"),
    ],
)
def test_a_change_counts_outside_of_its_band(before, after, noise, verdict):
    (change,) = compare.changes(record([("sum", before, noise)]), record([("sum", after, noise)]))

    assert change.verdict == verdict


def test_slower_cases_end_in_1_and_come_first(tmp_path):
    before = record([("steady", 10.0, 0.0), ("worse", 10.0, 0.0), ("gone", 1.0, 0.0)])
    after = record([("steady", 10.1, 0.0), ("worse", 12.0, 0.0), ("new", 1.0, 0.0)])

    status, said = compared(tmp_path, before, after)

    assert status == 1
    assert said.index("worse") < said.index("steady")
    assert "only in A: 1 cases" in said
    assert "only in B: 1 cases" in said
    assert "0 faster, 1 same, 1 slower" in said


def test_the_same_twice_ends_in_0(tmp_path):
    one = record([("sum", 10.0, 0.01)])

    assert compared(tmp_path, one, one)[0] == 0


def test_what_makes_it_doubtful_is_said(tmp_path):
    _, said = compared(
        tmp_path, record([("sum", 1.0, 0.0)]), record([("sum", 1.0, 0.0)], gpu={"name": "A100"}, simulated=True)
    )

    assert "not the same in both: gpu: H200 → A100" in said
    assert "not the same in both: simulated: False → True" in said


@pytest.mark.parametrize(
    ("content", "sentence"), [("{", "a.json is no JSON file: "), ("[]", "a.json is no record of this command: ")]
)
def test_a_file_without_a_record_ends_in_2(tmp_path, capsys, content, sentence):
    assert compared(tmp_path, content, record([]))[0] == 2
    assert sentence in capsys.readouterr().err


def test_a_missing_file_ends_in_2(capsys):
    assert compare.main("no such file", "nor this") == 2
    assert capsys.readouterr().err == "no such file cannot be read: No such file or directory.\n"
