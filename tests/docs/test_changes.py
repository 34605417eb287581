"""The page of what advice is worth: every claim of a record once, with its reason; what other suites have measured."""

import json

import pytest

from bench import claim_lists, claim_ranges, claims
from docs.generate import changes, figures

pytestmark = pytest.mark.everywhere

NAMES = [
    *(claim.name for claim in claims.CLAIMS),
    *(queue[0] for queue in claims.QUEUES),
    *(pair.name for pair in (*claim_lists.pairs(), *claim_ranges.pairs())),
    "memory note: upload from pageable → pinned memory",
]
KNOWN = {"date": "2026-01-01T00:00", "gpu": {"name": "A", "driver_version": "1"}, "nvcc": None, "versions": {}}


def keep(folder, suite, rows):
    """Write a record of one suite."""
    content = {"rows": rows, "notes": [], "errors": ["one: is missing"]}
    record = {"environment": KNOWN, "suites": {suite: content}}
    (folder / f"2026-01-01-a-{suite}.json").write_text(json.dumps(record), encoding="utf-8")


def row(name, ratio):
    """Return a row as a record has it."""
    return {"case": name, "ours": 100 * ratio, "peer": 100.0, "unit": "µs", "ratio": ratio, "note": "For a reason."}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return the page of a record in which the first claim does not hold."""
    keep(tmp_path, "claims", [row(name, 0.5 if number else 1.5) for number, name in enumerate(NAMES)])
    keep(tmp_path, "parallel_for", [row("copy 2M, 1-D", 0.9), row("sum", 0.9)])
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    return changes.page()


def test_every_claim_stands_there_once(page):
    for name in NAMES:
        assert page.count(f"| {name} | 100 | ") == 1
    assert page.count("For a reason.") == len(NAMES)
    assert "- not measured: one: is missing" in page


def test_a_claim_that_does_not_hold_is_said_not_to(page):
    assert page.count("**Does not hold here.** For a reason.") == 1


def test_other_suites_say_more(page):
    assert page.index("## Loops over ranges") < page.index("| copy 2M, 1-D | 90 | 100 | µs | ")
    assert "| sum |" not in page
    assert "Lists beside" not in page


def test_the_patterns_find_cases_of_the_records_that_are_kept():
    records = figures.newest()
    for entries in changes.ELSEWHERE.values():
        for entry in entries:
            assert changes.others(*entry, records), entry


def test_without_a_record_of_claims_the_rest_is_there(tmp_path, monkeypatch):
    keep(tmp_path, "parallel_for", [row("copy 2M, 1-D", 0.9)])
    monkeypatch.setattr(figures, "RESULTS", tmp_path)

    assert "| copy 2M, 1-D |" in changes.page()
