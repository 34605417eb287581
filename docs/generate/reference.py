"""Which page holds which public name: a page for each module that defines some, so that none can be forgotten."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import warpkit

from .contracts import markdown

FLOORS = {"warp": "Warp", "block": "Block", "host": "Host", "device": "Arrays", "ops": "Operators", "errors": "Errors"}
WHOLE = ("ops", "errors")  # a page for the floor, whatever modules its names come from
ARRAYS = "device"  # the floor whose names are not flat: `device.sum`
OPTIONS = "    options:\n      heading_level: 2\n"


class Page(NamedTuple):
    """A page of the reference: what the module says of itself, and its public names in the order of its source."""

    floor: str
    name: str
    title: str
    text: str
    items: tuple[tuple[str, str], ...]  # public name, full name

    @property
    def path(self) -> str:
        """Return where the page is."""
        return f"reference/{self.floor}/{self.name}.md" if self.name != self.floor else f"reference/{self.floor}.md"


def home(item: Any) -> str:
    """Return the module that defines a public function or class."""
    return inspect.unwrap(item).__module__


@functools.cache
def public() -> dict[str, Any]:
    """Return what is public, by the names that stand behind `wk.`."""
    flat = {name: getattr(warpkit, name) for name in warpkit.__all__}
    return flat | {f"{ARRAYS}.{name}": getattr(warpkit.device, name) for name in warpkit.device.__all__}


def floor_of(name: str) -> str:
    """Return the floor that a public name is exported by."""
    if name.startswith(f"{ARRAYS}."):
        return ARRAYS
    for floor in FLOORS:
        module = getattr(warpkit, floor, None)
        if floor != ARRAYS and module is not None and name in module.__all__:
            return floor
    raise ValueError(f"{name} is public, but no floor exports it")


def page_of(name: str) -> tuple[str, str]:
    """Return floor and page of a public name; the policy of array functions is on their page."""
    floor = floor_of(name)
    short = floor if floor in WHOLE else home(public()[name]).rpartition(".")[2]
    return floor, short.removesuffix("_policy").removesuffix("_plan") if floor == ARRAYS else short


def pages() -> list[Page]:
    """Return the pages, by floor and then by module."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in public():
        groups.setdefault(page_of(name), []).append(name)
    found = [page(floor, short, names) for (floor, short), names in groups.items()]
    return sorted(found, key=lambda page: (list(FLOORS).index(page.floor), page.name))


def page(floor: str, short: str, names: list[str]) -> Page:
    """Return the page of the names that a floor has from its modules of one name."""
    items = sorted((place(public()[name]), name) for name in names)
    homes = [home(public()[name]) for name in names]
    own = f"warpkit.{floor}" if floor in WHOLE else f"warpkit.{floor}.{short}"
    source = sys.modules[own if own in homes or floor in WHOLE else homes[0]]
    full = tuple((name, targets()[name]) for _, name in items)
    return Page(floor, short, short.replace("_", " ").capitalize(), inspect.getdoc(source) or "", full)


def place(item: Any) -> tuple[str, int]:
    """Return where in the source something is defined."""
    return home(item), inspect.findsource(inspect.unwrap(item))[1]


@functools.cache
def targets() -> dict[str, str]:
    """Return the full name of each public name, which is the anchor of its contract."""
    return {name: f"{home(item)}.{name.rpartition('.')[2]}" for name, item in public().items()}


def link_on(floor: str) -> Callable[[str], str | None]:
    """Return what gives the anchor of a name in a floor's contracts: array functions call each other by short names."""
    if floor != ARRAYS:
        return targets().get
    return lambda name: targets().get(f"{ARRAYS}.{name}") or targets().get(name)


def parameters_of(page: Page) -> set[str]:
    """Return the parameters of all functions of a page."""
    functions = [public()[name] for name, _ in page.items if inspect.isfunction(inspect.unwrap(public()[name]))]
    return {parameter for function in functions for parameter in inspect.signature(function).parameters}


def files() -> Iterator[tuple[str, str]]:
    """Yield path and text of each page."""
    for page in pages():
        contracts = [f"::: {full}\n{OPTIONS}" for _, full in page.items]
        text = markdown(page.text, parameters_of(page), link_on(page.floor))
        yield page.path, f"# {page.title}\n\n{text}\n\n" + "\n\n".join(contracts) + "\n"
    lines = ["# All names", ""]
    for floor, title in FLOORS.items():
        names = [item for page in pages() if page.floor == floor for item in page.items]
        if names:
            lines += [f"## {title}", "", " · ".join(f"[`{name}`][{full}]" for name, full in sorted(names)), ""]
    yield "reference/index.md", "\n".join(lines)


def navigation() -> list[Any]:
    """Return the part of the navigation that these pages are."""
    found: list[Any] = [{"All names": "reference/index.md"}]
    for floor, title in FLOORS.items():
        mine = [page for page in pages() if page.floor == floor]
        if len(mine) == 1:
            found.append({title: mine[0].path})
        elif mine:
            found.append({title: [{page.title: page.path} for page in mine]})
    return found
