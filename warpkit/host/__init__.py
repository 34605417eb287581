"""The host floor: launching kernels, loops over ranges, streams, events, command lists."""

from typing import TYPE_CHECKING

from .command_list import CommandList, Commit, Replay
from .commands import slot
from .commands_copies import copy, download, fill, upload
from .launch import launch, prepare
from .parallel import parallel_for
from .parallel_reductions import parallel_reduce, parallel_reduce_sum
from .pinned import pinned_array
from .prepared import Prepared
from .ranges import Range
from .streams import Event, Stream, synchronize

# Everything imported above is public: to add a name is to add it to one import.
if not TYPE_CHECKING:
    __all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
