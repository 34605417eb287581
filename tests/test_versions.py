"""Unsupported versions are refused at import with one sentence; the bounds stand in two places and agree."""

import re
import tomllib
from pathlib import Path

import pytest

from warpkit import _versions

GOOD = {"numpy": "2.4.6", "numba": "0.68.1", "numba-cuda": "0.30.4"}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"numpy": "2.1.0"},
        {"numpy": "2.4.6rc1"},
        {"numba": "0.61.0"},
        {"numba": "0.61.2+local"},
        {"numba-cuda": "0.30.10"},
    ],
    ids=str,
)
def test_supported_versions_pass_in_silence(changed):
    _versions.check(GOOD | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"numpy": "2.5.0"},
        {"numpy": "2.5.0rc1"},
        {"numpy": "2.0.2"},
        {"numba": "0.60.0"},
        {"numba": "0.69.0"},
        {"numba-cuda": "0.30.3"},
        {"numba-cuda": "0.31.0"},
        {"numba-cuda": None},
        {"numpy": "2.5.0", "numba-cuda": "0.29.0"},
    ],
    ids=str,
)
def test_others_are_one_sentence_with_every_version_and_the_remedy(changed):
    found = GOOD | changed
    with pytest.raises(ImportError) as refusal:
        _versions.check(found)

    sentence = str(refusal.value)
    assert "\n" not in sentence
    assert sentence.endswith("`.")
    for name, version in found.items():
        assert f"{name} {version or '(not installed)'}" in sentence
        low, high = _versions.SUPPORTED[name]
        assert (f"'{name}>={low},<{high}'" in sentence) == (name in changed)


def test_this_environment_is_supported():
    assert _versions.problem(_versions.installed()) is None


def test_the_bounds_are_those_of_pyproject():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    declared = {}
    for requirement in project["dependencies"]:
        name, low, high = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<([\d.]+))?", requirement).groups()
        declared[name] = (low, high)

    assert _versions.SUPPORTED == {name: declared[name] for name in _versions.SUPPORTED}
