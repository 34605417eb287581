"""What the kernels of selections are made of: registers only and few of them, no calls, code that can be stored."""

import numpy as np
import pytest

from tests.ptx import count, places
from warpkit.block.states import packed_dtype
from warpkit.device import select_keep, select_kernel
from warpkit.device import select_meaning as meaning
from warpkit.device.reduce_plan import COUNT, INVERSE, NOTHING
from warpkit.device.select_few import few_kernel, noted_bytes
from warpkit.device.select_layout import Compaction
from warpkit.device.select_policy import DEFAULT, items_of_thread
from warpkit.device.tiles import TileShape
from warpkit.simt.specs import Options, array_spec, tuple_spec
from warpkit.simt.states import state_dtype

from .compiled import assert_registers_only, image_and_ptx

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


# ------------------------------------------------------------------ few items, from registers


FEW_KINDS = KINDS | {"run_length_encode": (Compaction(INT32, **meaning.encoded("", INT32, True)), {"more": PLACES})}
FEW_CASES = [(kind, shape) for kind, (what, _) in FEW_KINDS.items() for shape in ("one", "wide", "look", "look_large")
             if what.few.spreads or "look" not in shape]  # fmt: skip


@pytest.mark.parametrize(("kind", "shape_name"), FEW_CASES)
def test_few_items_are_in_registers(kind, shape_name):
    what, specs = FEW_KINDS[kind]
    shape, looks, runs = getattr(DEFAULT, shape_name), "look" in shape_name, kind == "run_length_encode"
    specs = {"flag": NOTHING, "out": OUT, "more": NOTHING} | specs
    states = array_spec(state_dtype(np.dtype(np.int32)), 1)
    given = array_spec(INT32, 1), specs["flag"], specs["out"], specs["more"], array_spec(np.int64, 1), states, COUNT
    image, ptx = image_and_ptx(few_kernel(what, shape), given, Options(launch_bounds=(shape.threads, 1)))
    assert_registers_only(image, ptx)
    votes, barriers, loads = (places(ptx, name) for name in ("vote.sync.ballot", "bar.sync", "ld.global"))
    each = 2 if kind in ("select_flagged", "unique", "run_length_encode") else 1
    assert len(votes) == shape.items
    assert sum(at < votes[0] for at in loads) == each * shape.items  # all of them before one is looked at
    assert len(barriers) == (3 if looks and what.few.whole else 2 if looks or runs else 1)
    assert all(at > barriers[0] for at in places(ptx, "st.global"))  # in place everything has been read by then
    assert count(ptx, "atom") == (2 if looks else 0)  # of one thread: its number, and a launch's end
    assert count(ptx, "membar") == count(ptx, "fence") == count(ptx, "cp.async") == 0
    assert noted_bytes(what, shape) == (2 * shape.tile_items if runs else 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float64, np.complex128], ids=str)
def test_few_items_of_any_size(dtype):
    item = np.dtype(dtype)
    for shape in (DEFAULT.one, DEFAULT.look, DEFAULT.look_large):
        what = Compaction(item, on_device=True, axes=2, **meaning.unique("", item, True))
        source = tuple_spec((array_spec(item, 2, False), tuple_spec((INVERSE, INVERSE))))
        states = array_spec(state_dtype(np.dtype(np.int32)), 1)
        given = source, NOTHING, array_spec(item, 1), NOTHING, PLACES, states, PLACES
        image, ptx = image_and_ptx(few_kernel(what, shape), given, Options(launch_bounds=(shape.threads, 1)))
        assert_registers_only(image, ptx)
