"""A page for each example: what it shows, its picture, its source. Pictures are drawn while the site is built."""

import ast
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warpkit.cli.examples import draws, examples, headline, start
from warpkit.cli.probe import probe

WITHOUT_CONTENTS = "---\nhide: [toc]\n---\n\n"  # code takes their place
# By floor, from the top: what its functions are called by, in the source of an example.
KINDS = {
    "Whole arrays": ("wk.device.",),
    "From the host": ("wk.parallel_for", "wk.CommandList"),
    "In a kernel": ("@cuda.jit",),
}


def files() -> Iterator[tuple[str, str | bytes]]:
    """Yield path and content of each page and picture."""
    for name, path in examples().items():
        yield f"gallery/{name}.md", page(name, path)
        if draws(path):
            yield f"gallery/{name}.png", picture(path)
    yield "gallery/index.md", index()


def index() -> str:
    """Return the page that lists the examples, by the floor that they show."""
    lines = ["# Gallery", "", "One idea a program, each compared with NumPy. Run one, or all of them:", ""]
    lines += ["```sh", "python -m warpkit examples grouped_softmax", "python -m warpkit examples", "```", ""]
    for heading in KINDS:
        lines += [f"## {heading}", ""]
        for name, path in examples().items():
            if kind(path) == heading:
                lines.append(f"- [{title(name)}]({name}.md): {headline(path)}")
                if draws(path):
                    lines += ["", f"    [![What {name} draws]({name}.png){{ .pixels .small }}]({name}.md)", ""]
        lines.append("")
    return WITHOUT_CONTENTS + "\n".join(lines) + "\n"


def kind(path: Path) -> str:
    """Return the heading of an example, by the functions that it calls."""
    source = path.read_text(encoding="utf-8")
    return next(heading for heading, signs in KINDS.items() if any(sign in source for sign in signs))


def title(name: str) -> str:
    """Return an example's name as a title."""
    return name.replace("_", " ").capitalize()


def page(name: str, path: Path) -> str:
    """Return an example's page; its docstring is the text, the rest is the source."""
    source = path.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    code = "\n".join(source.splitlines()[docstring.end_lineno or 0 :]).strip()
    shown = f"![What {name} draws]({name}.png){{ .pixels }}\n\n" if draws(path) else ""
    text = f'# {title(name)}\n\n{headline(path)}\n\n{shown}```python title="examples/{path.name}"\n{code}\n```\n'
    return WITHOUT_CONTENTS + text


def picture(path: Path) -> bytes:
    """Run an example, in the simulator where there is no GPU, and return what it draws."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture.png"
        done = start(path, probe(), str(file), capture=True)
        if done.returncode:
            raise RuntimeError(f"{path.name} failed: {done.stderr}")
        return file.read_bytes()


def navigation() -> list[dict[str, str] | str]:
    """Return the part of the navigation that these pages are."""
    return ["gallery/index.md", *({title(name): f"gallery/{name}.md"} for name in examples())]
