"""Where a thread is: its call path below the launch, its order in the program, and the user's source line.

Two lanes are at the same call when their paths have the same calls, frame by frame. CPython compiles some source
twice (the condition of a `while`, the body of a `finally`), so calls are compared by their place in the source, and
only the order of two places by bytecode offset.
"""

import linecache
from os.path import abspath, dirname, sep

import numba

LIBRARY = (dirname(dirname(dirname(abspath(__file__)))) + sep, dirname(abspath(numba.__file__)) + sep)
COLLECTIVES = ("warp_", "block_", "grid_", "lookback_")
_paths: dict = {}
_places: dict = {}
_canonical: dict = {}


class _Library(dict):
    """Whether what a file holds belongs to warpkit or numba rather than to the user."""

    def __missing__(self, name):
        answer = self[name] = name.startswith(LIBRARY) or f"{sep}numba_cuda{sep}" in name
        return answer


_library = _Library()


class Path:
    """One call path: `place` is a number per source place, `order` sorts by program order, `site` is the user's."""

    __slots__ = ("codes", "order", "place", "site")


def call_path(frame):
    """Return the Path of `frame`, up to the kernel's own frame (a fiber's stack ends there)."""
    key, first = [], frame
    while frame is not None:
        key.append(id(frame.f_code) + frame.f_lasti)  # an address within the code object: no other has it
        frame = frame.f_back
    key = tuple(key)
    return _paths.get(key) or _learn(key, first)


def _learn(key, frame):
    path, calls = Path(), []
    path.site = site_of(frame)
    while frame is not None:
        calls.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    calls.reverse()
    path.codes = [code for code, _ in calls]  # kept alive: the key holds their ids
    path.order = tuple(at for _, at in calls)
    place = tuple(part for code, at in calls for part in (id(code), _first_twin(code, at)))
    path.place = _places.setdefault(place, len(_places))
    _paths[key] = path
    return path


def _first_twin(code, at):
    """Return the first instruction compiled from the same source expression as the one at `at`."""
    twins = _canonical.get(code)
    if twins is None:
        first, twins = {}, {}
        for index, (line, end, column, stop) in enumerate(code.co_positions()):
            place = (line, end, column, stop, code.co_code[2 * index])
            twins[2 * index] = 2 * index if column is None else first.setdefault(place, 2 * index)
        _canonical[code] = twins
    return twins.get(at, at)


def is_library(code):
    """Tell whether a code object belongs to warpkit or numba rather than to the user."""
    return _library[code.co_filename]


def site_of(frame):
    """Return (code, instruction) of the innermost frame that is the user's; of `frame` when none is."""
    own, library = frame, _library
    while frame is not None:
        code = frame.f_code
        if not library[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return own.f_code, own.f_lasti


def named(path, name):
    """Return the name of what lanes do, for a message: behind that of the collective which the user's line calls."""
    inner = len(path.codes) - path.codes[::-1].index(path.site[0])
    called = next((code.co_name for code in path.codes[inner:] if code.co_name.startswith(COLLECTIVES)), name)
    return name if called == name else f"{called} (its {name})"


def describe(site):
    """Return `file:line` and the source text of a site, for a message."""
    code, at = site
    line = code.co_firstlineno
    for index, (start, *_) in enumerate(code.co_positions()):
        if 2 * index == at and start is not None:
            line = start
            break
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f" `{text}`" if text else "")
