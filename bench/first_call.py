"""The first call in a new process: from the call to the synchronised result, imports excluded.

"cold": every cache empty; "disk": an earlier process has left its kernels there. The peer always compiles anew.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import textwrap

from .harness import Row
from .mode import MODE

TIMES = 3
OURS = """
    import numpy as np
    from numba import cuda
    import warpkit as wk
    import warpkit.device as device

    x = cuda.to_device(np.ones(1 << 20, np.float32))
    y = cuda.to_device(np.zeros(1 << 20, np.float32))
    out = cuda.to_device(np.zeros(1, np.float32))
    count = cuda.to_device(np.zeros(1, np.int64))
    cuda.synchronize()
    begin = time.perf_counter()
    {call}
    cuda.synchronize()
"""
PEER = """
    import numpy as np
    from numba import cuda
    import cuda.compute as compute
    from cuda.compute import OpKind

    x = cuda.to_device(np.ones(1 << 20, np.float32))
    y = cuda.to_device(np.zeros(1 << 20, np.float32))
    out = cuda.to_device(np.zeros(1, np.float32))
    count = cuda.to_device(np.zeros(1, np.int64))
    cuda.synchronize()
    begin = time.perf_counter()
    {call}
    cuda.synchronize()
"""
CALLS = {
    "device.sum": (
        "device.sum(x, out=out)",
        "compute.reduce_into(d_in=x, d_out=out, num_items=x.size, op=OpKind.PLUS, h_init=np.zeros(1, np.float32))",
    ),
    "device.cumsum": (
        "device.cumsum(x, out=y)",
        "compute.inclusive_scan(d_in=x, d_out=y, num_items=x.size, op=OpKind.PLUS, init_value=np.zeros(1, np.float32))",
    ),
    "device.select": (
        "device.select(x, lambda v: v > 0, out=y, count_out=count)",
        "compute.select(d_in=x, d_out=y, d_num_selected_out=count, cond=lambda v: v > 0, num_items=x.size)",
    ),
}


def first_call(program, call, folder):
    """Return the milliseconds that the call took in a process of its own."""
    text = "import time\n" + textwrap.dedent(program).format(call=call)
    text += "print(1000 * (time.perf_counter() - begin))\n"
    environment = os.environ | {"WARPKIT_CACHE_DIR": folder}
    command = [sys.executable, "-W", "ignore", "-c", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


def run(report):
    """Fill the report."""
    for name, (ours, theirs) in CALLS.items():
        try:
            peer = statistics.median(first_call(PEER, theirs, "") for _ in range(MODE.fewer(TIMES, 1)))
        except RuntimeError as error:
            peer = None
            report.notes.append(f"cuda.compute, {name}: {error}")
        cold = []
        for _ in range(MODE.fewer(TIMES, 1)):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(first_call(OURS, ours, folder))
        report.rows.append(Row(f"{name}, cold", statistics.median(cold), peer, "ms", goal=0.5))
        with tempfile.TemporaryDirectory() as folder:
            first_call(OURS, ours, folder)
            disk = statistics.median(first_call(OURS, ours, folder) for _ in range(MODE.fewer(TIMES, 1)))
        report.rows.append(Row(f"{name}, from disk", disk, peer, "ms", limit=300))
