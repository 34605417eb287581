"""Selections on a GPU: graphs replayed on changed items, counts that stay there, many items, other frameworks."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.room import large
from tests.warp.matrix import label
from warpkit import device

from .reductions import result
from .selections import encoded, flags, parted, runs, same, values

pytestmark = pytest.mark.gpu


def positive(v):
    """Select half of random numbers."""
    return v > 0


def captured(work):
    """Return a graph of what `work` does on the current stream of torch."""
    import torch

    work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def replays_of(n):
    """Return how often a graph of so many items is replayed: NumPy's answers take most of the time."""
    return 100 if n < 1_000_000 else 15


@pytest.mark.parametrize("n", [1000, 3_000_000])
def test_in_a_graph(n):
    import torch

    x = torch.zeros(n, dtype=torch.int32, device="cuda")
    keep = torch.zeros(n, dtype=torch.uint8, device="cuda")
    outs = [torch.zeros(n, dtype=torch.int32, device="cuda") for _ in range(4)]
    lengths = torch.zeros(n, dtype=torch.int64, device="cuda")
    counts = torch.zeros(4, dtype=torch.int64, device="cuda")

    def work():
        device.select(x, positive, out=outs[0], count_out=counts[:1])
        device.select_flagged(x, keep, out=outs[1], count_out=counts[1:2])
        device.partition(x, positive, out=outs[2], count_out=counts[2:3])
        device.run_length_encode(x, out=(outs[3], lengths), count_out=counts[3:])

    graph = captured(work)
    replays = replays_of(n)
    for seed in range(replays):
        data, mask = runs(np.int32, n, 1 + seed % 7, seed), flags(n, seed / replays, seed)
        x.copy_(torch.from_numpy(data))
        keep.copy_(torch.from_numpy(mask.astype(np.uint8)))
        graph.replay()
        found = counts.cpu().tolist()
        wanted = [data[data > 0], data[mask], parted(data, data > 0), encoded(data)[0]]
        assert found == [len(wanted[0]), len(wanted[1]), len(wanted[0]), len(wanted[3])]
        for out, right in zip(outs, wanted):
            np.testing.assert_array_equal(out.cpu().numpy()[: len(right)], right)
        np.testing.assert_array_equal(lengths.cpu().numpy()[: found[3]], encoded(data)[1])


@pytest.mark.parametrize("n", [5000, 3_000_000])
def test_select_scan_histogram_with_the_count_on_the_device(n):
    """One graph, captured once: the host reads no count."""
    import torch

    x = torch.zeros(n, dtype=torch.int32, device="cuda")
    kept, scanned = torch.zeros_like(x), torch.zeros(n, dtype=torch.int64, device="cuda")
    count = torch.zeros(1, dtype=torch.int64, device="cuda")
    bins = torch.zeros(16, dtype=torch.int64, device="cuda")

    def work():
        device.select(x, positive, out=kept, count_out=count)
        device.inclusive_scan(kept, wk.add, out=scanned, num_items=count)
        device.histogram(scanned, 16, (0, n), out=bins, num_items=count)

    graph = captured(work)
    for seed in range(replays_of(n)):
        data = np.random.default_rng(seed).integers(-seed, 5, n).astype(np.int32)
        x.copy_(torch.from_numpy(data))
        graph.replay()
        sums = np.cumsum(data[data > 0], dtype=np.int64)
        assert count.item() == len(sums)
        np.testing.assert_array_equal(scanned.cpu().numpy()[: len(sums)], sums)
        np.testing.assert_array_equal(bins.cpu().numpy(), np.histogram(sums, 16, (0, n))[0])


EDGES = [4096, 4097, 8193, 65_537, 131_073, 1 << 18, (1 << 18) + 1, (1 << 20) + 3, 1 << 21, (1 << 21) + 1]


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64], ids=label)
def test_where_one_kernel_takes_over_from_another(n, dtype):
    for seed, mean in enumerate((1, 3, 400)):  # launch after launch on the same scratch
        x, keep = runs(dtype, n, mean, seed), flags(n, 0.2 + 0.3 * seed, seed)
        there, mask, kept = cuda.to_device(x), cuda.to_device(keep), x > 0
        same(device.select(there, positive), x[kept])
        same(device.select_flagged(there, mask), x[keep])
        same(device.nonzero(mask), np.flatnonzero(keep))
        items, count = device.partition(there, positive)
        same(items, parted(x, kept))
        assert count == kept.sum()
        same(device.unique(there), encoded(x)[0])
        firsts, lengths, _ = device.run_length_encode(there)
        same(firsts, encoded(x)[0])
        same(lengths, encoded(x)[1])


@large(8)
def test_more_items_than_32_bits_count():
    n = 2**31 + 10
    x = cuda.device_array(n, np.uint8)
    cuda.cudadrv.driver.device_memset(x, 0, n)
    places = np.array([0, 1, 2**31 - 1, 2**31, n - 1])
    for place in places:
        x[place : place + 1].copy_to_device(np.array([9], np.uint8))
    found, count = result(np.int64, 8), result(np.int64)  # of their own: 16 gigabytes would be made
    device.nonzero(x, out=found, count_out=count)
    assert count.copy_to_host() == 5
    assert found.copy_to_host().tolist() == [*places, 77, 77, 77]
    same(device.select(x, positive), np.full(5, 9, np.uint8))
    same(device.select_flagged(x, x), np.full(5, 9, np.uint8))
    same(device.unique(x), np.array([9, 0, 9, 0, 9], np.uint8))
    device.run_length_encode(x, out=(result(np.uint8, 8), found), count_out=count)
    assert count.copy_to_host() == 5
    assert found.copy_to_host()[:5].tolist() == [2, 2**31 - 3, 2, n - 2**31 - 2, 1]
    assert device.select(x, lambda v: v == 0).size == n - 5
    items, count = device.partition(x, positive)
    assert count == 5
    assert items[:6].copy_to_host().tolist() == [9] * 5 + [0]
    assert device.count_nonzero(items) == 5


def test_arrays_of_torch_and_cupy():
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    x = values(np.float32, 100_000)
    there, keep = torch.from_numpy(x).cuda(), cupy.asarray(x > 0)
    same(device.select(there, positive), x[x > 0])
    same(device.select_flagged(there, keep), x[x > 0])
    assert torch.as_tensor(device.nonzero(there), device="cuda").cpu().tolist() == np.flatnonzero(x).tolist()
    out = torch.empty_like(there)
    assert device.unique(there, out=out) is out


def test_while_another_kernel_fills_the_gpu():
    x = values(np.int32, 3_000_000)
    there, gate, busy = cuda.to_device(x), result(np.int32), wk.Stream()
    gate.copy_to_device(np.zeros(1, np.int32))
    wk.launch(spin, 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT, 256, 1 << 14, gate, stream=busy)
    stream = wk.Stream()
    for _ in range(10):
        same(device.select(there, positive, stream=stream), x[x > 0])
        items, _ = device.partition(there, positive, stream=stream)
        same(items, parted(x, x > 0))
    busy.synchronize()


@cuda.jit
def spin(turns, gate):
    """Keep multiprocessors busy for a while."""
    total = 0
    for i in range(turns):
        total += gate[0] + i
    if total < 0:
        gate[0] = total
