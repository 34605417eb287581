"""Compaction into a scan: how much was kept stays on the GPU, and a batch is one graph launch that nobody waits for."""

import numpy as np
from numba import config, cuda

import warpkit as wk

LIMIT = 900
size, batches = (1500, 3) if config.ENABLE_CUDASIM else (4_000_000, 8)

payments = cuda.device_array(size, np.int32)
large, sums, count = (
    cuda.device_array(size, np.int32),
    cuda.device_array(size, np.int64),
    cuda.device_array(1, np.int64),
)
select = wk.prepare(wk.device.select, payments, lambda paid: paid > LIMIT, out=large, count_out=count)
add_up = wk.prepare(wk.device.cumsum, large, out=sums, num_items=count)  # reads on the GPU how many there are

stream, results = wk.Stream(), []
rng = np.random.default_rng(19)
arrived = [rng.integers(0, 1000, size, dtype=np.int32) for _ in range(batches)]
for batch in arrived:
    number, running = wk.pinned_array(1, np.int64), wk.pinned_array(size, np.int64)
    commands = wk.CommandList() << wk.upload(payments, batch) << select << add_up
    commands << wk.download(number, count) << wk.download(running, sums)
    commands.add_callback(lambda number=number, running=running: results.append(running[: number[0]].copy()))
    stream << commands.commit()  # returns at once
stream.synchronize()

assert len(results) == batches
for batch, running in zip(arrived, results):
    assert (running == np.cumsum(batch[batch > LIMIT], dtype=np.int64)).all()
print(f"{batches} batches of {size:,} payments: {[found.size for found in results]} of them above {LIMIT}")
