"""What array functions are tried with on a GPU alone: many threads at once, arrays of other frameworks."""

import importlib
import threading

import numpy as np

import warpkit as wk


def on_eight_threads(work):
    """Run `work(stream)` on eight threads at once: some share a stream, some have their own."""
    shared = wk.Stream()
    streams = [shared, shared, shared, 2, 2, None, wk.Stream(), wk.Stream()]
    threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def imported(name):
    """Return a framework, or None: the tests of arrays say which ones are missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def views_of(library):
    """Return (a framework's view, NumPy's) of a matrix: all of it first, parts of it, its transpose."""
    values = np.random.default_rng(2).integers(-9, 9, (300, 700)).astype(np.float32)
    x = library.tensor(values, device="cuda") if library.__name__ == "torch" else library.asarray(values)
    return [(x, values), (x[5:, 3:], values[5:, 3:]), (x.T, values.T)]


def zeros_of(library, shape):
    """Return a framework's array of zeros on the GPU."""
    return library.zeros(shape, device="cuda") if library.__name__ == "torch" else library.zeros(shape, np.float32)
