"""Loads and stores of tiles in all arrangements: every type, num_valid, base, alignment; nothing outside is touched."""

import functools

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.kinds import RECORDS
from tests.warp.matrix import NUMBERS, bit_patterns, label

from .items import SIZES, as_striped
from .kernels import launch, place
from .matrix import SIMULATOR, threads

SHAPES = [(1,), (33,), (8, 5), (64,)] if SIMULATOR else [(1,), (33,), (8, 5), (64,), (256,), (1000,)]
ARRANGEMENTS = {
    "striped": (wk.block_load_striped, wk.block_store_striped),
    "blocked": (wk.block_load_blocked, wk.block_store_blocked),
    "vectorized": (wk.block_load_vectorized, wk.block_store_vectorized),
    "transposed": (wk.block_load_transposed, wk.block_store_transposed),
}


@functools.cache
def loading(load, size, dtype):
    """Kernel of one block: out = the items of thread after thread, loaded with num_valid and fill onto 1, 2, 3, …."""

    @cuda.jit
    def run(x, base, n, fill, out):
        index, _, _ = place()
        items = wk.local_array(size, dtype)
        for k in range(size):
            items[k] = index * size + k + 1
        load(items, x, base[0], n[0], fill[0])
        for k in range(size):
            out[index * size + k] = items[k]

    return run


@functools.cache
def keeping(load, size, dtype):
    """The same without fill."""

    @cuda.jit(device=True)
    def load_without_fill(items, x, base, n, fill):
        load(items, x, base, n)

    return loading(load_without_fill, size, dtype)


@functools.cache
def storing(store, size, dtype):
    """Kernel of one block: stores x[thread · size + k] as the items."""

    @cuda.jit
    def run(x, base, n, out):
        index, _, _ = place()
        items = wk.local_array(size, dtype)
        for k in range(size):
            items[k] = x[index * size + k]
        store(items, out, base[0], n[0])

    return run


@functools.cache
def copying(load, store, size, dtype):
    """Kernel of two blocks: copies their tiles, x to out, and stores a second time to show that the items stayed."""

    @cuda.jit
    def run(x, out, again):
        _, threads, _ = place()
        items = wk.local_array(size, dtype)
        load(items, x, cuda.blockIdx.x * threads * size)
        store(items, out, cuda.blockIdx.x * threads * size)
        store(items, again, cuda.blockIdx.x * threads * size)

    return run


SOME_RECORDS = ["rec3", "rec12_aligned", "rec24"] if SIMULATOR else list(RECORDS)


def arranged(name, tile, size):
    """Return a tile in the order in which threads hold it."""
    return as_striped(tile, size) if name == "striped" else tile


def valid_counts(every, size):
    """Return the telling values of num_valid."""
    return sorted({0, 1, size, every // 2, every - 1, every})


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("size", [1, 3, 4] if SIMULATOR else SIZES)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_a_load_stops_at_num_valid_and_fills_or_keeps_the_rest(name, size, shape):
    every = size * threads(shape)
    for valid in valid_counts(every, size):
        x = np.arange(100, 100 + 5 + valid, dtype=np.int32)  # ends where the valid items end
        outs = [np.zeros(every, np.int32) for _ in range(2)]
        for make, out in zip((loading, keeping), outs):
            run = make(ARRANGEMENTS[name][0], size, np.int32)
            launch(run, shape, x, np.array([5]), np.array([valid]), np.array([-9], np.int8), out, blocks=1)
        tile = np.full(every, -9, np.int32)
        tile[:valid] = x[5:]
        expected = arranged(name, tile, size)
        assert (outs[0] == expected).all()
        assert (outs[1] == np.where(expected == -9, np.arange(1, every + 1), expected)).all()


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("size", [1, 3, 4] if SIMULATOR else SIZES)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_a_store_stops_at_num_valid(name, size, shape):
    every = size * threads(shape)
    for valid in valid_counts(every, size):
        x, out = np.arange(1, every + 1, dtype=np.int32), np.zeros(every + 8, np.int32)
        run = storing(ARRANGEMENTS[name][1], size, np.int32)
        launch(run, shape, arranged(name, x, size), np.array([5]), np.array([valid]), out, blocks=1)
        assert (out[5 : 5 + valid] == x[:valid]).all()
        assert np.count_nonzero(out) == valid


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_, *SOME_RECORDS], ids=label)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_a_tile_of_every_type_comes_back_bit_for_bit(name, dtype):
    dtype = np.dtype(RECORDS.get(dtype, dtype))
    for size in (3,) if SIMULATOR else SIZES:
        x = bit_patterns(dtype, 2 * 33 * size)
        out, again = np.zeros_like(x), np.zeros_like(x)
        load, store = ARRANGEMENTS[name]
        launch(copying(load, store, size, dtype if dtype.names else dtype.type), (33,), x, out, again)
        for field in dtype.names or [...]:
            assert out[field].tobytes() == again[field].tobytes() == x[field].tobytes()


TRANSPOSED = [(np.int32, own) for own in (0, 20, 96, 130, 1000)]
TRANSPOSED += [(dtype, own) for dtype in (np.int8, np.float16, np.float64, np.complex128) for own in (0, 130, 500)]


@functools.cache
def transposing(size, dtype, own):
    """Kernel of one block: copies n items from `base` on, through an own scratch or the pool."""
    if own:

        @cuda.jit
        def run(x, base, n, out):
            items, scratch = wk.local_array(size, dtype), wk.shared_array(own, dtype)
            wk.block_load_transposed(items, x, base[0], n[0], None, scratch)
            wk.block_store_transposed(items, out, base[0], n[0], scratch)
    else:

        @cuda.jit
        def run(x, base, n, out):
            items = wk.local_array(size, dtype)
            wk.block_load_transposed(items, x, base[0], n[0])
            wk.block_store_transposed(items, out, base[0], n[0])

    return run


# A vector a thread, whole warps, neither: the three ways of a transposed tile.
TILES = [((64,), 3), ((32, 2), 4), ((33,), 2)] if SIMULATOR else [((64,), 3), ((96,), 7), ((32, 3), 4), ((33,), 8)]
TILES += [] if SIMULATOR else [((64,), 2)]


@pytest.mark.parametrize(("dtype", "own"), TRANSPOSED, ids=label)
def test_transposed_tiles_whole_and_partial_through_any_scratch(dtype, own):
    for shape, size in TILES:
        every = size * threads(shape)
        parts = [(0, every), (1, every), (4, every - 1)]
        for base, valid in parts if SIMULATOR else [*parts, (4, every), (1, 40)]:
            x, out = bit_patterns(dtype, every + base), np.zeros(every + base, dtype)
            launch(transposing(size, dtype, own), shape, x, np.array([base]), np.array([valid]), out, blocks=1)
            assert out[base : base + valid].tobytes() == x[base : base + valid].tobytes()
            assert not out[:base].tobytes().strip(b"\0")
            assert not out[base + valid :].tobytes().strip(b"\0")


# ------------------------------------------------ acceptance 16: vectors where address and bounds allow


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex128], ids=label)
@pytest.mark.parametrize("base", [0, 1, 2, 3, 4, 16])
def test_a16_a_misaligned_tile_takes_the_scalar_path_and_is_right(base, dtype):
    for size in (2, 4, 16):
        every = 33 * size
        for valid in (every, every - 1, every - size, size + 1):
            x, out = bit_patterns(dtype, every + base), np.zeros(every + base, dtype)
            arguments = x[: base + valid], np.array([base], np.uint64), np.array([valid]), np.zeros(1, dtype)
            loaded = np.zeros(every, dtype)
            launch(loading(wk.block_load_vectorized, size, dtype), (33,), *arguments, loaded, blocks=1)
            assert loaded[:valid].tobytes() == x[base : base + valid].tobytes()
            assert not loaded[valid:].any()
            launch(
                storing(wk.block_store_vectorized, size, dtype),
                (33,),
                loaded,
                arguments[1],
                arguments[2],
                out,
                blocks=1,
            )
            assert out[base : base + valid].tobytes() == x[base : base + valid].tobytes()
            assert not out[:base].any()
            assert not out[base + valid :].any()


@pytest.mark.parametrize(("first", "step"), [(0, 1), (1, 1), (3, 1), (0, 2), (1, 3)])
def test_a16_a_view_that_starts_off_the_grid_and_a_strided_one_are_right(first, step):
    x, out = np.arange(1, 401, dtype=np.float32), np.zeros(132, np.float32)
    source, target = cuda.to_device(x), cuda.to_device(np.zeros_like(x))
    base, n = np.array([0]), np.array([132])
    run = loading(wk.block_load_vectorized, 4, np.float32)
    launch(run, (33,), source[first::step], base, n, np.zeros(1, np.float32), out, blocks=1)
    assert (out == x[first::step][:132]).all()
    launch(storing(wk.block_store_vectorized, 4, np.float32), (33,), out, base, n, target[first::step], blocks=1)
    back = target.copy_to_host()
    assert (back[first::step][:132] == out).all()
    assert np.count_nonzero(back) == 132


def test_items_of_another_type_than_the_array_are_converted():
    x, out = np.arange(132, dtype=np.int16), np.zeros(132, np.float64)
    for name in ARRANGEMENTS:
        launch(copying(*ARRANGEMENTS[name], 4, np.float32), (33,), x, out, out.copy(), blocks=1)
        assert (out == x).all()
        out[:] = 0
