"""What tests that start another Python share."""

import os
from pathlib import Path


def path_first(folder: Path) -> dict[str, str]:
    """Return the PYTHONPATH that finds `folder` before everything this process finds by that variable."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}
