"""The machine face in the simulator: a device pointer is a host address, and every call is done when it returns."""

from .arrays import array_packer, read_device_array
from .decorated import decorated, launch_by_numba
from .graphs import Graph, fits_graph, run
from .kernels import (
    Kernel,
    array_payload,
    as_device,
    compile_image,
    load,
    occupancy,
    record_payload,
    scalar_payload,
    shared_key,
    template,
    toolchain,
    tuple_payload,
)
from .memory import (
    allocate,
    context_key,
    copy,
    copy_from_host,
    copy_to_host,
    current_device,
    device_array,
    device_count,
    device_of,
    ensure_context,
    fill,
    is_pinned,
    limit_memory,
    pinned,
    properties,
    release,
    unpin,
)
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
