"""Docstrings as Markdown: the fields of a contract become a list of definitions, its parameters a list of bullets.

A contract is prose, then fields such as "Called by:", "Args:" or "Cost:", each at the start of a line or behind two
spaces; within "Args:" each parameter likewise.
"""

import inspect
import re
from collections.abc import Callable, Iterable

FIELDS = (
    "Called by", "Args", "Returns", "Storage", "Order", "Deterministic", "Cost", "Errors", "Source", "Size", "Example",
)  # fmt: skip
MORE = rf"(?:, (?:{'|'.join(field.lower() for field in FIELDS)}))*(?: \([\w-]+\))?"  # "Args (keyword-only)"
STARTS = rf"(?:^|\n|  +)((?:{'|'.join(FIELDS)}){MORE}): *"


def fields(docstring: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the prose of a contract, and its fields in order as (name, text)."""
    prose, *rest = re.split(STARTS, inspect.cleandoc(docstring))
    return prose.strip(), list(zip(rest[::2], (text.strip() for text in rest[1::2])))


def bullets(text: str, parameters: Iterable[str]) -> list[str]:
    """Return the text of "Args:" cut at each parameter; a list of one where it names none."""
    names = "|".join(sorted(map(re.escape, parameters), key=len, reverse=True))
    if not names:
        return [text]
    before, *rest = re.split(rf"(?:^|\n|  +)((?:{names})(?:, (?:{names}))*): *", text)
    found = [f"`{name}`: {meaning.strip()}" for name, meaning in zip(rest[::2], rest[1::2])]
    return [part for part in (before.strip(), *found) if part]


def escaped(text: str, link: Callable[[str], str | None]) -> str:
    """Return plain text as Markdown: nothing in it is markup but `names`, which lead to their pages."""
    pieces = re.split(r"(`[^`]+`)", text)
    for n, piece in enumerate(pieces):
        if piece.startswith("`"):
            target = link(piece.strip("`"))
            pieces[n] = f"[{piece}][{target}]" if target else piece
        else:
            pieces[n] = re.sub(r"([*<\[\]_])", r"\\\1", piece)
    return "".join(pieces)


def markdown(docstring: str, parameters: Iterable[str], link: Callable[[str], str | None]) -> str:
    """Return a docstring as Markdown; a parameter that has the name of a function is not that function."""
    prose, found = fields(docstring)
    own = set(parameters)

    def linked(name: str) -> str | None:
        return None if name in own else link(name)

    lines = [escaped(prose, linked), ""]
    for name, text in found:
        parts = bullets(text, own) if name.startswith("Args") else [text]
        shown = [escaped(part.replace("\n", " "), linked) for part in parts]
        if len(shown) > 1:
            lines += [name, ":   " + "\n    ".join(f"- {part}" for part in shown), ""]
        else:
            lines += [name, f":   {shown[0]}", ""]
    return "\n".join(lines)


def of_fields(docstring: str, names: Iterable[str]) -> str:
    """Return a dataclass's docstring with "Args:" where the first of its fields is explained, behind a sentence."""
    text, known = inspect.cleandoc(docstring), "|".join(map(re.escape, names))
    first = re.search(rf"\.\s+(?=(?:{known})(?:, (?:{known}))*: )", text) if known else None
    return f"{text[: first.start()]}.\n\nArgs: {text[first.end() :]}" if first else text


def with_links(text: str, link: Callable[[str], str | None]) -> str:
    """Return a page's Markdown, outside its code blocks, with each `name` and `name(…)` leading to its contract.

    Names are written as behind `wk.`, or with it.
    """

    def linked(match: re.Match[str]) -> str:
        target = link(match[1])
        return f"[{match[0]}][{target}]" if target else match[0]

    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    for n, part in enumerate(parts):
        if not part.startswith("```"):
            parts[n] = re.sub(r"(?<!\[)`(?:wk\.)?([\w.]+)(?:\([^`]*\))?`", linked, part)
    return "".join(parts)
