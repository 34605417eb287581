"""`python -m warpkit bench`: the suites of the folder bench/, which an installed package has as `warpkit._bench`."""

import importlib
import importlib.util
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
NAME = "warpkit._bench"


def bench(arguments: list[str]) -> int:
    """Run what `python -m bench` runs, from wherever warpkit is; return its exit status."""
    if not _find():
        print("The benchmarks are not here: they come with the wheel and the checkout of warpkit.", file=sys.stderr)
        return 2
    status = importlib.import_module(f"{NAME}.__main__").main(arguments, program="python -m warpkit bench")
    return int(status)


def _find() -> bool:
    """Make the suites importable: those of the installed package, else those beside it in a checkout."""
    if importlib.util.find_spec(NAME) is not None:
        return True
    beside = PACKAGE.parent / "bench"
    if not (beside / "__main__.py").is_file():
        return False
    spec = importlib.util.spec_from_file_location(
        NAME, beside / "__init__.py", submodule_search_locations=[str(beside)]
    )
    if spec is None or spec.loader is None:
        return False
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return True
