"""launch and prepare: users' own kernels, at a raw launch's cost, on any stream."""

import gc
import textwrap
import threading

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.capture import Capture
from tests.processes import run_apart
from warpkit.errors import Refused
from warpkit.host import program
from warpkit.host.arrays import as_argument
from warpkit.host.launch import program_of
from warpkit.simt import machine

FACTOR = 3


@cuda.jit
def scale(x, y, factor):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * factor


def device(values):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values))


@pytest.mark.parametrize("n", [0, 1, 33, 1000])
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c8", "u1"])
def test_a_kernel_is_launched(n, dtype):
    x, y = device(np.arange(n).astype(dtype)), device(np.zeros(n, dtype))
    wk.launch(scale, -(-n // 64), 64, x, y, np.dtype(dtype).type(2))
    np.testing.assert_array_equal(y.copy_to_host(), np.arange(n).astype(dtype) * np.dtype(dtype).type(2))


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[::-1], np.s_[5:], np.s_[3:4]])
def test_strided_arrays_are_read_as_they_are(part):
    x, y = device(np.arange(50)), device(np.zeros(50, np.int64))
    wk.launch(scale, 2, 32, x[part], y[part], 2)
    wanted = np.zeros(50, np.int64)
    wanted[part] = 2 * np.arange(50)[part]
    np.testing.assert_array_equal(y.copy_to_host(), wanted)


def test_grids_and_blocks_of_three_axes():
    @cuda.jit
    def where(out):
        x, y, z = cuda.grid(3)
        if x < out.shape[2] and y < out.shape[1] and z < out.shape[0]:
            out[z, y, x] = 100 * z + 10 * y + x

    out = device(np.zeros((3, 5, 7), np.int32))
    wk.launch(where, (2, 3, 1), (4, 2, 3), out)
    z, y, x = np.indices((3, 5, 7))
    np.testing.assert_array_equal(out.copy_to_host(), 100 * z + 10 * y + x)


def test_tuples_and_records_are_arguments():
    record = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def take(pair, held, out):
        x, factor = pair
        out[0] = x[1] * factor[0] + factor[1]
        out[1] = held.a + held.b

    out = device(np.zeros(2))
    wk.launch(take, 1, 1, (device(np.array([1.0, 2.0])), (10, 0.5)), np.array((3, 0.25), record)[()], out)
    assert out.copy_to_host().tolist() == [20.5, 3.25]


def test_dynamic_shared_memory():
    @cuda.jit
    def reverse(x):
        held = cuda.shared.array(0, np.int64)
        i = cuda.threadIdx.x
        held[i] = x[i]
        cuda.syncthreads()
        x[i] = held[cuda.blockDim.x - 1 - i]

    x = device(np.arange(64))
    wk.launch(reverse, 1, 64, x, shared=64 * 8)
    assert x.copy_to_host().tolist() == list(range(64))[::-1]


def test_an_empty_grid_launches_nothing():
    x = device(np.ones(3))
    wk.launch(scale, 0, 32, x, x, 2)
    wk.launch(scale, (4, 0), 32, x, x, 2)
    wk.prepare(scale, 0, 32, x, x, 2)()
    assert x.copy_to_host().tolist() == [1] * 3


WRONG = [
    (lambda x: wk.launch(scale, -1, 32, x, x, 2), "grid"),
    (lambda x: wk.launch(scale, 1, 0, x, x, 2), "block"),
    (lambda x: wk.launch(scale, (1, 1, 1, 1), 32, x, x, 2), "grid"),
    (lambda x: wk.launch(scale, 1.5, 32, x, x, 2), "grid"),
    (lambda x: wk.launch(scale, 1, 2048, x, x, 2), "at most 1024 threads, not 2048"),  # P36
    (lambda x: wk.launch(3, 1, 32, x), "a kernel is a function decorated with cuda.jit, not a int"),
    (lambda x: wk.launch(scale, 1, 32, np.zeros(3), x, 2), "to_device"),
    (lambda x: wk.launch(cuda.jit(device=True)(lambda x: x), 1, 32, x), "is a device function"),
    (lambda x: wk.launch(scale, 1, 32, x, x, "two"), "str"),
    (lambda x: wk.launch(scale, 1, 32, x, x, 2, stream="fast"), "stream"),
    (lambda x: wk.prepare(scale, 1), "grid, block"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_cannot_be_launched_is_one_sentence(number):
    wrong, said = WRONG[number]
    x = device(np.ones(3))
    with pytest.raises((Refused, ValueError), match=said) as found:
        wrong(x)
    assert "\n" not in str(found.value)
    assert x.copy_to_host().tolist() == [1] * 3


def test_prepared_calls_repeat_and_take_other_arguments():
    x, y, z = device(np.arange(40.0)), device(np.zeros(40)), device(np.zeros(40))
    call = wk.prepare(scale, 2, 32, x, y, 2.0)
    assert y.copy_to_host().tolist() == [0] * 40
    call()
    wk.synchronize()
    call(wk.Stream())
    wk.synchronize()
    assert y.copy_to_host().tolist() == (2 * np.arange(40.0)).tolist()
    assert call.bind(y=z, factor=5.0) is call
    call()
    assert z.copy_to_host().tolist() == (5 * np.arange(40.0)).tolist()
    for wrong, said in [
        ({"w": x}, "no argument 'w', only x, y, factor"),
        ({"y": device(np.zeros(40, np.float32))}, "y was prepared as"),
        ({"factor": 1}, "factor was prepared as"),
    ]:
        with pytest.raises(Refused, match=said):
            call.bind(**wrong)


def test_a_prepared_call_owns_what_it_uses():
    x = device(np.arange(1 << 12))
    y = device(np.zeros(1 << 12, np.int64))
    call = wk.prepare(scale, 16, 256, x, y, 2)
    del x
    gc.collect()
    others = [device(np.full(1 << 12, 99)) for _ in range(5)]
    call()
    assert y.copy_to_host().tolist() == (2 * np.arange(1 << 12)).tolist()
    del others


def test_a_changed_global_is_seen():
    global FACTOR

    @cuda.jit
    def by_global(x):
        x[cuda.grid(1)] *= FACTOR

    x = device(np.ones(32, np.int64))
    for value in (4, 8, 4):
        FACTOR = value
        wk.launch(by_global, 1, 32, x)
    assert x.copy_to_host().tolist() == [128] * 32


def test_a_changed_captured_value_is_seen_and_captured_arrays_are_read_each_time():
    factor, table, other = 2, np.arange(32), device(np.arange(32))

    @cuda.jit
    def by_cell(x):
        i = cuda.grid(1)
        x[i] = x[i] * factor + table[i] + other[i]

    x = device(np.ones(32, np.int64))
    wk.launch(by_cell, 1, 32, x)
    factor, table[:] = 10, 100
    wk.launch(by_cell, 1, 32, x)
    other = device(np.full(32, 1000))
    wk.launch(by_cell, 1, 32, x)
    wanted = (2 + 2 * np.arange(32)) * 10 + 100 + np.arange(32)
    assert x.copy_to_host().tolist() == (wanted * 10 + 1100).tolist()


def test_equal_closures_share_a_kernel_and_many_different_ones_do_not_pile_up():
    def make(value):
        def kernel(x):
            x[cuda.grid(1)] += value

        return kernel

    x = device(np.zeros(32, np.int64))
    before = len(program._compiled)
    for _ in range(5):
        wk.launch(make(int("1000000")), 1, 32, x)
    assert x.copy_to_host().tolist() == [5_000_000] * 32
    assert len(program._compiled) - before <= (5 if machine.SIMULATOR else 1)


def test_p15_kernels_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(program, "MOST_KERNELS", 8)

    def make(value):
        def kernel(x):
            x[0] = value

        return kernel

    x = device(np.zeros(1, np.int64))
    held = [make(value) for value in range(12)]
    for _ in range(2):
        for value, kernel in enumerate(held):
            wk.launch(kernel, 1, 1, x)
            assert x.copy_to_host()[0] == value
    assert len(program._compiled) <= 8


def test_one_program_a_kernel():
    assert program_of(scale) is program_of(scale)


def test_p30_eight_threads_begin_at_once():
    kernels = []
    for dtype in "i4 u4 i8 f4 f8 c8 u1 i2".split():
        x = device(np.arange(64).astype(dtype))
        kernels.append((x, device(np.zeros(64, dtype)), np.dtype(dtype).type(3)))
    barrier, failed = threading.Barrier(8), []

    @cuda.jit
    def fresh(x, y, factor):
        i = cuda.grid(1)
        y[i] = x[i] * factor

    def work(x, y, factor):
        try:
            barrier.wait()
            for _ in range(3):
                wk.launch(fresh, 2, 32, x, y, factor)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=each) for each in kernels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wk.synchronize()
    assert failed == []
    for x, y, factor in kernels:
        np.testing.assert_array_equal(y.copy_to_host(), (np.arange(64) * 3).astype(y.dtype))
        del x, factor


LAUNCHED = """
import os
import sys
import numpy as np
from numba import cuda
import warpkit as wk

@cuda.jit
def triple(x):
    x[cuda.grid(1)] *= 3

x = cuda.to_device(np.ones(32))
wk.launch(triple, 1, 32, x)
"""


def launched_then(code):
    """Return a program that has launched `triple` on `x` before it does the rest."""
    return LAUNCHED + textwrap.dedent(code)


@pytest.mark.gpu
def test_a_second_process_does_not_compile(tmp_path):
    code = """
        assert x.copy_to_host().tolist() == [3] * 32
        print("warpkit.simt.numba_cuda.compiler" in sys.modules)
    """
    assert run_apart(launched_then(code), tmp_path) == "True\n"
    assert run_apart(launched_then(code), tmp_path) == "False\n"


@pytest.mark.gpu
def test_p29_after_a_fork_the_error_is_clear(tmp_path):
    code = """
        cuda.synchronize()
        if not (child := os.fork()):
            try:
                wk.launch(triple, 1, 32, x)
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    """
    assert '"spawn"' in run_apart(launched_then(code), tmp_path)


@pytest.mark.gpu
def test_p29_fork_before_the_first_use_works(tmp_path):
    code = """
        import os
        import numpy as np
        import warpkit as wk

        child = os.fork()
        from numba import cuda
        x = cuda.to_device(np.ones(32))

        @cuda.jit
        def triple(x):
            x[cuda.grid(1)] *= 3

        wk.launch(triple, 1, 32, x)
        assert x.copy_to_host().tolist() == [3] * 32
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("both")
    """
    assert run_apart(code, tmp_path) == "both\n"


@pytest.mark.gpu
def test_a_kernel_that_was_never_used_is_captured_and_replayed():
    @cuda.jit
    def never(x, factor):
        x[cuda.grid(1)] *= factor

    x, stream = device(np.ones(64)), wk.Stream()
    with Capture(stream) as replay:
        wk.launch(never, 2, 32, x, 2.0, stream=stream)
    for _ in range(10):
        replay.launch()
    stream.synchronize()
    assert x.copy_to_host().tolist() == [1024] * 64


@pytest.mark.gpu
def test_options_of_the_decorator_are_kept():
    @cuda.jit(max_registers=24, launch_bounds=128)
    def bound(x):
        x[cuda.grid(1)] *= 3

    x = device(np.ones(64))
    wk.launch(bound, 1, 64, x)
    compiled, _ = program_of(bound).compiled((as_argument(x, 0).spec,))
    assert compiled.kernel.registers <= 24
    assert compiled.kernel.max_threads == 128
    with pytest.raises(ValueError, match="128 threads a block"):
        wk.launch(bound, 1, 256, x)


@pytest.mark.gpu
def test_kernels_with_debug_go_through_numba():
    @cuda.jit(debug=True, opt=False)
    def checked(x):
        if cuda.grid(1) == 5:
            raise ValueError("five")
        x[cuda.grid(1)] = 1

    x = device(np.zeros(32))
    with pytest.raises(ValueError, match="five"):
        wk.launch(checked, 1, 32, x)
    with pytest.raises(Refused, match="numba's own launch"):
        wk.prepare(checked, 1, 32, x)


@pytest.mark.gpu
def test_p32_nothing_goes_to_the_default_stream():
    """A kernel that spins on the default stream does not keep work on a stream of its own waiting."""

    @cuda.jit
    def spin(flag, turns):
        for _ in range(turns):
            if cuda.atomic.add(flag, 0, 0) != 0:
                break

    flag, x = device(np.zeros(1, np.int32)), device(np.ones(32))
    stream = wk.Stream()
    wk.launch(scale, 1, 32, x, x, 2.0, stream=stream)
    stream.synchronize()
    wk.launch(spin, 1, 1, flag, 20_000_000)
    wk.launch(scale, 1, 32, x, x, 3.0, stream=stream)
    stream.synchronize()
    assert not machine.stream_query(0)
    wk.synchronize()
    assert x.copy_to_host().tolist() == [6] * 32
