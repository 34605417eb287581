"""warpkit's own version, and the refusal of NumPy, numba and numba-cuda versions that cannot work together.

Runs before anything else is imported: with NumPy 2.5 numba-cuda 0.30 dies in the middle of its own import with
`module 'numpy' has no attribute 'row_stack'`, which helps nobody.
"""

from collections.abc import Mapping
from importlib import metadata

__version__ = "0.1.0"

# package: (oldest, first that is too new); the same bounds as in pyproject.toml, where each has its reason.
SUPPORTED = {
    "numpy": ("2.1", "2.5"),
    "numba": ("0.61", "0.69"),
    "numba-cuda": ("0.30.4", "0.31"),
}


def installed() -> dict[str, str | None]:
    """Return the installed version of each package that warpkit is particular about, None where it is missing.

    Reads the packages' metadata: importing them would be the crash that `check` is there to prevent.
    """
    found: dict[str, str | None] = {}
    for name in SUPPORTED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def check(found: Mapping[str, str | None] | None = None) -> None:
    """Raise ImportError, in one sentence with the remedy, where `found` (default: `installed()`) cannot work."""
    sentence = problem(installed() if found is None else found)
    if sentence is not None:
        raise ImportError(sentence)


def problem(found: Mapping[str, str | None]) -> str | None:
    """Return one sentence that says what is wrong with these versions and what to run, or None."""
    wrong = [name for name in SUPPORTED if not _fits(name, found[name])]
    if not wrong:
        return None
    present = ", ".join(f"{name} {version or '(not installed)'}" for name, version in found.items())
    needs = " and ".join(f"{name} ≥ {SUPPORTED[name][0]} and < {SUPPORTED[name][1]}" for name in wrong)
    remedy = " ".join(f"'{name}>={SUPPORTED[name][0]},<{SUPPORTED[name][1]}'" for name in wrong)
    return f"warpkit {__version__} needs {needs}, but found {present}: run `python -m pip install {remedy}`."


def _fits(name: str, version: str | None) -> bool:
    oldest, too_new = SUPPORTED[name]
    return version is not None and _numbers(oldest) <= _numbers(version) < _numbers(too_new)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release part as integers: '0.30.4rc1' is (0, 30, 4), so a pre-release counts as its release."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
