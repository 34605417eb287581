"""Reductions in the life of a process: its first calls, many threads, many calls, many functions."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.capture import Capture
from tests.processes import run_apart
from warpkit import device
from warpkit.host import program
from warpkit.simt import machine

from .reductions import POLICY, result, to_device


def test_eight_threads_make_the_first_calls_of_a_process(tmp_path):
    code = """
        import threading
        import warnings
        import numpy as np
        from numba import cuda
        from warpkit import device

        warnings.simplefilter("ignore")
        DTYPES = "i1 u1 i2 u4 i8 f4 f8 c8".split()
        arrays = [np.arange(1, 200).astype(dtype) for dtype in DTYPES]
        barrier, found = threading.Barrier(8), {}

        def work(number):
            barrier.wait()
            x = cuda.to_device(arrays[number])
            found[number] = device.sum(x), device.reduce(x, lambda a, b: b)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print([(complex(found[n][0]), complex(found[n][1])) == (x.sum(), x[-1]) for n, x in enumerate(arrays)])
    """
    assert run_apart(code, tmp_path) == f"{[True] * 8}\n"


def test_equal_functions_share_a_kernel():
    def larger_by(step):
        return lambda a, b: a if a > b + step else b

    x = to_device(np.arange(300))
    device.reduce(x, larger_by(int("100000")), policy=POLICY)
    before = len(program._compiled)
    for _ in range(100 if not machine.SIMULATOR else 3):
        device.reduce(x, larger_by(int("100000")), policy=POLICY)
    assert len(program._compiled) == before or machine.SIMULATOR


@pytest.mark.gpu
def test_many_calls_take_no_more_memory(tmp_path):
    code = """
        import gc
        import resource
        import numpy as np
        import warpkit as wk
        from numba import cuda
        from warpkit import device
        from warpkit.simt.numba_cuda.host import memory

        def resident():
            with open("/proc/self/statm") as text:
                return int(text.read().split()[1]) * 4096

        x, out = cuda.to_device(np.ones(5000, np.float32)), cuda.to_device(np.zeros(1, np.float32))
        streams = [wk.Stream() for _ in range(4)]

        def calls(number):
            for turn in range(number):
                device.sum(x, out=out, stream=streams[turn & 3])
                if turn % 500 == 0:
                    wk.synchronize()
            wk.synchronize()
            gc.collect()
            return resident(), memory._in_use

        host, device_bytes = calls(2_000)
        for _ in range(2):
            more_host, more_device = calls(50_000)
            assert more_device == device_bytes, more_device - device_bytes
            assert more_host - host < 1 << 20, more_host - host
        assert out.copy_to_host()[0] == 5000
        print("flat")
    """
    assert run_apart(code, tmp_path) == "flat\n"


@pytest.mark.gpu
def test_a_captured_reduction_follows_its_input():
    x, out, stream = to_device(np.zeros(100_000)), result(np.float64), wk.Stream()
    call = wk.prepare(device.sum, x, out=out, stream=stream)
    with Capture(stream) as replay:
        call()
    for turn in range(100):
        wk.launch(filled, 100_000 // 250, 250, x, float(turn), stream=stream)
        replay.launch()
        device.sum(x, out=result(np.float64), stream=stream)  # other work between replays
        stream.synchronize()
        assert out.copy_to_host()[0] == 100_000 * turn


def filled(x, value):
    x[cuda.grid(1)] = value
