"""What the kernels of selections are made of: registers only and few of them, no calls, code that can be stored."""

import numpy as np
import pytest

from tests.ptx import count
from warpkit.block.states import packed_dtype
from warpkit.device import select_keep, select_kernel
from warpkit.device import select_meaning as meaning
from warpkit.device.reduce_plan import COUNT, NOTHING
from warpkit.device.select_layout import Compaction
from warpkit.device.select_policy import DEFAULT, items_of_thread
from warpkit.device.tiles import TileShape
from warpkit.simt.specs import Options, array_spec
from warpkit.simt.states import state_dtype

from .compiled import image_and_ptx

INT32 = np.dtype(np.int32)
OUT, PLACES = array_spec(INT32, 1), array_spec(np.int64, 1)


def positive(v):
    """A predicate."""
    return v > 0


def compiled(what, ring=True, flag=NOTHING, out=OUT, more=NOTHING, counted=False):
    """Return image and PTX of a kernel with the tiles of the default policy."""
    total = packed_dtype("a test", tuple(p.dtype for p in what.zero)) if type(what.zero) is tuple else what.zero.dtype
    threads, nbytes = (DEFAULT.threads, DEFAULT.nbytes) if ring else (DEFAULT.few_threads, DEFAULT.few_nbytes)
    shape = TileShape(threads, items_of_thread(nbytes, what.item.itemsize), DEFAULT.stages if ring else 1)
    number = array_spec(np.int64, 1) if counted else COUNT
    source, states = array_spec(what.item, what.axes), array_spec(state_dtype(total), 1)
    specs = (source, flag, out, more, array_spec(np.int64, 1), states, number)
    make = select_kernel.ring_kernel if ring else select_kernel.tile_kernel
    return image_and_ptx(make(what, shape), specs, Options(launch_bounds=(threads, DEFAULT.blocks if ring else 1)))


KINDS = {
    "select": (Compaction(INT32, select_keep.keep_where(positive), **meaning.counting(True)), {}),
    "select_flagged": (
        Compaction(INT32, flag=np.dtype(np.bool_), **meaning.flagged("", INT32, True)),
        {"flag": array_spec(np.bool_, 1)},
    ),
    "nonzero": (Compaction(INT32, **meaning.nonzero("", INT32, True)), {"out": PLACES}),
    "unique": (Compaction(INT32, **meaning.unique("", INT32, True)), {}),
    "partition": (
        Compaction(INT32, select_keep.keep_where(positive), **meaning.counting(True), **meaning.partitioned(INT32)),
        {},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_registers_only_and_no_calls(kind):
    what, specs = KINDS[kind]
    image, ptx = compiled(what, **specs)
    assert image.local == image.spills == 0
    assert count(ptx, "call") == count(ptx, "div") == count(ptx, "rem") == 0
    assert image.registers * DEFAULT.threads * DEFAULT.blocks <= 1 << 16
    assert image.storable  # so that a second process finds it on the disk


# With fewer registers, those of blocks of 768 threads, all three spill.
@pytest.mark.parametrize(
    ("fields", "dtype", "few"),
    [(meaning.unique, np.float16, False), (meaning.encoded, np.float32, True), (meaning.encoded, np.float64, False)],
    ids=["unique, many float16", "runs of few float32", "runs of many float64"],
)
def test_runs_of_floats_spill_nothing(fields, dtype, few):
    item = np.dtype(dtype)
    more = PLACES if fields is meaning.encoded else NOTHING
    what = Compaction(item, on_device=not few, **fields("", item, few))
    image, _ = compiled(what, out=array_spec(item, 1), more=more, counted=not few)
    assert image.local == image.spills == 0


def test_few_items_take_one_tile_a_block():
    image, ptx = compiled(KINDS["select"][0], ring=False)
    assert image.local == image.spills == 0
    assert count(ptx, "call") == 0
    assert image.storable
