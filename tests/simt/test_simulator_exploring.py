"""Exploring mode: many interleavings, and the accesses that nothing orders."""

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import Fault, NoProgress, RaceFault
from warpkit.simt import simulator

SEEDS = range(12)


def nothing():
    pass


def message_passing(write_fence, read_fence, raise_flag, see_flag, blocks=2, threads=1):
    """Block 0 stores a payload and raises a flag; the others wait for the flag and read the payload."""

    @cuda.jit
    def kernel(payload, flag, out):
        b = cuda.blockIdx.x
        if b == 0:
            payload[0] = 42
            write_fence()
            raise_flag(flag)
        else:
            while see_flag(flag) == 0:
                pass
            read_fence()
            out[b] = payload[0]

    def launch():
        out = np.zeros(blocks, np.int64)
        kernel[blocks, threads](np.zeros(1, np.int64), np.zeros(1, np.int32), out)
        assert (out[1:] == 42).all()

    simulator.explore(launch, seeds=SEEDS)


def exchanged(flag):
    cuda.atomic.exch(flag, 0, 1)


def added(flag):
    return cuda.atomic.add(flag, 0, 0)


def test_fences_with_atomics_order_a_message():
    message_passing(cuda.threadfence, cuda.threadfence, exchanged, added, blocks=3)
    message_passing(cuda.threadfence_system, cuda.threadfence, exchanged, added)


@pytest.mark.parametrize(
    ("write_fence", "read_fence"),
    [
        (nothing, cuda.threadfence),
        (cuda.threadfence, nothing),
        (cuda.threadfence_block, cuda.threadfence),
        (cuda.threadfence, cuda.threadfence_block),
    ],
    ids=["writer's", "reader's", "writer's too narrow", "reader's too narrow"],
)
def test_a_message_without_one_of_its_fences_is_reported(write_fence, read_fence):
    with pytest.raises(RaceFault, match="a global array of int64") as caught:
        message_passing(write_fence, read_fence, exchanged, added)
    message = str(caught.value)
    assert "`out[b] = payload[0]`" in message
    assert "`payload[0] = 42`" in message
    assert any("seed" in note for note in caught.value.__notes__)


def test_release_and_acquire_order_a_message_and_relaxed_does_not():
    def flags(store, load):
        return lambda flag: simulator.write(flag, 0, 1, store), lambda flag: simulator.read(flag, 0, load)

    message_passing(nothing, nothing, *flags("release", "acquire"))
    message_passing(cuda.threadfence, cuda.threadfence, *flags("relaxed", "volatile"))
    message_passing(nothing, cuda.threadfence, *flags("release", "relaxed"))
    for store, load in (("relaxed", "acquire"), ("release", "relaxed"), ("volatile", "volatile")):
        with pytest.raises(RaceFault):
            message_passing(nothing, nothing, *flags(store, load))


def test_a_plain_flag_is_reported():
    def raised(flag):
        flag[0] = 1

    def seen(flag):
        return flag[0]

    with pytest.raises(RaceFault, match="int32"):
        message_passing(cuda.threadfence, cuda.threadfence, raised, seen)


def test_within_a_block_a_block_fence_is_enough():
    @cuda.jit
    def kernel(payload, flag, out):
        if cuda.threadIdx.x == 40:
            payload[0] = 42
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
        elif cuda.threadIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence_block()
            out[0] = payload[0]

    simulator.explore(lambda: kernel[1, 64](np.zeros(1), np.zeros(1, np.int32), np.zeros(1)), seeds=SEEDS)


def test_a_message_may_be_handed_on_and_a_barrier_gathers_what_a_block_wrote():
    """The last-block pattern: each block writes, syncs, fences and counts; the last one reads everything."""

    def last_block(barrier):
        @cuda.jit
        def kernel(parts, counter, out):
            t, b = cuda.threadIdx.x, cuda.blockIdx.x
            last = cuda.shared.array(1, np.int32)
            parts[b, t] = b + t
            if barrier:
                cuda.syncthreads()
            if t == 0:
                cuda.threadfence()
                last[0] = cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1
                cuda.threadfence()
            cuda.syncthreads()
            if last[0]:
                cuda.atomic.add(out, 0, parts[t % cuda.gridDim.x, (t + 1) % 4])

        def launch():
            out = np.zeros(1, np.int64)
            kernel[4, 4](np.zeros((4, 4), np.int64), np.zeros(1, np.int32), out)
            assert out[0] == 12

        simulator.explore(launch, seeds=SEEDS)

    last_block(True)
    with pytest.raises(RaceFault):
        last_block(False)


def test_kernel_boundaries_and_grid_barriers_order_everything():
    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = cuda.grid(1)

    @cuda.jit
    def turn(x, out):
        i = cuda.grid(1)
        out[i] = x[x.size - 1 - i]
        cuda.cg.this_grid().sync()
        x[i] = out[x.size - 1 - i]

    def launch():
        x, out = cuda.device_array(64, np.int64), cuda.device_array(64, np.int64)
        fill[4, 16](x)
        turn[4, 16](x, out)
        assert (x.copy_to_host() == np.arange(64)).all()

    simulator.explore(launch, seeds=range(4))


def test_a_lost_update_between_two_blocks_is_reported_and_differs_between_seeds():
    @cuda.jit
    def kernel(counter, order, seen):
        seen[cuda.blockIdx.x] = cuda.atomic.add(order, 0, 1)
        counter[0] += 1

    with pytest.raises(RaceFault):
        simulator.explore(lambda: kernel[4, 1](np.zeros(1), np.zeros(1, np.int32), np.zeros(4)), seeds=SEEDS)

    @cuda.jit
    def order(ticket, seen):
        seen[cuda.grid(1)] = cuda.atomic.add(ticket, 0, 1)

    def launch():
        seen = np.zeros(8, np.int32)
        order[4, 2](np.zeros(1, np.int32), seen)
        return tuple(seen.tolist())

    orders = simulator.explore(launch, seeds=SEEDS)
    assert len(set(orders)) > 3
    assert orders == simulator.explore(launch, seeds=SEEDS)


def test_a_protocol_that_works_in_order_only_is_found():
    """Block b waits for block b - 1 to have *started*; taking the count for its result is right in most orders only."""

    @cuda.jit
    def kernel(state, out):
        b = cuda.blockIdx.x
        cuda.atomic.exch(state, 2 * b, 1)
        cuda.atomic.exch(state, 2 * b + 1, b + 1)
        if b > 0:
            while cuda.atomic.add(state, 2 * b - 2, 0) == 0:
                pass
            out[b] = cuda.atomic.add(state, 2 * b - 1, 0)

    def launch():
        out = np.zeros(4, np.int32)
        kernel[4, 1](np.zeros(8, np.int32), out)
        assert (out == np.arange(4)).all()

    launch()
    with pytest.raises(AssertionError):
        simulator.explore(launch, seeds=range(40))


def test_a_stuck_protocol_ends_under_stalls_too_and_leaves_no_mode_behind():
    @cuda.jit
    def kernel(flag):
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass

    with pytest.raises(NoProgress), simulator.exploring(3):
        kernel[3, 2](np.zeros(1, np.int32))

    @cuda.jit
    def racy(x):
        x[0] = cuda.grid(1)

    racy[2, 2](np.zeros(1))  # global races are looked for in exploring mode only
    with pytest.raises(Fault), simulator.exploring(0):
        racy[2, 2](np.zeros(1))


def test_collectives_and_shared_memory_are_right_under_every_seed():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        s = cuda.shared.array(2, np.int64)
        value = x[i]
        for distance in (16, 8, 4, 2, 1):
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
        if cuda.laneid == 0:
            s[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        out[i] = s[0] + s[1]

    def launch():
        out = np.zeros(192, np.int64)
        kernel[3, 64](np.arange(192), out)
        assert (out.reshape(3, 64) == np.arange(192).reshape(3, 64).sum(axis=1, keepdims=True)).all()

    simulator.explore(launch, seeds=range(5))


@cuda.jit
def negate(x):
    i = cuda.threadIdx.x
    x[i] = -x[i]


@cuda.jit
def move(source, target):
    i = cuda.threadIdx.x
    target[i] = source[i]


def test_items_that_lie_at_odd_addresses_do_not_touch_their_neighbours():
    records = np.zeros(40, np.dtype([("tag", np.uint8), ("value", np.int32)]))
    records["value"] = np.arange(40)
    fields = cuda.to_device(records)
    long = np.array([(i, -i) for i in range(40)], [("a", np.int32), ("b", np.float64)])
    for seed in range(4):
        packed = cuda.to_device(np.zeros(1 + long.nbytes, np.uint8))[1:].view(long.dtype)
        odd = cuda.to_device(np.append(np.zeros(3, np.uint8), np.arange(40).view(np.uint8)))[3:].view(np.int64)
        with simulator.exploring(seed):
            negate[1, 40](fields["value"])
            negate[1, 40](odd)
            move[1, 40](cuda.to_device(long), packed)
        assert odd.copy_to_host().tolist() == [-i for i in range(40)]
        assert packed.copy_to_host().tolist() == long.tolist()
    assert fields.copy_to_host()["value"].tolist() == list(range(40))


def test_items_that_overlap_race_wherever_they_lie():
    @cuda.jit
    def write(x, y):
        if cuda.threadIdx.x == 0:
            x[0] = 1
        else:
            y[0] = 0x0202020202020202

    memory = cuda.to_device(np.zeros(32, np.uint8))
    with simulator.exploring(1), pytest.raises(RaceFault, match="race on byte"):
        write[1, 2](memory[1:9].view(np.int64), memory[8:16].view(np.int64))
