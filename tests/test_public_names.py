"""The public names of warpkit: this list is the truth, and a name comes or goes here on purpose."""

import inspect
import re

import pytest

import warpkit

WARP = """
    warp_lane_count warp_lane_id warp_id
    warp_active_mask warp_lane_mask_lt warp_lane_mask_le warp_lane_mask_eq warp_lane_mask_ge warp_lane_mask_gt
    warp_first_active_lane warp_is_first_active_lane warp_elect
    warp_active_sum warp_active_product warp_active_min warp_active_max
    warp_active_bit_and warp_active_bit_or warp_active_bit_xor
    warp_active_all warp_active_any warp_active_count_bits warp_active_bit_mask warp_active_all_equal
    warp_prefix_sum warp_prefix_product warp_prefix_min warp_prefix_max warp_prefix_count_bits
    warp_inclusive_sum warp_inclusive_product warp_inclusive_min warp_inclusive_max
    warp_reduce warp_inclusive_scan warp_exclusive_scan warp_reduce_valid
    warp_segmented_reduce warp_tail_segmented_reduce warp_segmented_sum
    warp_read_lane warp_read_first_active_lane
    warp_shuffle_up warp_shuffle_down warp_shuffle_xor warp_rotate
    warp_match_any warp_match_all warp_multi_prefix_sum warp_multi_reduce
    warp_sort warp_sort_pairs
    set_warp_size
""".split()
# What a thread asks itself: no other lane has a part in it.
ALONE = ["warp_lane_count", *(f"warp_lane_mask_{which}" for which in ("lt", "le", "eq", "ge", "gt")), "set_warp_size"]
HOST = ["compute_warp_size"]
OPERATORS = "add mul minimum maximum bit_and bit_or bit_xor logical_and logical_or".split()
ERRORS = "Refused OutsideKernel Fault BarrierFault LaneFault BoundsFault RaceFault NoProgress".split()


def test_these_are_all_the_names():
    public = {
        name for name in dir(warpkit) if not name.startswith("_") and not inspect.ismodule(getattr(warpkit, name))
    }

    assert public == {*WARP, *HOST, *OPERATORS, *ERRORS}


def test_a_star_import_gives_the_same_names():
    assert sorted(warpkit.__all__) == sorted([*WARP, *HOST, *OPERATORS, *ERRORS])


@pytest.mark.parametrize("name", [*WARP, *HOST, *OPERATORS])
def test_a_name_is_a_function_with_its_own_name_and_a_docstring(name):
    function = getattr(warpkit, name)

    assert function.__name__ == name
    assert inspect.getdoc(function)


@pytest.mark.parametrize("name", [name for name in WARP if name not in ALONE])
def test_a_collective_says_who_calls_it(name):
    contract = inspect.getdoc(getattr(warpkit, name))
    for other in re.findall(r"(?:See|as) `(\w+)`", contract):
        contract += inspect.getdoc(getattr(warpkit, other))

    assert "Called by" in contract


def test_the_version_is_that_of_the_distribution():
    assert warpkit.__version__ == warpkit._versions.__version__
