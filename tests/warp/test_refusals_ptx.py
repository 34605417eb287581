"""Refusals that only a compiler can make: it sees that a width was computed, where the simulator sees a plain int."""

import inspect

import numba
import pytest
from numba import cuda

import warpkit as wk
from warpkit import Refused

HALF = 16


def an_expression(x, out):
    """Compute the width in the kernel."""
    out[0] = wk.warp_active_sum(x[0], width=HALF // 2)


def the_warp_size(x, out):
    """Take Numba's constant."""
    out[0] = wk.warp_active_sum(x[0], width=cuda.warpsize)


def a_length(x, out):
    """Take the length of a tuple."""
    out[0] = wk.warp_active_sum(x[0], width=len((x[0], x[0])))


@pytest.mark.parametrize("run", [an_expression, the_warp_size, a_length])
def test_a_computed_width_is_refused_and_the_message_says_what_is_none(compile_ptx, run):
    with pytest.raises(Refused) as caught:
        compile_ptx(run, numba.int32[::1], numba.int32[::1])
    message = str(caught.value)
    assert "\n" not in message
    assert "warp_active_sum" in message
    assert "width" in message
    assert "W // 2" in message
    assert f"test_refusals_ptx.py:{inspect.getsourcelines(run)[1] + 2}" in message


FOLDED = 4 * 2


@cuda.jit(device=True)
def with_a_default(value, width=8):
    """Pass a width on."""
    return wk.warp_active_sum(value, width=width)


def ways_to_say_8(x, out):
    """Name a width by a literal, a global, a local, a default, an argument of a device function."""
    local = 8
    out[0] = wk.warp_active_sum(x[0], None, 8)
    out[1] = wk.warp_active_sum(x[0], width=FOLDED)
    out[2] = wk.warp_active_sum(x[0], width=local)
    out[3] = with_a_default(x[0])
    out[4] = with_a_default(x[0], 8)


def test_a_width_may_be_named_in_every_constant_way(compile_ptx):
    assert ".entry" in compile_ptx(ways_to_say_8, numba.float32[::1], numba.float32[::1])
