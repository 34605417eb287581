"""The parameter block of a repeated launch, slot by slot as the driver reads it: nothing runs, so no GPU is needed."""

import ctypes
import threading
import types

import numpy as np
import pytest

from warpkit.host.arrays_layout import layout_of
from warpkit.simt import machine
from warpkit.simt.numba_cuda.host import templates
from warpkit.simt.numba_cuda.host.kernels import Kernel
from warpkit.simt.numba_cuda.host.templates import template
from warpkit.simt.specs import Options, scalar_spec, tuple_spec

GRID, BLOCK = (3, 2, 1), (64, 1, 1)
SLOT = 8
ARRAYS = [
    layout_of(np.dtype(dtype), shape, strides, False, "x")
    for dtype, shape, strides in (
        ("f4", (5,), None),
        ("u1", (3, 4), None),
        ("f8", (3, 4, 2), (8, 48, 24)),
        ("i4", (), None),
    )
]
NUMBERS = {"?": True, "b": -3, "h": -300, "i": -70000, "q": -(2**40), "B": 200, "H": 60000, "I": 2**31, "Q": 2**63}
NUMBERS |= {"e": 0.5, "f": 1.25, "d": -2.5}


COUNT = [0]  # slots of what is launched


@pytest.fixture
def launched(monkeypatch):
    """Note what the driver would read at the moment of each launch."""
    seen = []

    def launch(function, *given):
        *shape, address, _ = given
        pointers = (ctypes.c_void_p * COUNT[0]).from_address(int(address))
        seen.append((shape, b"".join(ctypes.string_at(pointer, SLOT) for pointer in pointers)))
        return (0,)

    monkeypatch.setattr(templates, "_launch", launch)
    return seen


def kernel():
    """Return a kernel that is none."""
    return Kernel(types.SimpleNamespace(options=Options(), cooperative=False, name="k"), None, 1)


def filled(layouts, pointers, numbers=()):
    """Return the block that an ordinary launch writes."""
    parts = [layout.pack(pointer, None) for layout, pointer in zip(layouts, pointers)]
    parts += [machine.scalar_payload(scalar_spec(code), value) for code, value in numbers]
    block = b"".join(parts)
    COUNT[0] = len(block) // SLOT
    return block


def test_the_slots_are_those_of_an_ordinary_launch(launched):
    specs = [layout.spec for layout in ARRAYS] + [scalar_spec(code) for code in NUMBERS]
    packs = [layout.pack for layout in ARRAYS] + [None] * len(NUMBERS)
    repeated = template(kernel(), specs, packs)
    for turn in range(3):
        pointers = [0x7F0000000000 + 4096 * place + 256 * turn for place in range(len(ARRAYS))]
        expected = filled(ARRAYS, pointers, NUMBERS.items())
        assert repeated(GRID, BLOCK, 0, 7, [*pointers, *NUMBERS.values()], ())
        shape, block = launched[-1]
        assert shape == [*GRID, *BLOCK, 0, 7]
        assert block == expected
    assert len(repeated._frames) == 1


def test_what_never_changes_is_written_once(launched):
    """Of any number of slots, anywhere."""
    wide = machine.tuple_payload([machine.scalar_payload(scalar_spec(code), 5) for code in "qd"])
    constants = [wide, machine.scalar_payload(scalar_spec("i"), -1), ARRAYS[0].pack(4096, None)]
    layout = ARRAYS[2]
    specs = [None, layout.spec, None, scalar_spec("q"), None]
    packs = [constants[0], layout.pack, constants[1], None, constants[2]]
    repeated = template(kernel(), specs, packs)
    for turn in range(2):
        number = machine.scalar_payload(scalar_spec("q"), turn)
        block = b"".join([constants[0], layout.pack(256 * turn, None), constants[1], number, constants[2]])
        COUNT[0] = len(block) // SLOT
        assert repeated(GRID, BLOCK, 0, 0, [256 * turn, turn], ())
        assert launched[-1][1] == block
    assert template(kernel(), [None], [wide]) is not None


@pytest.mark.parametrize(("code", "value"), [("q", 2**63), ("q", -(2**63) - 1), ("B", 256), ("i", 2**31)])
def test_a_number_that_does_not_fit_launches_nothing(launched, code, value):
    filled((), (), [("q", 0)])
    repeated = template(kernel(), [scalar_spec(code)], [None])
    assert not repeated(GRID, BLOCK, 0, 0, [value], ())
    assert repeated(GRID, BLOCK, 0, 0, [1], ())
    assert len(launched) == 1


def test_numbers_of_numpy_come_as_what_they_are(launched):
    numbers = [("f", np.float32(np.inf)), ("q", np.int64(-1)), ("?", np.bool_(True)), ("e", np.float16(1.5))]
    expected = filled((), (), numbers)
    repeated = template(kernel(), [scalar_spec(code) for code, _ in numbers], [None] * 4)
    assert repeated(GRID, BLOCK, 0, 0, [value for _, value in numbers], ())
    assert launched[-1][1] == expected


def test_what_is_more_than_one_slot_has_no_template():
    for spec in (scalar_spec("D"), tuple_spec((scalar_spec("q"),)), scalar_spec(np.dtype([("a", "i4")]))):
        assert template(kernel(), [spec], [None]) is None
    assert template(kernel(), [], []) is None


def test_threads_have_frames_of_their_own(launched, monkeypatch):
    layout, meeting = ARRAYS[0], threading.Barrier(4)
    filled([layout], [0])
    repeated, ordinary, found = template(kernel(), [layout.spec], [layout.pack]), templates._launch, []

    def launch(*given):
        meeting.wait()  # all are between writing and launching
        return ordinary(*given)

    monkeypatch.setattr(templates, "_launch", launch)
    threads = [
        threading.Thread(target=lambda place=place: found.append(repeated(GRID, BLOCK, 0, 0, [4096 * place], ())))
        for place in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
    assert {block for _, block in launched} == {layout.pack(4096 * place, None) for place in range(1, 5)}
