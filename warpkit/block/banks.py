"""Shared-memory banks: counting the conflicts of an access pattern, and layouts that have none.

Shared memory has 32 banks; the 32-bit word w lies in bank w modulo 32. Lanes that want different words of one bank are
served one after the other; lanes that want the same word share it.
"""

from collections.abc import Callable, Iterable

from ..simt.machine import device_function

BANKS, WORD_BYTES, WARP = 32, 4, 32


def bank_conflicts(index: Callable[[int], int | None] | Iterable[int | None], itemsize: int = 4) -> int:
    """Count how often a warp's access to shared memory must be repeated for its worst bank. Host code.

    Args: index: which item each lane accesses, as a function of the lane or one entry per lane; None where a lane takes
    no part.  itemsize: bytes of an item: 1, 2, 4, 8 or 16. Wide items are served in parts: 8 bytes half a warp at a
    time, 16 bytes a quarter.
    Returns: the most different words that one bank has to deliver in one part: 1 is free of conflicts (a common word is
    a broadcast), 32 the worst, 0 when no lane takes part.
    Errors: ValueError for another item size or more than 32 lanes.
    Example: bank_conflicts(lambda lane: 32 * lane) -> 32, a column of a 32 × 32 tile of float32; 33 * lane -> 1.
    """
    if itemsize not in (1, 2, 4, 8, 16):
        raise ValueError(f"bank_conflicts: itemsize must be 1, 2, 4, 8 or 16, not {itemsize}.")
    items = [index(lane) for lane in range(WARP)] if callable(index) else list(index)
    if len(items) > WARP:
        raise ValueError(f"bank_conflicts: a warp has 32 lanes, not {len(items)}.")
    lanes = WARP * WORD_BYTES // max(itemsize, WORD_BYTES)
    return max(_worst_bank(items[first : first + lanes], itemsize) for first in range(0, WARP, lanes))


def _worst_bank(items: list[int | None], itemsize: int) -> int:
    """Return the most different words that these lanes want from one bank."""
    words: set[int] = set()
    for item in items:
        if item is not None:
            first = int(item) * itemsize // WORD_BYTES
            words.update(range(first, first + max(1, itemsize // WORD_BYTES)))
    wanted = [0] * BANKS
    for word in words:
        wanted[word % BANKS] += 1
    return max(wanted)


@device_function(host=True)
def padded_index(index):
    """Return where item `index` of 32-bit items lies when a word of padding follows every 32.

    An access with stride 32 (a column of a tile that is 32 wide) has no conflicts then.

    Called by: any thread, and host code.     Example: 31 -> 31, 32 -> 33.
    """
    return index + (index >> 5)


def padded_size(num_items: int) -> int:
    """Return how many items an array needs for `padded_index` of 0…num_items − 1. Host code: a shared array's shape.

    Example: padded_size(1024) -> 1055.
    """
    return num_items + (max(num_items, 1) - 1) // BANKS


@device_function(host=True)
def swizzled_index(row, column):
    """Return where item (row, column) of a tile with 32 columns of 32-bit items lies, without padding.

    The columns of a row change places, by xor with the row: rows and columns are free of conflicts, diagonals are not.
    Called by: any thread, and host code.
    Args: row: any non-negative integer.  column: 0 to 31.     Example: (0, 5) -> 5, (1, 5) -> 36.
    """
    return (row << 5) + (column ^ (row & 31))
