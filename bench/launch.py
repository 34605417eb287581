"""What launching costs the host: prepared, one-shot, in command lists; beside a raw launch and a raw graph launch.

Host time of a call: 2,000 calls between two synchronisations, the GPU's work negligible; the peer is `cuLaunchKernel`
through cuda.bindings with everything built before, in the same process.
"""

import importlib
import itertools

import numpy as np
from cuda.bindings import driver
from numba import cuda

import warpkit as wk
from warpkit.simt import machine
from warpkit.simt.numba_cuda.host.kernels import Frame

from .harness import Row
from .launched import ARRAYS, BLOCK, GRID, ITEMS, add_up
from .timing import host_time


def run(report):
    """Fill the report."""
    arrays = {"numba": [cuda.to_device(np.zeros(ITEMS, np.float32)) for _ in range(ARRAYS)]}
    for name, make in (("torch", torch_array), ("CuPy", cupy_array)):
        try:
            arrays[name] = [make(importlib.import_module(name.lower())) for _ in range(ARRAYS)]
        except ImportError:
            report.notes.append(f"{name} is not installed")
    for name, five in arrays.items():
        launches(report, name, five)
    for number in (5, 20, 100):
        lists(report, number, arrays["numba"])


def torch_array(torch):
    """Return an array of torch."""
    return torch.zeros(ITEMS, device="cuda")


def cupy_array(cupy):
    """Return an array of CuPy."""
    return cupy.zeros(ITEMS, "f4")


def raw_launch(step):
    """Return a function that repeats a step by the driver's own call, everything built before."""
    frame = Frame(sum(map(len, step.payloads)))
    frame.store[:] = b"".join(step.payloads)
    call, function, address = driver.cuLaunchKernel, step.kernel.function, frame.address
    columns, threads, shared = step.grid[0], step.block[0], step.shared

    def raw(keep=frame):
        call(function, columns, 1, 1, threads, 1, 1, shared, 0, address, 0)

    return raw


def launches(report, name, five):
    """One launch of five arrays."""
    prepared = wk.prepare(add_up, GRID, BLOCK, *five)
    peer = host_time(raw_launch(prepared.steps[0]))
    report.rows.append(Row(f"prepared, {name}", host_time(prepared), peer, goal=1.3))
    ours = host_time(lambda: wk.launch(add_up, GRID, BLOCK, *five))
    report.rows.append(Row(f"launch(), {name}", ours, peer, goal=2))
    configured = add_up[GRID, BLOCK]
    report.rows.append(Row(f"numba's own launch, {name}", host_time(lambda: configured(*five), 200), peer))


def lists(report, number, five):
    """Command lists of `number` launches, beside one launch of a raw graph and beside as many raw launches."""
    stream = wk.Stream()
    calls = [wk.prepare(add_up, GRID, BLOCK, *five[turn:], *five[:turn], stream=stream) for turn in range(2)]
    graph = machine.Graph(tuple(calls[0].steps) * number)
    ready, handle = graph._ready, driver.CUstream(stream.handle)
    one_graph = host_time(lambda: driver.cuGraphLaunch(ready, handle), 500)
    raw_launches = number * host_time(raw_launch(calls[0].steps[0]))
    commands = wk.CommandList()
    for _ in range(number):
        commands << calls[0]
    replay = commands.compile()
    replayed = host_time(lambda: replay(stream), 500)
    case = f"{number} launches, "
    report.rows += [
        Row(case + "replay() / a raw graph launch", replayed, one_graph, goal=1.2),
        Row(case + "replay() / raw launches", replayed, raw_launches),
        Row(
            case + "recorded anew, unchanged / a raw graph launch",
            again(stream, calls[:1], number),
            one_graph,
            goal=1.2,
        ),
        Row(case + "recorded anew, all changed / raw launches", again(stream, calls, number), raw_launches, goal=1),
    ]


def again(stream, calls, number):
    """Time recording, committing and submitting `number` times the same of `calls`, the next one each time."""
    turns = itertools.cycle(calls)

    def work():
        call, commands = next(turns), wk.CommandList()
        for _ in range(number):
            commands << call
        stream.submit(commands.commit())

    return host_time(work, 300)
