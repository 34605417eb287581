"""What an in-kernel array holds: where its memory is, what its elements are, who watches."""

from .elements import element_of


class Held:
    """The attributes of a KernelArray, which is made of one."""

    __slots__ = (
        "_base", "_buffer", "_data", "_element", "_exploring", "_item", "_launch", "_length", "_line", "_load",
        "_start", "_step", "_store", "_watch",
    )  # fmt: skip


def held(data, launch, buffer=None, watched=False, base=0, element=None):
    """Return what an array of `data` holds, `base` bytes into its Buffer."""
    made = Held()
    if element is None:
        element = element_of(data.dtype)
    made._data, made._launch, made._buffer, made._base, made._element = data, launch, buffer, base, element
    made._watch = buffer if watched else None
    made._exploring = launch.exploring and buffer is not None
    made._line = data.ndim == 1 and element.kind == "scalar"
    made._length, made._step = (data.shape[0], data.strides[0]) if data.ndim else (0, 0)
    made._load, made._store, made._item, made._start = element.load, element.store, data.item, None
    if buffer is not None and element.unit % buffer.unit:
        buffer.refine(element.unit)
    return made


def address_of(data):
    """Return where the first element of a NumPy array lies in the host's memory."""
    return data.__array_interface__["data"][0]
