"""A call with everything decided, to be made again and again."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..simt import machine
from ..simt.steps import KernelStep, Step
from .streams import as_stream


class Prepared:
    """A call with everything decided: calling it repeats the work, at the cost of a raw launch.

    It keeps its arguments and outputs alive; keep it as long as work that it sent may run, and as long as a graph that
    captured it. Any thread may call it. Its outputs and its scratch memory are its own, one of each: calls on two
    streams at once write over each other, as two graphs of one capture would, so order them by an event, or prepare a
    call for each stream. (A prepared launch of a kernel of yours has neither: it is as safe as the kernel itself.)
    """

    __slots__ = ("_again", "_call", "command", "keep", "result", "steps", "stream")

    def __init__(
        self,
        steps: Sequence[Step],
        stream: int,
        keep: Any,
        again: "Callable[[Mapping[str, Any]], Prepared]",
        result: Any = None,
    ) -> None:
        self.steps, self.stream, self.keep, self._again, self.result = tuple(steps), stream, keep, again, result
        self._call: Callable[[int], None] | None = None  # command lists take the steps, and never need it
        self.command: Any = None  # as a list takes it, made there and used by every list

    def __call__(self, stream: Any = None) -> Any:
        """Do it again, on `stream` (None: the one of the preparation); return the outputs of an array function."""
        call = self._call
        if call is None:
            call = self._call = called(self.steps)
        call(self.stream if stream is None else as_stream(stream, ()))
        return self.result

    def bind(self, **arguments: Any) -> "Prepared":
        """Replace arguments by name with others of the same types; return this object."""
        other = self._again(arguments)
        self.steps, self._call, self.keep, self.result = other.steps, other._call, other.keep, other.result
        self.command = other.command
        return self


def called(steps: Sequence[Step]) -> Callable[[int], None]:
    """Return a function of the stream that does the steps in order."""
    bound = [
        step.kernel.bind(step.grid, step.block, step.shared, step.payloads)
        if isinstance(step, KernelStep)
        else partial(machine.run, step)
        for step in steps
    ]
    if len(bound) == 1:
        return bound[0]

    def call(stream: int) -> None:
        for each in bound:
            each(stream)

    return call
