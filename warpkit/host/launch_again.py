"""Launching what was launched before, with other addresses and numbers: a look-up and the driver's own call.

Array functions do the same, see device/again.py.

`launch` describes every argument, finds the kernel and asks who has to wait for whom. When a kernel comes again with
arrays of the same layouts, all of one framework and in the order of its own current stream, the answers are the same.
What is quick here is what the slow way would do; whatever is not that simple is left to it.
"""

from typing import Any

import numpy as np

from ..simt import machine
from .arrays import QUICK
from .arrays_layout import Argument, Framework, remember
from .arrays_values import SCALARS
from .program import Compiled, Program
from .streams_in import LEGACY, handle_of

NUMBERS = frozenset(SCALARS) - {np.void, np.record}  # whose type says what they are
Triple = tuple[int, int, int]


def read_again(args: Any, stream: Any) -> tuple[tuple[Any, ...], list[Any], int] | None:
    """Return (what the arguments are, their addresses and numbers, the stream's handle); None: it is not so simple.

    Simple are arrays of one framework on the current device, in the order of its own current stream, and numbers. What
    they are: the layouts of the arrays, the types of the numbers, the device where there are several.
    """
    keys: list[Any] = []
    values: list[Any] = []
    home: Framework | None = None
    device = -1
    for arg in args:
        kind = type(arg)
        if kind in NUMBERS:
            keys.append(kind)
            values.append(arg)
            continue
        try:
            layout, pointer, where, framework = QUICK[kind](arg)  # type: ignore[misc]  # None raises TypeError as well
        except (KeyError, TypeError):
            return None
        keys.append(layout)
        values.append(pointer)
        if where != device:
            if device >= 0:
                return None
            device = where
        if framework is not home and framework is not None:
            if home is not None:
                return None
            home = framework
    if device > 0 or machine.device_count() != 1:
        now = machine.current_device()
        if device not in (now, -1):
            return None
        keys.append(now)
    if home is None:
        return tuple(keys), values, 0 if stream is None else handle_of(stream)
    current = home.current_stream(device)
    handle = 0 if current == LEGACY else current
    if handle is None or (stream is not None and handle_of(stream) != handle):
        return None
    return tuple(keys), values, handle


def on_this_device(keys: list[Any]) -> tuple[Any, ...]:
    """Return what the arguments of a call are, as `read_again` does; `keys`: without the device."""
    device = machine.current_device()
    if device > 0 or machine.device_count() != 1:
        keys.append(device)
    return tuple(keys)


def launched_again(program: Program, grid: Triple, block: Triple, shared: int, stream: Any, args: Any) -> bool:
    """Launch and return True, or do nothing and return False: where it is the first time, or not so simple."""
    found = read_again(args, stream)
    if found is None:
        return False
    keys, values, handle = found
    template = program.state().templates.get(keys)
    if not template:
        return False
    return 0 in grid or template(grid, block, shared, handle, values, args)


def remember_launch(program: Program, compiled: Compiled, args: Any, arguments: list[Argument]) -> None:
    """Make a template of a launch the second time that it comes; the first time may be the last."""
    keys: list[Any] = []
    for arg, argument in zip(args, arguments):
        kind = type(arg)
        if kind not in NUMBERS and kind not in QUICK:
            return
        keys.append(kind if kind in NUMBERS else argument.layout)
    templates, key = program.state().templates, on_this_device(keys)
    if key not in templates:
        remember(templates, key, None)
    elif templates[key] is None:
        specs, packs = [argument.spec for argument in arguments], [argument.layout.pack for argument in arguments]
        templates[key] = machine.template(compiled.kernel, specs, packs) or False
