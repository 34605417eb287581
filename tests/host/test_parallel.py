"""parallel_for: bodies and arguments of every kind, what they capture, streams, prepared calls, refusals."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.host.loops import device, device_function
from warpkit.errors import Refused
from warpkit.host import parallel_calls
from warpkit.host.ranges import dimensions_of
from warpkit.simt import machine

MOST = (2**31 - 1, 65535, 65535)
FACTOR = 3


# ------------------------------------------------------------------ bodies and arguments


def add_index(i, x, amount):
    """Add to an item, as a plain function of a module."""
    x[i] += amount + i


@pytest.mark.parametrize("make", [lambda f: f, device_function], ids=["python", "device function"])
def test_a_body_is_a_python_function_or_a_device_function(make):
    x = device(np.zeros(10))
    wk.parallel_for(10, make(add_index), x, 0.5)
    assert x.copy_to_host().tolist() == [0.5 + i for i in range(10)]


def test_a_body_is_a_lambda():
    x, y = device(np.arange(10.0)), device(np.zeros(10))
    wk.parallel_for(10, lambda i: operator.setitem(y, i, 2 * x[i]))
    assert y.copy_to_host().tolist() == [2.0 * i for i in range(10)]


def test_a_body_calls_functions_and_reads_globals():
    y = device(np.zeros(8, np.int64))

    def inner(i):
        return FACTOR * i + 1

    def body(i):
        y[i] = inner(i)

    wk.parallel_for(8, body)
    assert y.copy_to_host().tolist() == [3 * i + 1 for i in range(8)]


def test_a_body_without_arguments_or_result_and_one_that_returns():
    wk.parallel_for(5, lambda i: None)
    wk.parallel_for((2, 2), lambda i, j: i + j)


def filling(y, k):
    """Return a body that reads a captured number and a global."""

    def fill(i):
        y[i] = k + FACTOR

    return fill


def test_p13_captured_numbers_are_seen_when_they_change(monkeypatch):
    y = device(np.zeros(4, np.int64))
    for k in (4, 8):
        fill = filling(y, k)
        wk.parallel_for(4, fill)
        assert y.copy_to_host().tolist() == [k + FACTOR] * 4
    monkeypatch.setitem(globals(), "FACTOR", 100)
    wk.parallel_for(4, fill)
    assert y.copy_to_host().tolist() == [108] * 4


def test_captured_arrays_are_seen_when_they_or_their_contents_change():
    y = device(np.zeros(6, np.int64))
    table = device(np.arange(6))

    def read(i):
        y[i] = table[i]

    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == list(range(6))
    table.copy_to_device(np.arange(6) * 10)
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [10 * i for i in range(6)]
    table = device(np.arange(6) + 7)
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [i + 7 for i in range(6)]


def test_captured_numpy_arrays_are_copied_at_every_call():
    y = device(np.zeros(6, np.int64))
    table = np.arange(6)

    def read(i):
        y[i] = table[i]

    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == list(range(6))
    table[3] = -1
    wk.parallel_for(6, read)
    assert y.copy_to_host().tolist() == [0, 1, 2, -1, 4, 5]


RECORD = np.dtype([("scale", np.float32), ("table", np.float32, 8)], align=True)


def test_tuples_and_records_are_arguments():
    y = device(np.zeros(8, np.float32))
    x, record = device(np.arange(8, dtype=np.float32)), np.zeros(1, RECORD)[0]
    record["scale"], record["table"] = 2, np.arange(8) / 4

    def body(i, y, pair, held):
        y[i] = pair[0][i] * held.scale + held.table[i & 7] + pair[1][1]

    wk.parallel_for(8, body, y, (x, (5, 0.5)), record)
    assert y.copy_to_host().tolist() == [i * 2 + i / 4 + 0.5 for i in range(8)]


@pytest.mark.parametrize("bytes_of_table", [2048, 8192])
def test_a_large_table_is_read_by_a_run_time_index(bytes_of_table):
    entries = bytes_of_table // 4
    table = np.random.default_rng(5).random(entries).astype(np.float32)
    y = device(np.zeros(500, np.float32))

    def look_up(i):
        y[i] = table[(i * 37) % entries]

    wk.parallel_for(500, look_up)
    assert (y.copy_to_host() == table[(np.arange(500) * 37) % entries]).all()


def test_strided_arrays_are_arguments():
    x, y = device(np.arange(40).reshape(5, 8)), device(np.zeros((8, 5), np.int64))

    def transpose(i, j, x, y):
        y[i, j] = x[i, j]

    wk.parallel_for((8, 5), transpose, x.T, y)
    assert (y.copy_to_host() == np.arange(40).reshape(5, 8).T).all()


class Callable:
    """No function, though it can be called."""

    def __call__(self, i):
        """Do nothing."""


WRONG = [
    (lambda x: wk.parallel_for(3, 5), Refused, "the body must be a function, not a int"),
    (lambda x: wk.parallel_for(3, int), Refused, "not the class int"),
    (lambda x: wk.parallel_for(3, np.negative), Refused, "not a ufunc: write a def"),
    (lambda x: wk.parallel_for(3, Callable()), Refused, "not a Callable: write a def"),
    (lambda x: wk.parallel_for(3, functools.partial(add_index, x=x)), Refused, "not a partial"),
    (lambda x: wk.parallel_for(3, Callable().__call__), Refused, "not a method"),
    (lambda x: wk.parallel_for(0, Callable()), Refused, "not a Callable: write a def"),
    (lambda x: wk.parallel_for((3, 2), lambda i: None), Refused, r"2 indices and 0 arguments, which <lambda>\(i\)"),
    (
        lambda x: wk.parallel_for(3, add_index, x),
        Refused,
        r"1 indices and 1 arguments, which add_index\(i, x, amount\)",
    ),
    (lambda x: wk.parallel_for(wk.Range(0, 3, 0), add_index, x, 1), ValueError, "step 0"),
    (lambda x: wk.parallel_for(wk.Range(0, 3, "2.0"), add_index, x, 1), TypeError, "'2.0'"),
    (lambda x: wk.parallel_for((1 << 40, 1 << 40), add_index, x, 1), ValueError, r"2\*\*63"),
    (lambda x: wk.parallel_for(3, add_index, np.zeros(3), 1), Refused, "to_device"),
    (lambda x: wk.parallel_for(3, add_index, x, "one"), Refused, "str"),
    (lambda x: wk.parallel_for(0, add_index, x, "one"), Refused, "str"),
    (lambda x: wk.parallel_for(3, add_index, x, 1, stream="fast"), Refused, "stream"),
    (lambda x: wk.prepare(wk.parallel_for, 3, add_index, x, 1.0).bind(y=x), Refused, "'y', only x, amount"),
    (lambda x: wk.prepare(wk.parallel_for, 3, add_index, x, 1.0).bind(amount=1), Refused, "amount was prepared as"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_one_sentence_and_launches_nothing(number):
    call, kind, said = WRONG[number]
    x = device(np.zeros(3))
    with pytest.raises(kind, match=said) as found:
        call(x)
    assert "\n" not in str(found.value)
    assert not x.copy_to_host().any()


# ------------------------------------------------------------------ empty ranges, streams, prepared calls


@pytest.fixture
def no_launch(monkeypatch):
    """Make every launch an error."""

    def launched(*_):
        raise AssertionError("a kernel was launched")

    monkeypatch.setattr(machine.Kernel, "launch", launched)
    monkeypatch.setattr(machine.Kernel, "bind", launched)


@pytest.mark.parametrize(
    "given", [0, -5, range(0), range(10, 0), (0, 7), (7, 0), (3, 0, 2), wk.Range(5, 5), (1 << 62, 0, 1 << 62)], ids=str
)
def test_p01_p02_an_empty_range_launches_nothing(no_launch, given):
    ndim = len(dimensions_of(given))
    wk.parallel_for(given, [lambda i: None, lambda i, j: None, lambda i, j, k: None][ndim - 1])
    wk.prepare(wk.parallel_for, given, lambda *_: None)()


def test_p01_an_empty_range_in_a_list_keeps_its_callback():
    stream, called = wk.Stream(), []
    work = wk.CommandList()
    work.parallel_for(0, lambda i: None)
    work.add_callback(lambda: called.append(1))
    stream.submit(work.commit())
    stream.synchronize()
    assert called == [1]


def test_work_goes_to_the_stream_that_is_given():
    stream = wk.Stream()
    x = device(np.zeros(100))
    wk.parallel_for(100, add_index, x, 1.0, stream=stream)
    wk.parallel_for(100, add_index, x, 1.0, stream=stream.handle)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [2 * (1 + i) for i in range(100)]


def test_a_prepared_call_repeats_and_takes_other_arguments():
    x, y = device(np.zeros(5000)), device(np.zeros(5000))
    call = wk.prepare(wk.parallel_for, 5000, add_index, x, 1.0)
    assert not x.copy_to_host().any()
    call()
    wk.synchronize()
    call(wk.Stream())
    wk.synchronize()
    assert (x.copy_to_host() == 2 * (1 + np.arange(5000.0))).all()
    call.bind(x=y, amount=0.5)()
    assert (y.copy_to_host() == 0.5 + np.arange(5000.0)).all()


def test_a_prepared_call_keeps_the_arrays_that_its_body_captures():
    y = device(np.zeros(10))
    call = wk.prepare(wk.parallel_for, 10, capturing(y))
    call()
    assert y.copy_to_host().tolist() == [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def capturing(y):
    """Return a body that captures a new array of 0 … 9 and nothing else keeps alive."""
    x = device(np.arange(10.0))
    return lambda i: operator.setitem(y, i, x[i])


def test_it_is_a_command_of_a_list():
    stream, x, host = wk.Stream(), device(np.zeros(300)), np.zeros(300)
    work = wk.CommandList()
    work.parallel_for(300, add_index, x, 1.0).parallel_for(300, add_index, x, 2.0).download(host, x)
    stream.submit(work.commit())
    stream.synchronize()
    assert (host == 3 + 2 * np.arange(300.0)).all()


def plus_one(x, y):
    """Return a body that captures two arrays."""
    return lambda i: operator.setitem(y, i, x[i] + 1)


@pytest.mark.gpu  # in the simulator every function is a kernel of its own
def test_p12_equal_bodies_with_other_arrays_are_one_kernel():
    def call(n):
        y = device(np.zeros(n, np.int64))
        wk.parallel_for(n, plus_one(device(np.arange(n)), y))
        assert y.copy_to_host().tolist() == list(range(1, n + 1))

    call(1)
    before = len(parallel_calls._kernels)
    for n in range(2, 101):
        call(n)
    assert len(parallel_calls._kernels) == before


def test_a_body_may_use_collectives_of_a_warp():
    out = device(np.zeros(64, np.int64))

    def body(i):
        out[i] = wk.warp_active_sum(np.int64(i))

    wk.parallel_for(64, body)
    assert out.copy_to_host().tolist() == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32


@cuda.jit(device=True)
def squared(x):
    """Return x * x."""
    return x * x


def test_a_body_uses_device_functions():
    out = device(np.zeros(9, np.int64))
    wk.parallel_for((3, 3), lambda i, j, out: operator.setitem(out, 3 * i + j, squared(i) + j), out)
    assert out.copy_to_host().tolist() == [i * i + j for i in range(3) for j in range(3)]
