"""What a launched kernel captures: arrays are read and written where they are, values are those of now."""

import types
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import Refused
from warpkit.host import program
from warpkit.simt import machine

N = 64
SCALE = 3
TABLE = np.arange(N, dtype=np.int64)
RECORD = np.dtype([("a", "i4"), ("b", "f8")], align=True)


def device(values):
    return machine.to_device(np.asarray(values))


def run(kernel, *args, dtype=np.float64):
    """Launch over N threads and return what the kernel wrote into its first argument."""
    out = device(np.zeros(N, dtype))
    wk.launch(kernel, 2, N // 2, out, *args)
    return out.copy_to_host()


def reading(array):
    def kernel(out):
        i = cuda.grid(1)
        out[i] = array[i]

    return kernel


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
def test_a_numpy_array(dtype):
    array = np.arange(N).astype(dtype)
    assert run(reading(array), dtype=dtype).tolist() == array.tolist()


@pytest.mark.parametrize("part", [np.s_[:N], np.s_[::2], np.s_[N - 1 :: -1], np.s_[N:]])
def test_parts_of_arrays_of_the_host_and_of_the_device(part):
    array = np.arange(2.0 * N)
    assert run(reading(array[part])).tolist() == array[part].tolist()
    assert run(reading(device(array)[part])).tolist() == array[part].tolist()


def test_arrays_of_several_dimensions_orders_and_none():
    square, single = np.asfortranarray(np.arange(1.0 * N * N).reshape(N, N)), np.array(2.5)
    turned = device(np.arange(1.0 * N * N).reshape(N, N)).T

    def kernel(out):
        i = cuda.grid(1)
        out[i] = square[i, 3] * single[()] + turned[i, 5]

    np.testing.assert_array_equal(run(kernel), square[:, 3] * 2.5 + (5 * N + np.arange(N)))


def test_structured_arrays():
    records = np.zeros(N, RECORD)
    records["a"], records["b"] = np.arange(N), 0.5
    held = device(records)

    def kernel(out):
        i = cuda.grid(1)
        out[i] = records[i].a + held[i].b

    np.testing.assert_array_equal(run(kernel), np.arange(N) + 0.5)


def test_a_device_array_is_written():
    written = device(np.zeros(N))

    def kernel(x):
        i = cuda.grid(1)
        written[i] = x[i] + 1

    run(kernel)
    assert written.copy_to_host().tolist() == [1.0] * N


def test_a_changed_array_is_read_anew_and_compiles_nothing(monkeypatch):
    """P11: an edit of a table is seen."""
    table, held = np.arange(1.0 * N), device(np.zeros(N))

    def kernel(out):
        i = cuda.grid(1)
        out[i] = table[i] + held[i]

    run(kernel)
    monkeypatch.setattr(machine, "compile_image", None)
    table *= 2
    assert run(kernel).tolist() == table.tolist()
    held = device(np.full(N, 5.0))
    assert run(kernel).tolist() == (table + 5).tolist()
    table = np.ones(N)
    assert run(kernel).tolist() == [6.0] * N


def helper(i):
    return TABLE[i] * SCALE


@cuda.jit(device=True)
def jitted(i):
    return helper(i) + TABLE[0]


def test_arrays_and_values_of_called_functions(monkeypatch):
    """P13."""

    def kernel(out):
        i = cuda.grid(1)
        out[i] = jitted(i) + helper(i)

    assert run(kernel).tolist() == (TABLE * 6).tolist()
    monkeypatch.setitem(globals(), "SCALE", 8)
    assert run(kernel).tolist() == (TABLE * 16).tolist()
    monkeypatch.setitem(globals(), "TABLE", TABLE + 1)
    assert run(kernel).tolist() == ((np.arange(N) + 1) * 16 + 1).tolist()
    monkeypatch.setitem(globals(), "helper", lambda i: i)
    assert run(kernel).tolist() == (np.arange(N) * 2 + 1).tolist()


def test_operators_that_capture_go_through_collectives():
    weights = np.array([0.0, 2.0])

    def weighed(a, b):
        return (a[0] + b[0], a[1] + weights[1] * b[1] / weights[1])

    def kernel(out):
        i = cuda.grid(1)
        total = wk.warp_reduce((out[i] + 1, i * 1.0), weighed)
        largest = wk.warp_reduce(i * 1.0, lambda a, b: max(a, b) + weights[0])
        out[i] = total[0] + 1000 * total[1] + largest

    warps = np.arange(N).reshape(-1, 32)
    expected = np.repeat(32 + 1000.0 * warps.sum(1) + warps.max(1), 32)
    np.testing.assert_array_equal(run(kernel), expected)


class Tables(NamedTuple):
    scale: float
    values: np.ndarray


def test_tuples_and_modules():
    config = types.ModuleType("config")
    config.inner, config.offset = types.ModuleType("config.inner"), 7
    config.inner.table, config.inner.twice = np.arange(N) * 10, lambda x: 2 * x
    tables, pair = Tables(0.5, np.arange(1.0 * N)), (device(np.ones(N)), 3)

    def kernel(out):
        i = cuda.grid(1)
        out[i] = config.inner.twice(config.inner.table[i]) + config.offset + tables.scale * tables.values[i]
        out[i] += pair[0][i] * pair[1]

    np.testing.assert_array_equal(run(kernel), np.arange(N) * 20.5 + 10)
    config.offset = 8
    np.testing.assert_array_equal(run(kernel), np.arange(N) * 20.5 + 11)


def test_nested_functions_close_over_what_the_kernel_captured():
    table, k = np.arange(1.0 * N), 4

    def kernel(out):
        i = cuda.grid(1)

        def called(j):
            return table[j] + k

        out[i] = called(i) + wk.warp_reduce(1, lambda a, b: a + b + 0 * k)

    np.testing.assert_array_equal(run(kernel), np.arange(N) + 36)


def test_equal_closures_are_compiled_once_and_different_values_each(monkeypatch):
    """P12, P14: a hundred arrays and lengths, one kernel; True, 1 and 1.0 are three."""
    compile_image, compiled = machine.compile_image, []
    monkeypatch.setenv("WARPKIT_CACHE", "0")
    monkeypatch.setattr(program, "_compiled", type(program._compiled)())
    monkeypatch.setattr(machine, "shared_key", lambda function, key: key)  # the simulator's kernels are not shared
    monkeypatch.setattr(machine, "compile_image", lambda *given: compiled.append(given[0]) or compile_image(*given))

    def make(value, array):
        def kernel(out):
            i = cuda.grid(1)
            out[i] = array[i] + value

        return kernel

    for n in range(100):
        wk.launch(make(int("1000"), device(np.full(N + n, n))), 1, 1, device(np.zeros(1)))
    assert len(compiled) == 1
    array = device(np.zeros(1))
    for value in (True, 1, 1.0, np.int8(1), True, 1):
        wk.launch(make(value, array), 1, 1, device(np.zeros(1)))
    assert len(compiled) == 5


def test_a_prepared_call_keeps_what_it_captured():
    held = device(np.arange(1.0 * N))

    def kernel(out):
        i = cuda.grid(1)
        out[i] += held[i] + TABLE[i]

    out = device(np.zeros(N))
    again = wk.prepare(kernel, 2, N // 2, out)
    for _ in range(3):
        again()
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(N) * 6.0)


def test_a_captured_numpy_array_is_not_written():
    def kernel(out):
        TABLE[0] = 1

    with pytest.raises((Refused, ValueError), match="read-only"):
        run(kernel)
    assert TABLE[0] == 0


def test_captured_arrays_promote_and_wrap_as_arguments_do():
    small, halves = np.full(N, 2**31 - 1, np.int32), device(np.full(N, 0.1, np.float32))

    def kernel(out):
        i = cuda.grid(1)
        out[i] = small[i] + small[-1] + halves[i] * 0.1

    assert run(kernel).tolist() == [2.0**32 - 2 + float(np.float32(0.1)) * 0.1] * N


@pytest.mark.gpu
def test_code_that_is_linked_from_elsewhere():
    """numba-cuda has C++ for reshaping and for functions of halves."""

    def kernel(out, halves):
        i = cuda.grid(1)
        out.reshape(8, N // 8)[i // 8, i % 8] = cuda.fp16.hsqrt(halves[i]) + out[i]

    halves = np.arange(N).astype(np.float16)
    np.testing.assert_array_equal(run(kernel, device(halves)), np.sqrt(halves).astype(np.float64))
