"""Work on two streams that nothing orders is reported, in the simulator; ordered work never is."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.simt import machine
from warpkit.simt.simulator import stream_order

N = 96


@cuda.jit
def increase(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def add_into(x, out, first):
    i = cuda.grid(1) + first
    if i < x.size:
        out[i] = x[i] + 1


@cuda.jit
def count(x, counter):
    if cuda.grid(1) < x.size:
        cuda.atomic.add(counter, 0, 1)


def zeros(n=N):
    return machine.to_device(np.zeros(n, np.float32))


@pytest.fixture
def two():
    """Return two streams that no thread for callbacks waits for, which would know of their work."""
    wk.synchronize()
    return tuple(wk.Stream.wrap(machine.stream_create()) for _ in range(2))


def consume(out, x, stream):
    wk.launch(add_into, 3, 32, x, out, 0, stream=stream)


def test_a_producer_and_a_consumer_need_an_event(two):
    producer, consumer = two
    x, out = zeros(), zeros()
    wk.launch(increase, 3, 32, x, stream=producer)
    with pytest.raises(
        wk.RaceFault,
        match=rf"add_into on stream {consumer.handle:#x} reads a global array of float32, shape \(96,\), at byte \w+, "
        rf"increase on stream {producer.handle:#x} writes it too, and nothing orders the two",
    ):
        consume(out, x, consumer)


def by_event(first, second):
    second.wait(first.record())


def by_stream(first, second):
    second.wait(first)


def by_event_object(first, second):
    event = wk.Event()
    event.record(first)
    event.wait(second)


def by_host(first, second):
    first.synchronize()


def by_event_on_host(first, second):
    first.record().synchronize()


def by_question(first, second):
    assert first.query()


def by_device(first, second):
    wk.synchronize()


def by_numba(first, second):
    cuda.synchronize()


def by_third(first, second):
    third = wk.Stream()
    third.wait(first.record())
    second.wait(third.record())


def by_callback(first, second):
    done = []
    first << wk.CommandList().add_callback(lambda: done.append(1)).commit() << wk.synchronize()
    assert done


def by_numbas_event(first, second):
    event = cuda.event()
    event.record(first)
    event.wait(second)


@pytest.mark.parametrize(
    "order",
    [
        by_event,
        by_stream,
        by_event_object,
        by_host,
        by_event_on_host,
        by_question,
        by_device,
        by_numba,
        by_third,
        by_callback,
        by_numbas_event,
    ],
)
def test_everything_that_orders_orders(two, order):
    producer, consumer = two
    x, out = zeros(), zeros()
    for _ in range(2):
        wk.launch(increase, 3, 32, x, stream=producer)
        order(producer, consumer)
        consume(out, x, consumer)
        order(consumer, producer)
    wk.synchronize()
    assert out.copy_to_host().tolist() == [3] * N


def test_an_event_knows_what_came_before_it_alone(two):
    producer, consumer = two
    x, out = zeros(), zeros()
    event = producer.record()
    wk.launch(increase, 3, 32, x, stream=producer)
    consumer.wait(event)
    consumer.wait(wk.Event())  # never recorded
    with pytest.raises(wk.RaceFault):
        consume(out, x, consumer)


def test_the_other_direction_is_no_order(two):
    producer, consumer = two
    x, out = zeros(), zeros()
    wk.launch(increase, 3, 32, x, stream=producer)
    by_event(consumer, producer)
    with pytest.raises(wk.RaceFault):
        consume(out, x, consumer)


def test_a_write_after_a_read_is_a_race_and_two_reads_are_none(two):
    first, second = two
    x, one, other = zeros(), zeros(), zeros()
    consume(one, x, first)
    consume(other, x, second)
    with pytest.raises(wk.RaceFault, match=r"increase .* reads .*, add_into .* reads|increase .* writes .*, add_into"):
        wk.launch(increase, 3, 32, x, stream=second)


def test_parts_of_an_array_are_what_is_touched_in_fact(two):
    first, second = two
    x, out = zeros(), zeros()
    wk.launch(add_into, 1, 32, x, out, 0, stream=first)
    wk.launch(add_into, 1, 32, x, out, 32, stream=second)
    wk.launch(increase, 1, 32, out[64:], stream=second)
    with pytest.raises(wk.RaceFault, match="writes"):
        wk.launch(add_into, 1, 32, x, out, 31, stream=second)


def test_interleaved_elements_are_told_apart(two):
    first, second = two
    x = zeros()
    wk.launch(increase, 2, 32, x[::2], stream=first)
    wk.launch(increase, 2, 32, x[1::2], stream=second)
    with pytest.raises(wk.RaceFault):
        wk.launch(increase, 1, 1, x[2:3], stream=second)


def test_atomics_on_both_sides_are_no_race(two):
    first, second = two
    x, counter = zeros(), machine.to_device(np.zeros(1, np.int32))
    wk.launch(count, 3, 32, x, counter, stream=first)
    wk.launch(count, 3, 32, x, counter, stream=second)
    with pytest.raises(wk.RaceFault, match="increase"):
        wk.launch(increase, 1, 1, counter, stream=second)


def test_the_default_stream_is_no_exception_and_is_ordered_with_blocking_streams(two):
    stream, _ = two
    x = zeros()
    blocking = machine.stream_create(nonblocking=False)
    wk.launch(increase, 3, 32, x)
    wk.launch(increase, 3, 32, x, stream=blocking)
    wk.launch(increase, 3, 32, x)
    increase[3, 32](x)  # numba's own launch
    with pytest.raises(wk.RaceFault, match="the legacy default stream"):
        wk.launch(increase, 3, 32, x, stream=stream)
    machine.stream_destroy(blocking)


def test_numbas_launch_on_a_stream_of_ours_counts(two):
    first, second = two
    x = zeros()
    increase[3, 32, first](x)
    with pytest.raises(wk.RaceFault):
        increase[3, 32, second](x)


COMMANDS = {
    "an upload": lambda x, host: wk.upload(x, host),
    "a download": lambda x, host: wk.download(host, x),
    "a copy": lambda x, host: wk.copy(x, zeros()),
    "a fill": lambda x, host: wk.fill(x, 3),
}


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_of_lists_count(two, name, pinned):
    first, second = two
    x, host = zeros(), wk.pinned_array(N, np.float32) if pinned else np.zeros(N, np.float32)
    wk.launch(increase, 3, 32, x, stream=first)
    commit = (wk.CommandList() << COMMANDS[name](x, host)).commit()
    with pytest.raises(wk.RaceFault, match=f"{name} on stream"):
        second << commit


def test_a_prepared_call_runs_on_any_stream(two):
    table = np.arange(N, dtype=np.float32)

    @cuda.jit
    def look_up(out):
        out[cuda.grid(1)] = table[cuda.grid(1)]

    def body(i, out):
        out[i] += table[i]

    out, total = zeros(), machine.to_device(np.zeros(1, np.float32))
    for stream in two:
        call = wk.prepare(look_up, 3, 32, out)
        commands = wk.CommandList() << call
        commands.parallel_for(N, body, out).parallel_reduce_sum(N, lambda i, x: x[i] + table[i], out, out=total)
        stream << commands.commit()
        call(stream)
        stream.synchronize()
    wk.synchronize()
    assert total.copy_to_host()[0] == 3 * table.sum()


def test_pinned_memory_of_the_host_counts(two):
    first, second = two
    x, y, host = zeros(), zeros(), wk.pinned_array(N, np.float32)
    first << (wk.CommandList() << wk.download(host, x)).commit()
    with pytest.raises(wk.RaceFault, match=r"an upload .* reads"):
        second << (wk.CommandList() << wk.upload(y, host)).commit()
    second.wait(first)
    second << (wk.CommandList() << wk.upload(y, host)).commit()


def test_copy_to_host_does_not_wait_for_streams_of_ours(two):
    first, _ = two
    x = zeros()
    wk.launch(increase, 3, 32, x, stream=first)
    with pytest.raises(wk.RaceFault, match="copy_to_host on the legacy default stream"):
        x.copy_to_host()
    assert x.copy_to_host(stream=first).tolist() == [1] * N
    assert x.copy_to_host().tolist() == [1] * N


def test_memory_that_is_freed_and_found_again_is_other_memory(two):
    first, second = two
    for _ in range(50):
        wk.launch(increase, 3, 32, zeros(), stream=first)
        wk.launch(increase, 3, 32, zeros(), stream=second)
        wk.launch(increase, 3, 32, machine.device_array((N,), np.float32, second.handle), stream=second)
        address = machine.allocate(64, first.handle)
        machine.fill(address, 0, 64, first.handle)
        machine.release(address, first.handle)


def test_little_is_kept(two):
    first, second = two
    x, out = zeros(), zeros()
    for _ in range(100):
        wk.launch(increase, 3, 32, x, stream=first)
        second.wait(first)
        consume(out, x, second)
        first.wait(second)
    assert len(stream_order._accesses) < 10
    wk.synchronize()
    assert stream_order._accesses == []


@pytest.mark.parametrize(
    ("spans", "others", "shared", "covers"),
    [
        (([0], [4]), ([4], [4]), None, False),
        (([0, 8], [4, 4]), ([4], [4]), None, False),
        (([0, 8], [4, 4]), ([2], [8]), 2, False),
        (([8, 0, 4], [4, 4, 4]), ([3, 7], [2, 5]), 3, True),
        (([0, 8], [4, 4]), ([9], [1]), 9, True),
    ],
)
def test_spans(spans, others, shared, covers):
    one, other = stream_order.Spans(*spans), stream_order.Spans(*others)

    assert one.shared(other) == shared
    assert one.covers(other) is covers
    assert (other.shared(one) is None) == (shared is None)
