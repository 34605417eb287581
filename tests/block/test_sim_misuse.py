"""What a GPU answers with a hang or with wrong numbers is a fault in the simulator that names threads and the line."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk

from . import misuse
from .schedules import found_by


@pytest.mark.parametrize("name", misuse.SKIPPED)
def test_threads_that_skip_a_collective(name):
    with pytest.raises(wk.BarrierFault, match="32 threads of block") as found:
        misuse.run(f"skipped {name}")
    assert "misuse.py" in str(found.value)


@pytest.mark.parametrize("name", misuse.SKIPPED)
def test_lanes_that_skip_a_collective(name):
    @cuda.jit
    def run(x, out):
        if cuda.threadIdx.x < 20:
            misuse.SKIPPED[name](x, out)

    arrays = np.arange(1, 129, dtype=np.int32), np.zeros(128, np.int32)
    with pytest.raises((wk.BarrierFault, wk.LaneFault)) as found:
        run[1, 64](*arrays)
    assert "misuse.py" in str(found.value)


def test_a_missing_lane_is_told_of_the_collective_that_was_called():
    def message(call):
        @cuda.jit
        def run(x, out):
            i = cuda.threadIdx.x
            if i < 20:
                out[i] = call(x[i])

        with pytest.raises(wk.LaneFault) as found:
            run[1, 32](np.ones(32, np.int32), np.zeros(32, np.int32))
        return str(found.value)

    assert message(wk.block_max).startswith("block_max (its ")
    assert message(lambda v: wk.warp_shuffle_xor(v, 1, mask=0xFFFFFFFF)).startswith("warp_shuffle_xor (its shuffle) in")
    assert message(lambda v: cuda.shfl_sync(0xFFFFFFFF, v, 1)).startswith("shfl_sync in warp 0")


@pytest.mark.parametrize("name", misuse.APART)
def test_threads_of_a_block_in_different_collectives(name):
    with pytest.raises(wk.BarrierFault, match="waits at another one"):
        misuse.run(f"apart {name}")


def test_one_collective_called_from_two_places():
    @cuda.jit
    def run(x, out):
        i = cuda.threadIdx.x
        if i < 32:
            out[i] = wk.block_sum(x[i])
        else:
            out[i] = wk.block_sum(x[i]) + 1

    with pytest.raises(wk.BarrierFault, match="waits at another one"):
        run[1, 64](np.ones(64, np.int32), np.zeros(64, np.int32))


@pytest.mark.parametrize("name", [*misuse.BEYOND, "tiles"])
def test_a_tile_outside_its_array(name):
    with pytest.raises(wk.BoundsFault, match="outside"):
        misuse.run(f"beyond {name}")


@pytest.mark.parametrize("name", misuse.RACING)
def test_shared_memory_used_again_without_a_barrier(name):
    kernel, arrays = misuse.together(misuse.RACING[name])
    found = found_by(lambda seed: kernel[1, misuse.THREADS](*arrays), wk.RaceFault)
    assert "race on byte" in str(found)
    assert "misuse.py" in str(found)


@pytest.mark.parametrize("also", [False, True], ids=["nobody draws", "from others"])
def test_look_back_on_states_that_the_block_did_not_draw_from(also):
    kernel, arrays = misuse.undrawn(also)
    with pytest.raises(
        wk.Fault, match=r"this block has drawn no tile from these states in this launch.* also="
    ) as found:
        kernel[1, misuse.THREADS](*arrays)
    assert "misuse.py" in str(found.value)


def test_publishing_on_states_that_the_block_did_not_draw_from():
    @cuda.jit
    def run(states):
        wk.lookback_publish(states, cuda.blockIdx.x, 1)

    with pytest.raises(wk.Fault, match="this block has drawn no tile from these states"):
        run[2, 32](wk.tile_states(2, np.int32))


@pytest.mark.parametrize(
    ("given", "shared", "sentence"),
    [
        ((32, 2, 10), 512, "the block has 64 threads, and the pass is made for 32"),
        ((128, 2, 10), 2048, "the block has 64 threads, and the pass is made for 128"),
        (
            (64, 2, 128),
            0,
            "0 bytes of dynamic shared memory, and the pass needs 1024: launch with shared=p.shared_bytes",
        ),
        ((64, 2, 128), 1000, "gives a block 1000 bytes of dynamic shared memory, and the pass needs 1024"),
        ((64, 9, 129), 1024, "num_items is 129, but source has 128 items"),
        ((64, 1, 65), 1024, r"65 items are 2 tiles of 64, but the states are for 1: make them with tile_states\(2, "),
    ],
)
def test_a_pass_that_is_not_given_what_it_needs(given, shared, sentence):
    kernel, arrays = misuse.of_a_pass(*given)
    with pytest.raises(wk.Fault, match=f"lookback_pass: .*{sentence}") as found:
        kernel[1, misuse.THREADS, 0, shared](*arrays)
    assert "misuse.py" in str(found.value)


def test_a_right_use_is_none_of_these():
    found = misuse.run("well")
    x = np.arange(1, 101)
    assert (found[64:100] == (np.cumsum(x) - x)[64:]).all()
    assert (found[:64] == (np.cumsum(x) - x)[:64] + x[:64].sum() + 32).all()
    assert not found[100:].any()
