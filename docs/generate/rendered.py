"""Griffe's extension: docstrings as contracts.py writes them, before mkdocstrings renders them."""

from typing import Any

import griffe

from docs.generate.contracts import markdown, of_fields
from docs.generate.reference import FLOORS, link_on


class Contracts(griffe.Extension):
    """Rewrite the docstrings of functions and classes."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Rewrite a function's docstring."""
        self.rewrite(func, [parameter.name.lstrip("*") for parameter in func.parameters])

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Rewrite a class's docstring."""
        init = cls.members.get("__init__")
        names = [parameter.name for parameter in init.parameters] if isinstance(init, griffe.Function) else []
        if any(str(decorator.value).startswith("dataclass") for decorator in cls.decorators):
            names += [name for name, member in cls.members.items() if isinstance(member, griffe.Attribute)]
            cls.docstring.value = of_fields(cls.docstring.value, names)
        self.rewrite(cls, names)

    def rewrite(self, item: griffe.Object, parameters: list[str]) -> None:
        """Replace the text of a docstring."""
        if item.docstring is not None:
            floor = next((floor for floor in FLOORS if item.path.startswith(f"warpkit.{floor}.")), "")
            item.docstring.value = markdown(item.docstring.value, parameters, link_on(floor))
