"""The gallery: the files of examples/."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("_"))
