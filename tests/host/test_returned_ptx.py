"""What functions return comes from disk without the compiler, where it rests on no registration of this process."""

import numpy as np
import pytest
from numba.cuda.extending import overload

import warpkit
from warpkit import device
from warpkit.host import cache
from warpkit.simt import machine
from warpkit.simt.numba_cuda import returned as compiled

from .dry import CC, Array, dry

F32 = np.dtype("f4")
CALLS = {
    "transform": lambda x, k: device.transform(lambda value: value * k, x),
    "select": lambda x, k: device.select(x, lambda value: value > k),
    "partition": lambda x, k: device.partition(x, lambda value: value > k),
    "transform_reduce": lambda x, k: device.transform_reduce(x, lambda value: value * k, warpkit.add),
    "parallel_reduce": lambda x, k: warpkit.parallel_reduce_sum(8, lambda i, x: x[i] * k, x),
}


class Asked(Exception):
    """The call has come to what follows."""


def stop(*given):
    """Go no further."""
    raise Asked


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return the list of what the compiler is asked from now on, with a cache of the test's own."""
    calls, ask = [], compiled._returned
    monkeypatch.setattr(compiled, "_returned", lambda *given: calls.append(given) or ask(*given))
    with dry(), pytest.MonkeyPatch.context() as within:  # undone before the machine is what it was
        within.setenv("WARPKIT_CACHE_DIR", str(tmp_path))
        within.delenv("WARPKIT_CACHE")
        within.setattr(cache, "_built_from", lambda: "this build")
        within.setattr(cache, "get", lambda *given: None)  # a kernel of another test's machine has no text
        for name in ("compile_image", "pinned", "allocate"):
            within.setattr(machine, name, stop)
        yield calls


@pytest.mark.parametrize("name", CALLS)
def test_equal_functions_made_anew_need_no_compiler(asked, name):
    for k, times in ((2, 1), (int("2"), 1), (2.5, 2), (2, 2)):
        with pytest.raises(Asked):
            CALLS[name](Array(8, F32), k)
        assert len(asked) == times


def own(value):
    """Mean what is registered."""


@overload(own, target="cuda")
def _own(value):
    return lambda value: value * 7


def test_what_rests_on_a_registration_of_this_process_is_not_stored():
    plain, registered = lambda value: value * 7, lambda value: own(value)
    below = lambda value: registered(value)
    for function, storable in ((plain, True), (registered, False), (below, False)):
        said = compiled.returned_dtype(function, [F32], CC)
        assert (said.dtype, said.storable) == (np.float64, storable)
