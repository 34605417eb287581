"""What a launch did to global memory, noted access by access, for the order between streams."""

import weakref

from . import stream_order
from .shadow import Buffer
from .spans import Spans


class Traced(Buffer):
    """The shadow of one allocation that also notes which bytes a launch reads and writes."""

    __slots__ = ("address", "noted", "root")

    def __init__(self, launch, label, unit, root):
        super().__init__(launch, label, None, unit)
        self.noted = {verb: {} for verb in stream_order.RACES}
        self.root, self.address = weakref.ref(root), root.__array_interface__["data"][0]

    def load(self, offset, size, frame):
        """Note a plain read; check it where accesses are checked."""
        self.noted[stream_order.READ][offset, size] = None
        if self.launch.exploring:
            super().load(offset, size, frame)

    def store(self, offset, size, bits, frame):
        """Note a plain write; check it where accesses are checked."""
        self.noted[stream_order.WRITE][offset, size] = None
        if self.launch.exploring:
            super().store(offset, size, bits, frame)

    def ordered(self, offset, size, order, reads, writes, frame):
        """Note an atomic or ordered access."""
        self.noted[stream_order.ATOMIC if writes else stream_order.ASK][offset, size] = None
        super().ordered(offset, size, order, reads, writes, frame)

    def touches(self):
        """Return what was done to the memory."""
        for verb, noted in self.noted.items():
            if noted:
                starts, sizes = zip(*noted)
                spans = Spans([self.address + start for start in starts], sizes)
                yield stream_order.Touch(verb, spans, self.label, self.root)


def finish(launch, stream):
    """Tell the order between streams what a launch did; RaceFault where nothing orders it."""
    touched = [touch for buffer in launch.buffers.values() for touch in buffer.touches()]
    stream_order.done(stream, getattr(launch.function, "__name__", "a kernel"), touched)
