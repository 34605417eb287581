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
BLOCK = """
    block_sum block_product block_min block_max block_reduce block_tree_reduce block_tree_sum
    block_all block_any block_count block_broadcast sync_block shared_array local_array
    block_prefix_sum block_inclusive_sum block_exclusive_scan block_inclusive_scan
    block_prefix_sum_total block_exclusive_scan_total block_inclusive_scan_total
    block_reduce_items block_inclusive_scan_items block_exclusive_scan_items
    block_load_striped block_load_blocked block_load_vectorized block_load_transposed
    block_store_striped block_store_blocked block_store_vectorized block_store_transposed
    block_striped_to_blocked block_blocked_to_striped block_scatter_to_blocked block_scatter_to_striped
    block_copy_pipeline block_copy_async block_copy_wait
    block_queue_push block_queue_push_if block_queue_push_ordered block_queue_push_if_ordered
    block_queue_push_items block_queue_push_items_ordered
    tile_states reset_tile_states lookback_next_tile lookback_publish lookback_exclusive_prefix
    lookback_pass
    grid_scratch grid_reduce
    block_histogram block_discontinuity_heads block_discontinuity_tails block_adjacent_difference
    block_shuffle_up block_shuffle_down
    bank_conflicts padded_index padded_size swizzled_index
""".split()
# What a thread asks itself: no other lane has a part in it.
ALONE = ["warp_lane_count", *(f"warp_lane_mask_{which}" for which in ("lt", "le", "eq", "ge", "gt")), "set_warp_size"]
HOST = """
    compute_warp_size
    launch prepare parallel_for parallel_reduce parallel_reduce_sum
    upload download copy fill slot pinned_array synchronize
""".split()
CLASSES = "CommandList Commit Event Prepared Range Replay Stream".split()
OPERATORS = "add mul minimum maximum bit_and bit_or bit_xor logical_and logical_or".split()
FUNCTIONS = [*WARP, *BLOCK, *HOST, *OPERATORS]
SCANS = "ScanPolicy cumprod cumsum exclusive_scan inclusive_scan".split()
ERRORS = "Refused OutsideKernel Fault BarrierFault LaneFault BoundsFault RaceFault NoProgress".split()


def test_these_are_all_the_names():
    public = {
        name for name in dir(warpkit) if not name.startswith("_") and not inspect.ismodule(getattr(warpkit, name))
    }

    assert public == {*FUNCTIONS, *CLASSES, *ERRORS}


def test_a_star_import_gives_the_same_names():
    assert sorted(warpkit.__all__) == sorted([*FUNCTIONS, *CLASSES, *ERRORS])


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
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


@pytest.mark.parametrize("name", [name for name in BLOCK if name.startswith(("block_", "lookback_", "grid_reduce"))])
def test_a_block_collective_says_who_calls_it_and_what_they_get(name):
    contract = inspect.getdoc(getattr(warpkit, name))

    assert re.search(r"Called by|See `\w+`", contract)
    assert re.search(r"Returns:|Called by, args, returns", contract)


def test_the_version_is_that_of_the_distribution():
    assert warpkit.__version__ == warpkit._versions.__version__


@pytest.mark.parametrize("name", [name for name in warpkit.device.__all__ if not name.endswith("Policy")])
def test_help_of_an_array_function_explains_its_arguments(name):
    function = getattr(warpkit.device, name)
    contract, shared = inspect.getdoc(function), {"out", "count_out", "num_items", "stream", "policy"}

    for parameter in shared & set(inspect.signature(function).parameters):
        assert f"{parameter}: " in contract


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_of_arrays_says_what_it_returns(name):
    function = getattr(warpkit.device, name)

    assert name in warpkit.device.__all__
    assert function.__name__ == name
    assert name == "ScanPolicy" or "Returns:" in inspect.getdoc(function) or "see `inclusive_scan`" in function.__doc__
