"""Running the code blocks of a Markdown page.

Python blocks run in order, in one namespace. A block of kind `text` behind one says what it does: the output, or, where
it begins with the name of an exception, the message that it raises, with … for any text.
"""

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """A fenced block: its kind, its text, and the line of the page that it starts behind."""

    kind: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 1) for match in found]


def run(page: Path) -> int:
    """Run a page's Python blocks and return how many there were; AssertionError where one does not do what it says."""
    names: dict[str, object] = {"__name__": "__main__"}
    blocks, ran = blocks_of(page), 0
    for number, block in enumerate(blocks):
        if block.kind != "python":
            continue
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        said = following.text.strip() if following and following.kind == "text" else None
        raised = re.match(r"[\w.]*(Error|Fault|Refused|NoProgress|OutsideKernel): ", said or "")
        shown = _output(page, block, names, bool(raised))
        assert said is None or re.fullmatch(_pattern(said, bool(raised)), shown, re.DOTALL), (
            f"{page}:{block.line} gives {shown!r}"
        )
        ran += 1
    return ran


def _output(page: Path, block: Block, names: dict[str, object], raises: bool) -> str:
    # As many blank lines as the page has above, so that messages name the page's own lines.
    code, out = compile("\n" * block.line + block.text, str(page), "exec"), io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, names)
        except Exception as error:
            if not raises:
                raise
            return f"{type(error).__name__}: {error}"
    return out.getvalue().strip()


def _pattern(said: str, raised: bool) -> str:
    whole = said.replace("\n", " ") if raised else said  # a page breaks long messages
    return re.escape(whole).replace("…", ".*")
