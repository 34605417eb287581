"""How long was the longest line so far? A running maximum over the lines; where it grows there is a record."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import EVERY_LANE, Data

TITLE = "Running max"
USES = ("warp_inclusive_max", "warp_read_lane")


@cuda.jit
def running_maximum(lengths, so_far):
    """One warp walks over the lines, 32 at a time, and carries the last lane's maximum on to the next 32."""
    lane = wk.warp_lane_id()
    carry = np.int32(0)
    for base in range(0, lengths.size, 32):
        i = base + lane
        length = lengths[i] if i < lengths.size else np.int32(0)
        highest = max(wk.warp_inclusive_max(length, mask=EVERY_LANE), carry)
        if i < lengths.size:
            so_far[i] = highest
        carry = wk.warp_read_lane(highest, 31, mask=EVERY_LANE)


def run(data: Data) -> dict[str, Any]:
    """Return `so_far`."""
    so_far = machine.empty(data.lengths.size, np.int32)
    machine.launch(running_maximum, 1, 32, machine.to_device(data.lengths), so_far)
    return {"so_far": machine.to_host(so_far)}


def expected(data: Data) -> dict[str, Any]:
    """Return `so_far` by NumPy."""
    return {"so_far": np.maximum.accumulate(data.lengths)}


def show(answer: dict[str, Any]) -> str:
    """Count the lines that were longer than all before."""
    records = int((np.diff(answer["so_far"], prepend=0) > 0).sum())
    return f"{records:,} record" + "s" * (records != 1)
