"""What a kernel is made of: registers, memory, and the instructions by which threads meet, counted in its PTX."""

import re
from dataclasses import dataclass

from ..specs import Image
from .compiler import compile_image

# What is counted, and the instructions that it is.
COUNTED = {
    "redux": r"redux\.sync",
    "shuffles": r"shfl\.sync",
    "votes": r"vote\.sync",
    "matches": r"match\.",
    "active masks": r"activemask",
    "warp barriers": r"bar\.warp\.sync",
    "block barriers": r"(bar\.(sync|red|cta)|barrier\.(cta\.)?(sync|red))",
    "shared atomics": r"(atom|red)\.shared",
    "global atomics": r"(atom|red)\.(?!shared|async)",
    "fences": r"(fence|membar)\.",
    "async copies": r"cp\.async\.(c[ag]|bulk)",
    "16-byte loads": r"ld\.global\S*\.v(4\.\w32|2\.\w64)",
    "16-byte stores": r"st\.global\S*\.v(4\.\w32|2\.\w64)",
    "divisions": r"(div|rem)\.",
    "calls": r"call",
}
SHUFFLES = {
    "butterfly": r"shfl\.sync\.bfly",
    "from lower lanes": r"shfl\.sync\.up",
    "from higher lanes": r"shfl\.sync\.down",
    "from named lanes": r"shfl\.sync\.idx",
}


@dataclass(frozen=True)
class Listing:
    """A compiled kernel. counts: of the instructions in `COUNTED`, a loop's once.  shuffles: by their way."""

    image: Image
    counts: dict[str, int]
    shuffles: dict[str, int]


def listing(function, specs, options=None, cc=None):
    """Compile a kernel as `compile_image` does, and return its `Listing`; with `cc` no GPU is needed."""
    texts = []
    return listed(compile_image(function, specs, options, cc, texts), texts)


def listed(image, texts):
    """Return the `Listing` of an image and its PTX."""
    lines = [line.strip().lstrip("{ \t") for text in texts for line in text.splitlines()]
    return Listing(image, _counts(COUNTED, lines), _counts(SHUFFLES, lines))


def _counts(patterns, lines):
    """Count the lines that begin with each pattern, also under a predicate."""
    found = {name: re.compile(rf"(@!?%\w+\s+)?{pattern}") for name, pattern in patterns.items()}
    return {name: sum(pattern.match(line) is not None for line in lines) for name, pattern in found.items()}
