"""The machine face on a GPU: contexts, kernels, memory, streams through the driver API of cuda.bindings.

Everything is int handles and tuples; numba's objects do not leave this folder.
"""

from .. import driver_start
from ..toolchain import toolchain
from .arguments import array_payload, scalar_payload, tuple_payload
from .arrays import array_packer, read_device_array
from .decorated import decorated, launch_by_numba
from .devices import context_key, current_device, device_count, device_of, ensure_context, properties
from .graphs import Graph, fits_graph, run
from .kernels import Kernel, as_device, compile_image, load, occupancy, shared_key
from .memory import (
    allocate,
    copy,
    copy_from_host,
    copy_to_host,
    device_array,
    fill,
    is_pinned,
    limit_memory,
    pinned,
    release,
    unpin,
)
from .records import record_payload
from .returned import returned_by, returned_dtype
from .streams import (
    capture_id,
    event_create,
    event_destroy,
    event_elapsed,
    event_query,
    event_record,
    event_synchronize,
    event_wait,
    is_capturing,
    stream_create,
    stream_destroy,
    stream_id,
    stream_query,
    stream_synchronize,
    synchronize,
)
from .templates import template
