"""The block floor: collectives of all threads of a block, for every block shape, type and operator."""

from typing import TYPE_CHECKING

from ..simt.memory import local_array, shared_array
from .banks import bank_conflicts, padded_index, padded_size, swizzled_index
from .difference import block_adjacent_difference
from .discontinuity import block_discontinuity_heads, block_discontinuity_tails
from .exchange import (
    block_blocked_to_striped,
    block_scatter_to_blocked,
    block_scatter_to_striped,
    block_striped_to_blocked,
)
from .grid import grid_reduce, grid_scratch
from .histogram import block_histogram
from .items import block_exclusive_scan_items, block_inclusive_scan_items, block_reduce_items
from .load import block_load_blocked, block_load_striped, block_load_transposed, block_load_vectorized
from .lookback import lookback_exclusive_prefix, lookback_next_tile, lookback_publish
from .passes import lookback_pass
from .queue import block_queue_push, block_queue_push_if, block_queue_push_if_ordered, block_queue_push_ordered
from .queue_items import block_queue_push_items, block_queue_push_items_ordered
from .reduce import block_max, block_min, block_product, block_reduce, block_sum
from .scan import (
    block_exclusive_scan,
    block_exclusive_scan_total,
    block_inclusive_scan,
    block_inclusive_scan_total,
    block_inclusive_sum,
    block_prefix_sum,
    block_prefix_sum_total,
)
from .shuffle import block_shuffle_down, block_shuffle_up
from .staging import block_copy_async, block_copy_pipeline, block_copy_wait
from .states import reset_tile_states, tile_states
from .store import block_store_blocked, block_store_striped, block_store_transposed, block_store_vectorized
from .tree import block_tree_reduce, block_tree_sum
from .vote import block_all, block_any, block_broadcast, block_count, sync_block

# Everything imported above is public: to add a primitive is to add its name to one import.
# (A type checker does not follow this; it sees the imports themselves.)
if not TYPE_CHECKING:
    __all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
