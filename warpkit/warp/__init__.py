"""The warp floor: collectives of the active lanes of a warp, right for every active mask, type and operator."""

from typing import TYPE_CHECKING

from .match import warp_match_all, warp_match_any, warp_multi_prefix_sum, warp_multi_reduce
from .query import (
    compute_warp_size,
    set_warp_size,
    warp_active_mask,
    warp_elect,
    warp_first_active_lane,
    warp_id,
    warp_is_first_active_lane,
    warp_lane_count,
    warp_lane_id,
    warp_lane_mask_eq,
    warp_lane_mask_ge,
    warp_lane_mask_gt,
    warp_lane_mask_le,
    warp_lane_mask_lt,
)
from .reduce import (
    warp_active_bit_and,
    warp_active_bit_or,
    warp_active_bit_xor,
    warp_active_max,
    warp_active_min,
    warp_active_product,
    warp_active_sum,
    warp_reduce,
    warp_reduce_valid,
)
from .scan import (
    warp_exclusive_scan,
    warp_inclusive_max,
    warp_inclusive_min,
    warp_inclusive_product,
    warp_inclusive_scan,
    warp_inclusive_sum,
    warp_prefix_count_bits,
    warp_prefix_max,
    warp_prefix_min,
    warp_prefix_product,
    warp_prefix_sum,
)
from .segmented import warp_segmented_reduce, warp_segmented_sum, warp_tail_segmented_reduce
from .shuffle import (
    warp_read_first_active_lane,
    warp_read_lane,
    warp_rotate,
    warp_shuffle_down,
    warp_shuffle_up,
    warp_shuffle_xor,
)
from .sort import warp_sort, warp_sort_pairs
from .vote import (
    warp_active_all,
    warp_active_all_equal,
    warp_active_any,
    warp_active_bit_mask,
    warp_active_count_bits,
)

# Everything imported above is public: to add a primitive is to add its name to one import.
# (A type checker does not follow this; it sees the imports themselves.)
if not TYPE_CHECKING:
    __all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
