"""Rows, their noise and bandwidth; what a hurried run takes; records; how a suite's process is watched."""

import json
import sys
import types

import pytest

from bench import harness, machine, mode, running, timing
from bench.harness import Report, Row

pytestmark = pytest.mark.everywhere


def test_a_median_knows_how_much_its_repeats_differ():
    taken = timing.Median.of([10.0, 11.0, 12.0, 13.0, 14.0])

    assert taken == 12.0
    assert taken.noise == pytest.approx((13.5 - 10.5) / 2 / 12)
    assert timing.Median.of([1.0, 2.0]).noise is None


def test_a_row_takes_over_the_noise_and_writes_plain_numbers():
    row = Row("sum, 2^10", timing.Median.of([1.0, 2.0, 3.0, 4.0]), timing.Median(4.0), num_bytes=4096, copy=1.0)
    row.peer = timing.Median.of([5.0, 5.0, 5.0, 5.0])

    assert row.noise > row.peer_noise == 0
    assert row.gigabytes == pytest.approx(4096 / 2.5e-6 * 1e-9)
    assert row.ratio == 0.5
    assert all(type(row.record()[name]) is float for name in ("ours", "peer", "copy"))


@pytest.mark.parametrize(("unit", "num_bytes"), [("cycles", 4096), ("µs", None)])
def test_without_bytes_or_time_there_is_no_bandwidth(unit, num_bytes):
    assert Row("case", 2.0, unit=unit, num_bytes=num_bytes).gigabytes is None


@pytest.mark.parametrize("count", [0, 1, 2, 5, 8, 13])
def test_spreading_keeps_every_item_and_begins_everywhere(count):
    spread = mode.spread(list(range(count)))

    assert sorted(spread) == list(range(count))
    assert spread[:2] == [n for n in (0, 8 if count == 13 else count // 2 if count in (2, 8) else 4) if n < count][:2]


def test_a_full_run_takes_all_cases_in_order_and_names_them(capsys):
    assert list(Report("suite").cases("abc", "case {}".format)) == ["a", "b", "c"]
    assert capsys.readouterr().err == "  1/3 case a\n  2/3 case b\n  3/3 case c\n"


@pytest.mark.parametrize("how", ["quick", "simulated"])
def test_a_hurried_run_ends_when_its_time_is_over_and_says_so(monkeypatch, how):
    monkeypatch.setattr(mode.MODE, how, True)
    monkeypatch.setattr(mode, "QUICK_SECONDS", 0.0)
    report = Report("suite")
    mode.MODE.begin()

    assert list(report.cases(range(5))) == [0]
    assert report.notes == ["for want of time only 1 of 5 cases"]


def test_repeats_and_sizes_are_those_of_the_mode(monkeypatch):
    assert mode.Mode().fewer(30, 9) == 30
    assert mode.Mode(quick=True).fewer(30, 9) == 9
    assert mode.Mode(quick=True).fewer(5, 9) == 5
    assert mode.Mode(quick=True, simulated=True).fewer(30, 9, 2) == 2


def test_a_record_is_read_as_it_was_written(tmp_path):
    report = Report("warp", [Row("sum", 2.0, 4.0, unit="cycles", goal=1.0)], ["a note"], ["an error"])
    harness.write_json(tmp_path / "a" / "record.json", {"date": "today"}, [report])
    written = json.loads((tmp_path / "a" / "record.json").read_text(encoding="utf-8"))

    assert written["environment"] == {"date": "today"}
    assert written["suites"]["warp"]["rows"][0]["verdict"] == "met"
    assert Report.from_record("warp", written["suites"]["warp"]) == report


def test_the_environment_says_how_it_was_measured(monkeypatch):
    monkeypatch.setattr(mode.MODE, "simulated", True)
    known = machine.environment()

    assert known["simulated"] is True
    assert "quick" not in known
    assert "times mean nothing" in machine.headline(known)


PROGRAM = "import sys, time; print('  1/2 first\\nodd\\n  File x', file=sys.stderr); time.sleep({}); sys.exit({})"


def test_a_process_is_followed_to_its_end(capsys):
    status, said = running._watched([sys.executable, "-c", PROGRAM.format(0, 3)], None, 60, None, None)

    assert status == 3
    assert said == ["odd", "File x"]
    assert capsys.readouterr().err == "  1/2 first\n"


def test_a_process_that_takes_too_long_is_ended():
    status, _ = running._watched([sys.executable, "-c", PROGRAM.format(60, 0)], None, 0.5, None, None)

    assert status is None


def test_the_progress_bar_is_told_of_each_step():
    told = []
    bar = types.SimpleNamespace(update=lambda task, **what: told.append((task, what)))

    running._follow(["  2/5 a case\n", "  no number\n", "noise\n"], said := [], bar, 7)

    assert told == [
        (7, {"what": "a case", "completed": 1, "total": 5}),
        (7, {"what": "no number", "completed": 0, "total": None}),
    ]
    assert said == ["noise"]
