"""Both sides of every claim give NumPy's result."""

import numpy as np
import pytest

from bench import claim_pairs, claims, harness, mode
from bench.__main__ import main
from tests.warp.matrix import SIMULATOR


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.name)
def test_both_sides_agree_with_numpy(claim, monkeypatch):
    size = 4096 if claim.square else max(1024, claim_pairs.BLOCK * claim.columns)
    if SIMULATOR:
        monkeypatch.setattr(claims.kernels, "ROUNDS", 2)
    x = claims.shaped(claim, claims.values(size))
    expected = claim.expected(x)
    for kernel, grid, arranged in claims.sides(claim, size):
        out = np.full(expected.shape, -1, expected.dtype)
        kernel[grid, claim.block](x, out)

        assert (arranged(out) == expected).all()


NOT_KERNELS = [name for name, _ in claims.parts()[len(claims.CLAIMS) :]]


@pytest.mark.parametrize("name", NOT_KERNELS)
def test_the_other_parts_run_at_small_sizes(name, monkeypatch):
    monkeypatch.setattr(mode.MODE, "simulated", True)
    report = harness.Report("claims")
    dict(claims.parts())[name](report)

    assert report.rows
    assert all(row.ours > 0 < row.peer for row in report.rows)


def test_a_queue_with_other_items_is_found():
    x = np.array([0, 3, 511, 3], np.int32)

    assert claims.same_items(x[::-1], x)
    assert not claims.same_items(np.array([0, 3, 511, 1023], np.int32), x)


@pytest.mark.parametrize("kernel", [claims.kernels.queue_before, *(queue[1] for queue in claims.QUEUES)])
def test_a_queue_holds_what_passes(kernel):
    x = claims.values(1024)
    passing = x[x < claims.kernels.LIMIT]
    buffer, counter = np.full(passing.size, -1, np.int32), np.zeros(1, np.int32)
    kernel[1024 // claim_pairs.BLOCK, claims.BLOCK](x, buffer, counter)

    assert counter[0] == passing.size
    assert (np.sort(buffer) == np.sort(passing)).all()


def test_transfers_bring_back_what_was_worked_on():
    x = claims.values(1000)
    transfer = claims.copies.Transfer(x)
    for way, host in (
        (transfer.in_order, transfer.pageable),
        (transfer.in_order, transfer.pinned),
        (transfer.overlapped, transfer.pinned),
    ):
        host[1][:] = -1
        way(host)

        assert (host[1] == claims.copies.worked_on(x)).all()


def test_a_claim_that_does_not_hold_says_so():
    report = harness.Report("claims")
    claims.add(report, "quicker", 2.0, 1.0, "Less to do.")
    claims.add(report, "slower", 1.0, 2.0, "Less to do.")

    assert report.notes == ["quicker: Less to do.", "slower: DOES NOT HOLD HERE (2.00 ×). Less to do."]
    assert [row.verdict() for row in report.rows] == ["met", "missed by 100.0 %"]


@pytest.mark.parametrize(("failing", "status"), [(False, 0), (True, 1)], ids=["slower", "wrong"])
def test_a_claim_that_does_not_hold_is_no_failure_of_the_command(failing, status, monkeypatch):
    def run(name, module, kernels):
        report = harness.Report(name)
        claims.add(report, "slower", 1.0, 2.0, "Less to do.")
        report.errors += ["slower: ValueError: wrong values after"] if failing else []
        return report

    monkeypatch.setattr("bench.running.here", run)
    monkeypatch.setattr("bench.__main__._gpu_missing", lambda: None)
    for name in ("quick", "simulated"):
        monkeypatch.setattr(mode.MODE, name, False)

    assert main(["claims", "--here", "--quick"]) == status


def test_the_names_are_different():
    names = [claim.name for claim in claims.CLAIMS] + [queue[0] for queue in claims.QUEUES] + NOT_KERNELS

    assert len(set(names)) == len(names)
