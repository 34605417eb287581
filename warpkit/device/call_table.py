"""What is known of calls that have been made, as long as the user's functions in them are what they were."""

from collections.abc import Sequence
from typing import Any

from ..host.identity import Look, look


class CallTable:
    """The calls that are known of one array function, with the user's functions that are in it; see again.py.

    Safe from several threads: whoever has a table keeps it, and it is for what the functions were then.
    """

    __slots__ = ("_functions", "_state")

    def __init__(self, *functions: Any) -> None:
        self._functions = functions
        self._state: tuple[Sequence[tuple[Look, Any]], dict[Any, Any]] | None = None if functions else ((), {})

    def now(self) -> dict[Any, Any]:
        """Return what is known while the functions are what they are now; nothing, where one of them has changed."""
        state = self._state
        if state is not None:
            for seen, function in state[0]:
                if not seen.holds(function):
                    break
            else:
                return state[1]
        self._state = state = [(look(function), function) for function in self._functions], {}
        return state[1]
