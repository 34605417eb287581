"""Where slots lie in shared memory: permuted so that neither threads nor their items meet in a bank.

With g = the power of two in the number of items, lanes that are so many slots apart use every g-th bank, g of them
each. These lie in rows of 32 banks whose numbers differ modulo g: the row's number, modulo g, is added without carry.
Where g is longer than a row, pieces of g slots take the place of rows. All but the row's number is known at compile
time.
"""

from ..simt.machine import device_function
from .shape import log2_up

MIXED = 128  # slots are permuted within whole multiples of so many


@device_function()
def shared_word(scratch, item_bytes):
    """Return the exponent of how many slots share a 32-bit word; in the pool (`scratch` None) each has its own."""
    if scratch is None:
        return 0
    return max(2 - log2_up(item_bytes), 0)


@device_function()
def row_bits(size, scratch, item_bytes):
    """Return the exponent of how many slots a row has."""
    power = min(size & -size, MIXED)
    if scratch is None:
        return max(5, log2_up(power))
    return max(7 - log2_up(item_bytes), log2_up(power))


@device_function()
def turn(row, size, scratch, item_bytes):
    """Return the bits by which the slots of a row are permuted."""
    small = shared_word(scratch, item_bytes)
    width = 5 if scratch is None else 7 - log2_up(item_bytes)
    few = max(min(min(size & -size, MIXED) >> small, 1 << (width - small)), 1) - 1
    return (row & few) << small


@device_function()
def mixed(slot, size, scratch, item_bytes):
    """Return where a slot lies, so that neither a stride of `size` slots nor one of 1 meets a bank twice."""
    return slot ^ turn(slot >> row_bits(size, scratch, item_bytes), size, scratch, item_bytes)
