"""Both forms of the pipelined pattern do the same work, in the same order."""

import numpy as np
import pytest

from bench import pipeline


@pytest.mark.parametrize("pinned", [False, True])
def test_both_forms_give_the_results_of_every_iteration_in_order(pinned):
    seen = []
    pattern = pipeline.Pattern(lambda target: seen.append(target.copy()), items=64, rounds=3, pinned=pinned)
    pattern.pipelined(11)
    pipelined, pattern.results = pattern.results, []
    pattern.blocking(11)

    expected = np.arange(8, dtype=np.float32)
    for _ in range(3 * pipeline.KERNELS):
        expected = expected * np.float32(0.999) + np.float32(0.5)
    assert np.allclose(pipelined, np.resize(expected, 11), rtol=1e-5)
    assert pattern.results == pipelined
    assert all((one == one[0]).all() for one in seen)
    assert len(seen) == 22


def test_the_parts_are_the_list(monkeypatch):
    monkeypatch.setattr(pipeline, "ALIKE", 2)
    pattern = pipeline.Pattern(pipeline.in_python, items=64, rounds=2)
    commands, _ = pattern.record(0)

    assert sum(count for count, _ in pattern.parts().values()) == len(commands) == 5
    commands.commit()
    assert all(pattern.alone(append) >= 0 for _, append in pattern.parts().values())


def test_a_checksum_takes_about_as_long_as_asked():
    assert 0 < pipeline.bytes_in(1) <= pipeline.bytes_in(1000) <= 1 << 20
