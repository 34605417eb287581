"""Every sentence with which a collective refuses something is explained on the page of troubleshooting."""

import ast
import re

import pytest

from . import ROOT

PAGE = (ROOT / "docs" / "pages" / "troubleshooting.md").read_text(encoding="utf-8")
# The floors that the page explains, and what of the waist their collectives refuse with.
SOURCES = [
    *ROOT.glob("warpkit/warp/*.py"),
    *ROOT.glob("warpkit/block/*.py"),
    *ROOT.glob("warpkit/host/*.py"),
    *(ROOT / "warpkit" / "simt" / f"{name}.py" for name in "rules types states staging bits memory machine".split()),
    *(ROOT / "warpkit" / "simt" / f"{name}.py" for name in "simulated simulated_memory".split()),
]
OWN = {"refuse", "Refused", "OutsideKernel", "ValueError", "RuntimeError"}


def template(node):
    """Return a string with … for what is put into it; None for anything else."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join("…" if isinstance(part, ast.FormattedValue) else template(part) for part in node.values)
    return None


def messages():
    """Return the templates of all messages, sorted."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in OWN and node.args:
                message = template(node.args[0])
                if message is None and len(node.args) > 1:  # (parameter, sentence)
                    message = f"… {template(node.args[1])}"
                found.add(message)
    return sorted(found - {None, "… (…)", "… …", "… None"})


def pattern(shown):
    return re.compile(".*".join(map(re.escape, shown.split("…"))))


EXPLAINED = [pattern(shown) for shown in re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)]


@pytest.mark.everywhere
@pytest.mark.parametrize("message", messages())
def test_a_message_is_explained(message):
    assert any(shown.fullmatch(message) for shown in EXPLAINED)


@pytest.mark.everywhere
def test_there_are_messages_and_no_explanation_takes_all():
    assert len(messages()) > 50
    assert not any(shown.fullmatch("something else: entirely") for shown in EXPLAINED)
