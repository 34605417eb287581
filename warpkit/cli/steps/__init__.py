"""The tour's kernels, one file a step, written as you would write your own: read them in the order of `STEPS`.

Every step is a module with
- `TITLE` and `USES`: what it finds out, and the functions of warpkit that it calls, mostly in its kernel;
- its kernel or kernels, or the body of a loop that the host launches;
- `run(data)`: upload, launch, download: the answer as NumPy arrays;
- `expected(data)`: the same answer by NumPy alone;
- `show(answer)`: one short line for a person.
"""

from . import (
    capitals,
    checksum,
    cipher,
    histogram,
    indented,
    letters,
    lines,
    long_lines,
    longest,
    maximum,
    nesting,
    softmax,
    words,
)

WARP_STEPS = (lines, longest, letters, checksum, maximum, softmax)
BLOCK_STEPS = (histogram, long_lines, indented, nesting)
HOST_STEPS = (capitals, words, cipher)
STEPS = WARP_STEPS + BLOCK_STEPS + HOST_STEPS
