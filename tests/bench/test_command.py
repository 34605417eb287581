"""`python -m warpkit bench`: suites in the simulator, what is refused, and where the suites are found."""

import importlib.util
import json

import pytest

import bench.__main__ as command
from bench import arrays, harness, mode
from warpkit.__main__ import main as warpkit
from warpkit.cli import bench as front


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Take one case of a suite, and leave no mode behind."""
    monkeypatch.setattr(mode, "QUICK_SECONDS", 0.0)
    for name in ("quick", "simulated"):
        monkeypatch.setattr(mode.MODE, name, False)


@pytest.mark.parametrize("suite", ["arrays", "block-copy", "lookback", "claims"])
@pytest.mark.simulator
def test_a_suite_runs_in_the_simulator_and_says_that_times_mean_nothing(tmp_path, capsys, suite):
    path = tmp_path / "record.json"

    assert command.main([suite, "--here", "--json", str(path)]) == 0

    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["environment"]["simulated"] is True
    assert record["suites"][suite]["rows"]
    assert not any("goal" in row or "verdict" in row for row in record["suites"][suite]["rows"])
    assert "times mean nothing" in capsys.readouterr().out


@pytest.mark.parametrize("case", arrays.CASES, ids=lambda case: case.name)
@pytest.mark.simulator
def test_a_wrong_result_is_found(case):
    out = arrays.cuda.device_array(*case.out_of(16))
    out.copy_to_device(arrays.np.full(*case.out_of(16)[:1], 77, case.out_of(16)[1]))

    with pytest.raises(ValueError, match="16 items: wrong values"):
        arrays.check(case, 16, out)


@pytest.mark.simulator
def test_a_suite_without_a_form_for_the_simulator_is_left_out_with_a_sentence(capsys):
    assert command.main(["warp", "--here"]) == 1
    assert "suite 'warp' needs a GPU, but NUMBA_ENABLE_CUDASIM has replaced it" in capsys.readouterr().out


@pytest.mark.everywhere
def test_every_suite_has_its_module():
    assert command.SIMULATED | command.GPU_SUITES | set(command.OWN_PATIENCE) <= set(command.SUITES)
    for module in command.SUITES.values():
        assert importlib.util.find_spec(f"bench.{module}"), module


@pytest.mark.simulator
def test_suites_of_the_processor_are_not_simulated(monkeypatch, tmp_path):
    path = tmp_path / "record.json"
    monkeypatch.setattr(command.running, "here", lambda name, module, kernels: harness.Report(name))

    assert command.main(["import", "--here", "--json", str(path)]) == 0
    assert "simulated" not in json.loads(path.read_text(encoding="utf-8"))["environment"]


@pytest.mark.everywhere
@pytest.mark.parametrize("arguments", [["wrap"], ["--compare", "a"]], ids=str)
def test_what_does_not_exist_ends_in_2(arguments):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2


@pytest.mark.everywhere
def test_the_command_hands_over_to_the_suites_of_the_checkout(capsys):
    assert warpkit(["bench", "--compare", "no such file", "b"]) == 2
    assert "no such file cannot be read" in capsys.readouterr().err


@pytest.mark.everywhere
def test_without_the_suites_there_is_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(front, "PACKAGE", tmp_path / "warpkit")
    monkeypatch.setattr(front, "NAME", "warpkit._no_bench")

    assert front.bench([]) == 2
    assert "The benchmarks are not here" in capsys.readouterr().err


@pytest.mark.everywhere
def test_the_simulator_is_chosen_before_numba_is_imported(monkeypatch, capsys):
    monkeypatch.setattr(command, "_is_simulator", lambda: False)

    with pytest.raises(SystemExit):
        command.main(["arrays", "--here", "--simulated"])
    assert "--here in the simulator needs NUMBA_ENABLE_CUDASIM=1" in capsys.readouterr().err
