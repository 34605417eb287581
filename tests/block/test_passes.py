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


@cuda.jit(device=True)
def sums(slot, tile, valid, context):
    """Return the items before this thread's one in the tile, and all."""
    i = cuda.threadIdx.x
    return wk.block_prefix_sum_total(slot[i] if i < valid else 0)


@cuda.jit(device=True)
def keep_even(slot, tile, valid, kept, aggregate, before, last, context):
    """Write the running sums that are even side by side: a second look-back, of how many they are."""
    out, count, counts, num_tiles = context
    i = cuda.threadIdx.x
    run = before + kept + slot[i] if i < valid else 1
    even = run % 2 == 0
    rank, found = wk.block_prefix_sum_total(1 if even else 0)
    wk.lookback_next_tile(counts, num_tiles)
    first = wk.lookback_exclusive_prefix(counts, tile, found, wk.add, 0)
    if even:
        out[first + rank] = run
    if last and i == 0:
        count[0] = first + found


evens = wk.lookback_pass(
    sums, keep_even, wk.add, threads=32, items=1, dtype=np.int64, aggregate=np.int64, kept=np.int64, init=0
)


@cuda.jit
def even_sums(x, num_items, out, count, states, counts):
    """Find the even running sums."""
    num_tiles = (num_items + 31) // 32
    evens.run(states, x, num_items, (out, count, counts, num_tiles))
    wk.lookback_next_tile(counts, num_tiles)


@pytest.mark.parametrize("grid", [1, 2, 5])
def test_a_second_look_back_in_finish(grid):
    most = 400 if SIMULATOR else 100_000
    states, counts = wk.tile_states(most // 32 + 1, np.int64), wk.tile_states(most // 32 + 1, np.int64)
    for launch, size in enumerate([most, 33, 0, most, 1, most // 2]):
        x = np.random.default_rng(launch).integers(0, 9, most)
        out, count = cuda.device_array(most, np.int64), cuda.to_device(np.zeros(1, np.int64))
        given = cuda.to_device(x), size, out, count, states, counts
        even_sums[grid, 32, 0, evens.shared_bytes](*given)
        wanted = np.cumsum(x[:size])
        wanted = wanted[wanted % 2 == 0]
        assert count.copy_to_host()[0] == len(wanted)
        np.testing.assert_array_equal(out.copy_to_host()[: len(wanted)], wanted)


FUNCTIONS = {
    "gather": (
        {"gather": lambda slot, tile, valid: (0, 0)},
        r"gather must take \(slot, tile, valid, context\), not \(",
    ),
    "finish": (
        {"finish": lambda slot, tile, valid, kept, context: None},
        r"finish must take \(slot, .*, last, context\)",
    ),
    "no gather": ({"gather": None}, "gather must be a function .*, not None"),
    "no operator": ({"op": "max"}, r"op must be a function \(earlier, later\), not 'max'"),
}


@pytest.mark.everywhere
@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("what", FUNCTIONS)
def test_functions_of_other_parameters_are_refused(what, decorated):
    given, sentence = FUNCTIONS[what]
    if decorated:
        given = {name: cuda.jit(device=True)(value) if callable(value) else value for name, value in given.items()}
    usual = {"gather": no_gather, "finish": no_finish, "op": wk.add}
    with pytest.raises(wk.Refused, match=f"lookback_pass: {sentence}"):
        wk.lookback_pass(**usual | given, threads=32, items=3, dtype=np.int32, aggregate=np.int32)


GATHERED = {
    "a float kept": (
        lambda slot, tile, valid, context: (np.float32(1), 0),
        {},
        "gather keeps float32, which does not go into int32: .* kept=",
    ),
    "one of two kept": (
        lambda slot, tile, valid, context: (1, 0),
        {"kept": (np.int32, np.int32)},
        r"gather keeps int64, .* \(int32, int32\)",
    ),
    "a float as sum": (
        lambda slot, tile, valid, context: (1, 0.5),
        {},
        "gather says that a tile adds up to float64, which does not go into int32: .* aggregate=",
    ),
    "one": (lambda slot, tile, valid, context: 1, {}, "gather must return a pair .*, not int64"),
    "three": (lambda slot, tile, valid, context: (1, 2, 3), {}, "gather must return a pair"),
    "nothing": (lambda slot, tile, valid, context: None, {}, "gather must return a pair .*, not None"),
}


@pytest.mark.everywhere
@pytest.mark.parametrize("what", GATHERED)
def test_what_gather_returns_must_go_with_the_pass(what):
    gather, given, sentence = GATHERED[what]

    usual = {"threads": 32, "items": 3, "dtype": np.int32, "aggregate": np.int32}
    wanted = wk.lookback_pass(gather, no_finish, wk.add, **usual | given)
    run_pass = wanted.run

    @cuda.jit
    def kernel(states, x):
        run_pass(states, x, x.size, (x,))

    launch = kernel[1, 32, 0, wanted.shared_bytes] if SIMULATOR else partial(launch_or_compile, kernel)
    with pytest.raises(wk.Refused, match=f"lookback_pass: {sentence}"):
        launch(np.zeros(20, passes.carried(np.int32)), SOURCE)


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
        "lookback_pass: source must be contiguous",
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
