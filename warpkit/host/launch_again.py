"""Launching what was launched before, with other addresses and numbers: a look-up and the driver's own call.

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


def launched_again(program: Program, grid: Triple, block: Triple, shared: int, stream: Any, args: Any) -> bool:
    """Launch and return True, or do nothing and return False: where it is the first time, or not so simple."""
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
            quick, framework = QUICK[kind]
            layout, pointer, where = quick(arg)  # type: ignore[misc]  # None raises TypeError as well
        except (KeyError, TypeError):
            return False
        keys.append(layout)
        values.append(pointer)
        if where != device:
            if device >= 0:
                return False
            device = where
        if framework is not home and framework is not None:
            if home is not None:
                return False
            home = framework
    if device > 0 or machine.device_count() != 1:
        now = machine.current_device()
        if device not in (now, -1):
            return False
        keys.append(now)
    template = program.state().templates.get(tuple(keys))
    if not template:
        return False
    if home is None:
        handle = 0 if stream is None else handle_of(stream)
    else:
        current = home.current_stream(device)
        handle = 0 if current == LEGACY else current  # type: ignore[assignment]
        if current is None or (stream is not None and handle_of(stream) != handle):
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
    device = machine.current_device()
    if device > 0 or machine.device_count() != 1:
        keys.append(device)
    templates, key = program.state().templates, tuple(keys)
    if key not in templates:
        remember(templates, key, None)
    elif templates[key] is None:
        specs, packs = [argument.spec for argument in arguments], [argument.layout.pack for argument in arguments]
        templates[key] = machine.template(compiled.kernel, specs, packs) or False
