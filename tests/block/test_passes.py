"""`lookback_pass`: every tile once, in order, whatever tiles add up to, the ring, the grid, the launch and history."""

from functools import partial

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR

from . import passes
from .passes import TILE, run, values
from .refusing import launch_or_compile

MANY = 12 * TILE + 5 if SIMULATOR else 1000 * TILE + 5


@pytest.mark.parametrize("name", passes.AGGREGATES)
@pytest.mark.parametrize("count", [0, 1, TILE, TILE + 1, 3 * TILE, MANY])
def test_sizes_and_aggregates(name, count):
    run(name, values(count))


@pytest.mark.parametrize("grid", [1, 2, 40], ids=str)
@pytest.mark.parametrize("name", ["4 bytes", "12 bytes", "24 bytes"])
def test_grids(name, grid):
    run(name, values(MANY), grid)


@pytest.mark.parametrize(
    ("stages", "ahead"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 2), (5, 4), (8, 3)], ids=str
)
@pytest.mark.parametrize("grid", [1, 3])
def test_rings(stages, ahead, grid):
    run("two of 4", values(MANY), grid, stages=stages, ahead=ahead)


@pytest.mark.parametrize(("threads", "items"), [(64, 1), (96, 5), (128, 4)])
def test_shapes(threads, items):
    run("8 bytes", values(5 * threads * items + 7), threads=threads, items=items)


@pytest.mark.parametrize(("name", "init"), [("4 bytes", 1000), ("two of 4", (-1, 7))])
@pytest.mark.parametrize("grid", [1, 3])
def test_before_begins_with_init(name, init, grid):
    run(name, values(MANY), grid, init=init)


def prepared(kernel, grid, block, *args, shared):
    """Launch a kernel by what `prepare` returns."""
    wk.prepare(kernel, grid, block, *args, shared=shared)()


@pytest.mark.parametrize("launch", [wk.launch, prepared])
@pytest.mark.parametrize("name", ["4 bytes", "24 bytes"])
def test_our_own_launches(launch, name):
    run(name, values(MANY), launch=launch)


@pytest.mark.parametrize("name", ["4 bytes", "12 bytes", "24 bytes"])
def test_launch_after_launch_on_the_same_states(name):
    states = wk.tile_states(13, passes.AGGREGATES[name][0])
    for launch, count in enumerate([12 * TILE + 5, 0, TILE, 12 * TILE + 5, 1, 7 * TILE]):
        run(name, values(count, launch), 1 + launch % 4, states, stages=2 + launch % 3)


@pytest.mark.gpu
def test_more_shared_memory_than_numba_grants():
    shape = {"threads": 512, "items": 15, "stages": 5, "ahead": 2}
    assert passes.scanning(**shape)[0].shared_bytes > 150_000
    run("4 bytes", values(3_000_000), 132, launch=wk.launch, **shape)


@pytest.mark.gpu
def test_in_a_replayed_graph():
    from tests.capture import Capture

    made, kernel = passes.scanning("12 bytes")
    x, states = values(MANY), wk.tile_states(-(-MANY // TILE), passes.AGGREGATES["12 bytes"][0])
    source, out, stream = cuda.to_device(x), cuda.device_array((MANY, 3), np.int64), wk.Stream()
    seen, written = cuda.to_device(np.zeros(states.size, int)), cuda.to_device(np.zeros(40, int))
    call = wk.prepare(
        kernel, 40, made.threads, source, states, MANY, out, seen, written, stream=stream, shared=made.shared_bytes
    )
    call()
    cuda.synchronize()
    with Capture(stream) as replay:
        call(stream)
        call(stream)
    for seed in range(3):
        x = values(MANY, seed)
        source.copy_to_device(x)
        cuda.synchronize()
        replay()
        np.testing.assert_array_equal(out.copy_to_host()[:, :2], passes.reference("12 bytes", x))


@pytest.mark.gpu
def test_floats_are_the_same_bits_in_every_launch_of_any_grid():
    x = (np.random.default_rng(1).normal(size=20_000) * 1000).astype(np.float32)
    wanted = passes.float_prefixes(x, 60).view(np.uint32)
    for grid in (2, 7, 60, 132, 500):
        assert (passes.float_prefixes(x, grid).view(np.uint32)[1:] == wanted[1:]).all()


@cuda.jit(device=True)
def no_gather(slot, tile, valid, context):
    """Return what every tile could."""
    return 0, slot[0]


@cuda.jit(device=True)
def no_finish(slot, tile, valid, kept, aggregate, before, last, context):
    """Do nothing."""


def made(**given):
    """Return a pass that does nothing."""
    usual = {"threads": 32, "items": 3, "dtype": np.int32, "aggregate": np.int32}
    return wk.lookback_pass(no_gather, no_finish, wk.add, **usual | given)


@pytest.mark.everywhere
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"threads": 33}, "threads must be a multiple of 32 up to 1024, not 33"),
        ({"threads": 2048}, "threads must be a multiple of 32 up to 1024, not 2048"),
        ({"items": 0}, "items must be 1 to 256, not 0"),
        ({"stages": 1}, "stages must be 2 to 8, not 1"),
        ({"stages": 9}, "stages must be 2 to 8, not 9"),
        ({"ahead": 4}, "ahead must be 1 to 3, not 4"),
        ({"ahead": 0}, "ahead must be 1 to 3, not 0"),
        ({"aggregate": "U3"}, "dtype must be a NumPy number"),
        ({"dtype": object}, "dtype must be a number or a record, not object"),
        ({"threads": 1024, "items": 31}, "take 507904 bytes of shared memory, and a block has at most 232448"),
    ],
    ids=str,
)
def test_numbers_out_of_range_are_refused(given, sentence):
    with pytest.raises(wk.Refused, match=f"lookback_pass: .*{sentence}"):
        made(**given)


SOURCE, STATES = np.zeros(96, np.int32), np.int32
STRIDED = cuda.to_device if SIMULATOR else np.asarray  # the simulator takes no strided array of the host
WRONG = {
    "states": (SOURCE, (np.int32, np.int32), 96, r"the states carry \(int32, int32\), but tiles add up to int32"),
    "states of another width": (SOURCE, np.int64, 96, "the states carry int64, but tiles add up to int32"),
    "source": (SOURCE.astype(np.float32), STATES, 96, "source holds float32, but the pass is made for int32"),
    "axes": (SOURCE.reshape(2, 48), STATES, 96, "source must be a one-dimensional array"),
    "strides": (
        lambda: STRIDED(np.zeros(192, np.int32))[::2],
        STATES,
        96,
        "needs two contiguous one-dimensional arrays of one dtype",
    ),
    "count": (SOURCE, STATES, 96.0, "num_items must be an integer, not float64"),
    "no states": (SOURCE, None, 96, "need an array from tile_states or grid_scratch"),
}


@pytest.mark.everywhere
@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_go_with_the_pass_is_refused(what):
    source, dtype, count, sentence = WRONG[what]
    source, number, wanted = source() if callable(source) else source, type(count), made()
    run_pass = wanted.run

    @cuda.jit
    def kernel(states, x):
        run_pass(states, x, number(x.size), (x,))

    states = np.zeros(20, np.int32 if dtype is None else passes.carried(dtype))
    launch = kernel[1, 32, 0, wanted.shared_bytes] if SIMULATOR else partial(launch_or_compile, kernel)
    with pytest.raises(wk.Refused, match=sentence):
        launch(states, source)
