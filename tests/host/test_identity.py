"""What a function is: equal where it compiles to the same, different where it does not, and cheap to ask for again."""

import enum
import functools
import gc
import os
import subprocess
import sys
import textwrap
import threading
import types
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda

import warpkit
from warpkit.errors import Refused
from warpkit.host.identity import identity
from warpkit.simt import identity as implementation

pytestmark = pytest.mark.everywhere

K = 4
TABLE = np.arange(8.0)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    first: int
    second: int


def closing_over(value):
    def kernel(x):
        x[0] = value

    return kernel


def calling(helper):
    def kernel(x):
        x[0] = helper(x[1])

    return kernel


def key(function):
    return identity(function).key


VALUES = {
    "true": lambda: True,
    "one": lambda: 1,
    "one_float": lambda: 1.0,
    "one_complex": lambda: 1 + 0j,
    "text": lambda: "1",
    "bytes": lambda: b"1",
    "none": lambda: None,
    "ellipsis": lambda: ...,
    "big": lambda: int("1000000"),
    "int64": lambda: np.int64(1),
    "int32": lambda: np.int32(1),
    "float64": lambda: np.float64(1),
    "bool_": lambda: np.bool_(True),
    "half": lambda: np.float16(1),
    "zero": lambda: 0.0,
    "minus_zero": lambda: -0.0,
    "nan": lambda: float("nan"),
    "np_nan": lambda: np.float64("nan"),
    "complex_zero": lambda: complex(0.0, -0.0),
    "record": lambda: np.array([(1, 2.0)], "i4,f8")[0],
    "tuple": lambda: (1, 2),
    "tuple_bool": lambda: (True, 2),
    "tuple_nested": lambda: (1, (2, 3.0)),
    "named": lambda: Pair(1, 2),
    "dtype": lambda: np.dtype("f4"),
    "dtype_record": lambda: np.dtype([("a", "f4")]),
    "class": lambda: np.float32,
    "python_class": lambda: float,
    "red": lambda: Colour.RED,
    "blue": lambda: Colour.BLUE,
    "colours": lambda: Colour,
    "low": lambda: Level.LOW,
    "ufunc": lambda: np.add,
    "ufunc_multiply": lambda: np.multiply,
    "builtin": lambda: max,
    "operator": lambda: warpkit.add,
    "lambda": lambda: lambda a, b: a + b,
    "partial": lambda: functools.partial(max, 1),
    "array": lambda: np.zeros(3),
    "array_int": lambda: np.zeros(3, np.int64),
    "array_2d": lambda: np.zeros((3, 3)),
    "two_arrays": lambda: (np.zeros(3), np.ones(3)),
}


@pytest.mark.parametrize("name", VALUES)
def test_equal_values_are_one_key_and_all_others_are_not(name):
    """P14: values are told apart by type and value, not by where they live."""
    function = closing_over(VALUES[name]())
    assert key(function) is key(closing_over(VALUES[name]()))
    same = [other for other in VALUES if key(closing_over(VALUES[other]())) is key(function)]
    assert same == [name]


@pytest.mark.parametrize("name", VALUES)
def test_what_has_a_value_has_a_digest(name):
    digest = identity(closing_over(VALUES[name]())).digest
    assert digest == identity(closing_over(VALUES[name]())).digest
    assert len(digest) == 64


def test_an_object_without_a_value_is_itself_and_has_no_digest():
    class Thing:
        pass

    one = Thing()
    assert key(closing_over(one)) is key(closing_over(one))
    assert key(closing_over(one)) is not key(closing_over(Thing()))
    assert identity(closing_over(one)).digest is None


def test_aliased_arrays_differ_from_distinct_ones():
    one, two = np.zeros(3), np.zeros(3)
    assert key(closing_over((one, one))) is not key(closing_over((one, two)))
    assert len(identity(closing_over((one, one))).arrays) == 1


def test_fifty_equal_closures_have_one_key():
    """P14."""
    assert len({key(closing_over(int("1000000"))) for _ in range(50)}) == 1
    assert len({key(closing_over(np.int64(7))) for _ in range(50)}) == 1


def test_a_hundred_arrays_of_all_lengths_have_one_key():
    """P12: neither content nor length counts."""
    functions = [closing_over(np.full(n + 1, float(n))) for n in range(100)]
    assert len({key(function) for function in functions}) == 1
    assert [identity(function).arrays[0].size for function in functions] == list(range(1, 101))


def test_arrays_are_in_the_order_of_the_code_with_those_of_called_functions_in_place():
    one, two, three = np.zeros(1), np.zeros(2, np.int8), np.zeros((3, 3))

    def helper(x):
        return x + two[0] + three[0, 0]

    def kernel(x):
        x[0] = one[0] + helper(x[1]) + three[1, 1] + TABLE[0]

    known = identity(kernel)
    assert {id(array) for array in known.arrays} == {id(array) for array in (one, two, three, TABLE)}
    assert [spec.dtype for spec in known.specs] == [array.dtype for array in known.arrays]
    assert all(spec.contiguous and spec.readonly for spec in known.specs)


def test_device_arrays_count_with_their_layout_and_may_be_written():
    array = cuda_array((6, 4))
    spec = identity(closing_over(array)).specs[0]
    assert (spec.ndim, spec.contiguous, spec.readonly) == (2, True, False)
    strided = identity(closing_over(array[:, ::2]))
    assert not strided.specs[0].contiguous
    assert strided.key is not key(closing_over(array))


class OnDevice:
    """The least that says: I am on the device."""

    def __init__(self, array, readonly=False):
        self.array = array
        strides = None if array.flags.c_contiguous else array.strides
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "strides": strides, "version": 3,
            "data": (array.ctypes.data, readonly), "descr": array.dtype.descr,
        }  # fmt: skip

    __cuda_array_interface__ = None

    def __getitem__(self, index):
        return OnDevice(self.array[index])


def cuda_array(shape, dtype=np.float32, readonly=False):
    return OnDevice(np.zeros(shape, dtype), readonly)


def test_read_only_and_structured_device_arrays():
    assert identity(closing_over(cuda_array(3, readonly=True))).specs[0].readonly
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    assert identity(closing_over(cuda_array(3, dtype))).specs[0].dtype == dtype
    assert identity(closing_over(cuda_array((1, 5))[:, :1])).specs[0].contiguous  # one element has no order


def test_a_tensor_that_cannot_be_read_is_refused_with_its_own_reason():
    class Tensor:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("requires grad. Use tensor.detach()")

    class HostTensor:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError

    with pytest.raises(Refused, match=r"Tensor: requires grad\. Use tensor\.detach\(\)"):
        identity(closing_over(Tensor()))
    assert identity(closing_over(HostTensor())).arrays == ()


def test_code_counts():
    assert key(lambda x: x + 1) is not key(lambda x: x + 2)
    assert key(lambda x: x + 1) is not key(lambda x: x + 1.0)
    assert key(lambda x: x * 0.0) is not key(lambda x: x * -0.0)
    made = [types.FunctionType(compile("lambda x: x + K", "a", "eval").co_consts[0], {"K": 1}) for _ in range(2)]
    assert key(made[0]) is key(made[1])


def test_defaults_count():
    def with_default(value):
        def kernel(x, y=value):
            x[0] = y

        return kernel

    def with_keyword(value):
        def kernel(x, *, y=value):
            x[0] = y

        return kernel

    for make in (with_default, with_keyword):
        assert key(make(1)) is key(make(1))
        assert len({key(make(value)) for value in (1, True, 1.0, 2, (1, 2))}) == 5
        frozen = np.zeros(3)  # not an argument of the kernel, hence known as an object only
        assert key(make(frozen)) is not key(make(np.zeros(3)))
        assert identity(make(frozen)).digest is None
        assert identity(make(frozen)).arrays == ()


def test_a_changed_default_or_code_is_seen():
    def kernel(x, y=1):
        x[0] = y

    before = key(kernel)
    kernel.__defaults__ = (2,)
    assert key(kernel) is not before
    kernel.__code__ = (lambda x, y: x).__code__
    assert key(kernel) is not before


def test_a_changed_global_is_seen_and_a_restored_one_too(monkeypatch):
    """P13."""

    def kernel(x):
        x[0] = K

    before = identity(kernel)
    assert identity(kernel) is before
    monkeypatch.setitem(globals(), "K", 8)
    assert key(kernel) is not before.key
    monkeypatch.setitem(globals(), "K", 4)
    assert key(kernel) is before.key
    monkeypatch.delitem(globals(), "K")
    assert key(kernel) is not before.key


def test_a_changed_cell_is_seen():
    """P13."""
    value = 4

    def kernel(x):
        x[0] = value

    before = key(kernel)
    value = 8
    assert key(kernel) is not before
    value = 4
    assert key(kernel) is before
    del value
    assert key(kernel) is not before
    value = 4
    assert key(kernel) is before


@cuda.jit(device=True)
def jitted_helper(x):
    return x + K


def plain_helper(x):
    return jitted_helper(x) * 2


def test_what_a_called_function_reads_is_seen(monkeypatch):
    """P13: through a decorated helper inside a plain one, and through a function nested in the kernel."""

    def kernel(x):
        def inner(y):
            return y + K

        x[0] = inner(plain_helper(x[1]))

    def indirect(x):
        x[0] = plain_helper(x[1])

    before, before_indirect = key(kernel), key(indirect)
    monkeypatch.setitem(globals(), "K", 8)
    assert key(kernel) is not before
    assert key(indirect) is not before_indirect
    monkeypatch.setitem(globals(), "plain_helper", lambda x: x)
    assert key(indirect) is not before_indirect


def test_a_rebound_array_is_seen_and_compiles_nothing(monkeypatch):
    def kernel(x):
        x[0] = TABLE[0]

    before, other = identity(kernel), np.arange(3.0)
    monkeypatch.setitem(globals(), "TABLE", other)
    after = identity(kernel)
    assert after.key is before.key
    assert after.arrays == (other,)


def test_options_of_a_decorated_helper_count():
    def helper(x):
        return x / 3

    plain, fast = cuda.jit(device=True)(helper), cuda.jit(device=True, fastmath=True)(helper)
    assert key(calling(plain)) is not key(calling(fast))
    assert key(calling(plain)) is key(calling(cuda.jit(device=True)(helper)))


def test_attributes_of_a_users_module_count():
    config = types.ModuleType("config")
    config.K, config.other, config.inner = 1, 1, types.ModuleType("config.inner")
    config.inner.table, config.inner.config = np.zeros(3), config

    def kernel(x):
        x[0] = config.K + config.inner.table[0]

    before = identity(kernel)
    assert before.arrays == (config.inner.table,)
    config.other = 2  # which nobody reads
    assert identity(kernel) is before
    config.K = True
    assert key(kernel) is not before.key
    config.K = 1
    assert key(kernel) is before.key
    config.inner.table = np.zeros((3, 3))
    assert key(kernel) is not before.key


def test_libraries_count_by_name():
    def kernel(x):
        x[0] = np.float32(1) + warpkit.warp_active_sum(x[1])

    assert identity(kernel).digest is not None
    assert key(warpkit.warp_active_sum).term == ("library", "warpkit.warp.reduce", "warp_active_sum")
    assert key(closing_over(np.sin)) is not key(closing_over(np.cos))


def test_partials_and_methods():
    class Owner:
        def method(self, x):
            return x

    def add(a, b):
        return a + b

    assert key(functools.partial(add, 1)) is key(functools.partial(add, 1))
    assert key(functools.partial(add, 1)) is not key(functools.partial(add, b=1))
    assert key(functools.partial(add, 1)) is not key(functools.partial(add, True))
    owner = Owner()
    assert key(owner.method) is key(owner.method)
    assert key(owner.method) is not key(Owner().method)


def recursive(step):
    def down(n):
        return n if n < 1 else down(n - step)

    return down


def mutual(step):
    def even(n):
        return True if n < 1 else odd(n - step)

    def odd(n):
        return False if n < 1 else even(n - 1)

    return even, odd


def test_recursion():
    assert key(recursive(1)) is key(recursive(1))
    assert key(recursive(1)) is not key(recursive(2))
    (even, odd), (again, _) = mutual(1), mutual(1)
    assert key(even) is key(again)
    assert key(odd) is key(mutual(1)[1])  # also after it was met inside the other
    assert key(even) is not key(odd)
    assert key(even) is not key(mutual(2)[0])
    assert key(calling(odd)) is key(calling(mutual(1)[1]))


def test_a_wrapper_is_not_what_it_wraps():
    def helper(x):
        return x

    identity(helper)

    @functools.wraps(helper)
    def wrapper(x):
        return helper(x) + 1

    assert key(wrapper) is not key(helper)


def test_two_thousand_closures_leave_nothing_behind():
    """P15: neither live closures that compile alike nor dead ones of any kind."""
    gc.collect()
    before = len(implementation._memo)
    kept = [closing_over(5) for _ in range(500)]
    keys = {key(function) for function in kept}
    for n in range(2000):
        identity(closing_over(n))
        identity(closing_over(np.zeros(n)))
    del kept
    gc.collect()
    assert len(keys) == 1
    assert len(implementation._memo) <= before


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(implementation, "MOST_REMEMBERED", 64)
    monkeypatch.setattr(implementation, "_memo", {})
    kept = [closing_over(n) for n in range(300)]
    for function in kept:
        identity(function)
        assert len(implementation._memo) <= 64
    assert identity(kept[-1]) is identity(kept[-1])


def test_an_array_dies_with_its_function():
    array = np.zeros(3)
    token = closing_over(array)
    identity(token)
    count = sys.getrefcount(array)
    del token
    assert sys.getrefcount(array) < count
    assert not [reference for reference in gc.get_referrers(array) if type(reference).__name__ == "Identity"]


def test_eight_threads_see_one_key():
    barrier, found = threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.extend(key(closing_over(n % 10)) for n in range(200))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 10


SCRIPT = textwrap.dedent("""
    import enum
    import numpy as np
    from numba import cuda
    import warpkit
    from warpkit.host.identity import identity

    class Colour(enum.Enum):
        RED = RED

    TABLE = np.arange(5)

    @cuda.jit(device=True)
    def helper(a, b):
        return a if "four" in {"one", "two", "three", "four", "five"} else b + TABLE[0]

    def make(value):
        def kernel(x):
            x[0] = helper(value, np.float32(2.5)) + warpkit.warp_active_sum(Colour.RED.value)
        return kernel

    print(identity(make((1, "text", 2.5, np.dtype("f4"), None))).digest)
""")


def digest_elsewhere(red, seed):
    code = SCRIPT.replace("= RED", f"= {red}")
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_digests_are_the_same_in_another_process():
    one = digest_elsewhere(1, 1)
    assert len(one) == 64
    assert one == digest_elsewhere(1, 2)
    assert one != digest_elsewhere(2, 1)
