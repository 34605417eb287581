"""The example of a user's own kernel on look-back runs, checks itself, and stays short."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "fused_map_scan_filter.py"


def test_fused_map_scan_filter(capsys):
    assert len(EXAMPLE.read_text().splitlines()) <= 40
    runpy.run_path(str(EXAMPLE))
    assert capsys.readouterr().out.count("overdrawn on") == 2
