"""Iterations in a pipeline: command lists with callbacks, beside the form that waits after each.

An iteration: 1 MB up, three kernels of about 100 µs, 1 MB down, then 200 µs of work on the host with what has come. In
the pipeline that work is a callback, and at most `UNDER_WAY` lists are submitted ahead; the other form submits the same
list, waits, and does the work itself. The host's work is of two kinds: in Python, which keeps the interpreter's lock
all the while, and a checksum, which lets go of it.

Busy is what an iteration takes on the GPU over the time that it takes. All its work is on one stream, so nothing
overlaps, and the union of the intervals is the sum of what each kernel and copy takes alone: each measured between two
events around a hundred of a kind that were queued before, divided by a hundred.
"""

import threading
import time
import zlib

import numpy as np
from numba import cuda

import warpkit as wk

from .harness import Row

ITEMS, BLOCK, KERNELS = 1 << 18, 256, 3
KERNEL_TIME, HOST_TIME = 100.0, 200.0
ITERATIONS, WARM, UNDER_WAY, ALIKE = 1000, 50, 8, 100


@cuda.jit
def work_on(x, y, rounds):
    """Multiply and add `rounds` times."""
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(rounds):
            value = value * np.float32(0.999) + np.float32(0.5)
        y[i] = value


class Pattern:
    """The iterations: device arrays, host buffers that take turns, and what became of every iteration."""

    def __init__(self, host_work, items=ITEMS, rounds=1000, pinned=True):
        self.host_work, self.rounds, self.grid = host_work, rounds, -(-items // BLOCK)
        self.stream = wk.Stream()
        make = wk.pinned_array if pinned else np.empty
        self.hosts = [(make(items, np.float32), make(items, np.float32)) for _ in range(UNDER_WAY)]
        for turn, (source, _) in enumerate(self.hosts):
            source[:] = turn
        self.x, self.y = (cuda.device_array(items, np.float32) for _ in range(2))
        self.results = []

    def record(self, turn):
        """Return the list of an iteration, and where its result arrives."""
        source, target = self.hosts[turn % UNDER_WAY]
        commands = wk.CommandList().upload(self.x, source)
        for place in range(KERNELS):
            there, back = (self.x, self.y) if place % 2 == 0 else (self.y, self.x)
            commands.launch(work_on, self.grid, BLOCK, there, back, self.rounds)
        return commands.download(target, self.y), target

    def take(self, target):
        """Work on what has come."""
        self.host_work(target)
        self.results.append(float(target[-1]))

    def pipelined(self, iterations):
        """Submit all, wait once."""
        free = threading.Semaphore(UNDER_WAY)

        def done(target):
            self.take(target)
            free.release()

        for turn in range(iterations):
            free.acquire()
            commands, target = self.record(turn)
            self.stream << commands.add_callback(lambda target=target: done(target)).commit()
        self.stream.synchronize()

    def blocking(self, iterations):
        """Submit, wait and work, one after the other."""
        for turn in range(iterations):
            commands, target = self.record(turn)
            self.stream << commands.commit() << wk.synchronize()
            self.take(target)

    def parts(self):
        """Return what an iteration does on the GPU, as functions of a command list that append one part each."""
        source, target = self.hosts[0]
        return {
            "upload": (1, lambda commands: commands.upload(self.x, source)),
            "kernel": (
                KERNELS,
                lambda commands: commands.launch(work_on, self.grid, BLOCK, self.x, self.y, self.rounds),
            ),
            "download": (1, lambda commands: commands.download(target, self.y)),
        }

    def alone(self, append):
        """Return the µs that one part takes: a hundred alike between two events, queued behind another hundred."""
        lists = [wk.CommandList() for _ in range(3)]
        for commands in lists:
            for _ in range(ALIKE):
                append(commands)
        begin, end = wk.Event(timing=True), wk.Event(timing=True)
        for commands, event in zip(lists, (None, begin, end)):
            self.stream << commands.commit()
            if event is not None:
                event.record(self.stream)
        return begin.elapsed(end) * 1000 / ALIKE


def in_python(_):
    """Keep the interpreter busy for 200 µs."""
    end = time.perf_counter() + HOST_TIME * 1e-6
    while time.perf_counter() < end:
        pass


def checksum(nbytes):
    """Return a function that takes the CRC-32 of the first bytes."""
    return lambda target: zlib.crc32(target.view(np.uint8)[:nbytes])


def bytes_in(microseconds):
    """Return of how many bytes a CRC-32 takes as long."""
    data, times = np.ones(1 << 20, np.uint8), []
    for _ in range(20):
        begin = time.perf_counter()
        zlib.crc32(data)
        times.append(time.perf_counter() - begin)
    return min(data.size, int(data.size * microseconds * 1e-6 / min(times)))


def timed(form):
    """Return the µs of an iteration."""
    form(WARM)
    begin = time.perf_counter()
    form(ITERATIONS)
    return (time.perf_counter() - begin) * 1e6 / ITERATIONS


def run(report):
    """Fill the report."""
    trial = Pattern(in_python)
    rounds = int(trial.rounds * KERNEL_TIME / trial.alone(trial.parts()["kernel"][1]))
    works = {"in Python": in_python, "a checksum": checksum(bytes_in(HOST_TIME))}
    for name, pinned, goal in (("pinned", True, 1 / 1.5), ("pageable", False, None)):
        for what, work in works.items():
            pattern = Pattern(work, rounds=rounds, pinned=pinned)
            pipelined, ahead = timed(pattern.pipelined), pattern.results
            pattern.results = []
            blocking = timed(pattern.blocking)
            if ahead != pattern.results:
                report.errors.append(f"{name}, {what}: the two forms give different results")
            case = f"an iteration, {name} buffers, host work {what}"
            report.rows.append(Row(f"{case}: pipelined / blocking", pipelined, blocking, goal=goal))
            if pinned:
                parts = {part: (count, pattern.alone(append)) for part, (count, append) in pattern.parts().items()}
                busy = 100 * sum(count * each for count, each in parts.values()) / pipelined
                report.rows.append(Row(f"{case}: GPU idle", 100 - busy, unit="%", limit=10))
                taken = ", ".join(f"{count} × {part} {each:.1f} µs" for part, (count, each) in parts.items())
                report.notes.append(f"{name}, {what}: {taken}; busy {busy:.1f} %")
