"""Which names a code object reads: globals, and attributes of whatever it has in hand."""

import dis
from types import CodeType

from .constants import key_of

MOST_CODES = 4096
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class Reads:
    """What a code object reads, those nested in it included, each name once; `key` is the code's own."""

    __slots__ = ("attributes", "code", "key", "names")

    def __init__(self, code: CodeType) -> None:
        names: dict[str, None] = {}
        attributes: dict[str, None] = {}
        waiting = [code]
        while waiting:
            current = waiting.pop()
            for instruction in dis.get_instructions(current):
                if instruction.opname in _GLOBALS:
                    names[instruction.argval] = None
                elif instruction.opname in _ATTRIBUTES:
                    attributes[instruction.argval] = None
            waiting.extend(constant for constant in current.co_consts if isinstance(constant, CodeType))
        self.code, self.key, self.names, self.attributes = code, key_of(code), tuple(names), tuple(attributes)


_known: dict[int, Reads] = {}


def reads_of(code: CodeType) -> Reads:
    """Return what a code object reads; remembered by the object, which is kept alive with it."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= MOST_CODES:
            _known.clear()
        known = _known[id(code)] = Reads(code)
    return known
