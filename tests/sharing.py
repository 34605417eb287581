"""Processes that share their tests: each test runs in the one that comes to it first.

`tests/run.py` starts a second process of a kind when a core is free, and gives both a folder in WARPKIT_TESTS_SHARED:
a test is taken by making a file of its name there. The first goes through the files from the front, the second from
the back, so that they meet once, and what a file's tests have in common is made twice for one file alone.
"""

import hashlib
import os
from pathlib import Path

FOLDER, LAST_FIRST = "WARPKIT_TESTS_SHARED", "WARPKIT_TESTS_LAST_FIRST"


class Sharing:
    """This process's part: takes tests, and counts those that the other has taken."""

    def __init__(self, folder: Path, last_first: bool):
        self.folder, self.last_first, self.elsewhere = folder, last_first, 0

    def ordered(self, items: list) -> list:
        """Return the tests in the order of this process: whole files, each from its first test on."""
        files: dict[Path, list] = {}
        for item in items:
            files.setdefault(item.path, []).append(item)
        parts = reversed(files.values()) if self.last_first else files.values()
        return [item for part in parts for item in part]

    def take(self, name: str) -> bool:
        """Take a test; False when the other process has it."""
        try:
            os.close(os.open(self.folder / hashlib.sha1(name.encode()).hexdigest(), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self.elsewhere += 1
            return False
        return True


def sharing() -> Sharing | None:
    """Return this process's part, or None when it runs all its tests; processes that tests start have none."""
    folder, last_first = os.environ.pop(FOLDER, None), os.environ.pop(LAST_FIRST, None)
    return Sharing(Path(folder), bool(last_first)) if folder else None
