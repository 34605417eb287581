"""Every sentence with which the library refuses something is explained on the page of troubleshooting."""

import ast
import re

import pytest

from . import ROOT

PAGE = (ROOT / "docs" / "pages" / "troubleshooting.md").read_text(encoding="utf-8")
# The command line speaks for itself.
SOURCES = [path for path in ROOT.glob("warpkit/**/*.py") if "cli" not in path.parts]
OWN = {"refuse", "Refused", "OutsideKernel"}
OWN |= {"ValueError", "TypeError", "RuntimeError", "MemoryError", "ImportError"}


def template(node, constants=()):
    """Return a string with … for what is put into it; None for anything else."""
    if isinstance(node, ast.Name) and node.id in constants:
        node = constants[node.id]
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join("…" if isinstance(part, ast.FormattedValue) else template(part) for part in node.values)
    return None


def messages():
    """Return the templates of all messages, sorted."""
    found = set()
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            if isinstance(node.targets[0], ast.Name) and template(node.value) is not None
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in OWN and node.args:
                message = template(node.args[0], constants)
                if message is None and len(node.args) > 1:  # (parameter, sentence)
                    message = f"… {template(node.args[1])}"
                found.add(message)
    return sorted(found - {None, "… (…)", "… …", "… None"})


def pattern(shown):
    return re.compile(".*".join(map(re.escape, shown.split("…"))))


SHOWN = re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)
EXPLAINED = [pattern(shown) for shown in SHOWN]
ELSEWHERE = (
    "warpkit … needs …, but found …: run …",
    "ModuleNotFoundError: No module named 'warpkit'",
)  # not raised as they stand


@pytest.mark.everywhere
@pytest.mark.parametrize("message", messages())
def test_a_message_is_explained(message):
    assert any(shown.fullmatch(message) for shown in EXPLAINED)


@pytest.mark.everywhere
def test_there_are_messages_and_no_explanation_takes_all():
    assert len(messages()) > 50
    assert not any(shown.fullmatch("something else: entirely") for shown in EXPLAINED)


@pytest.mark.everywhere
def test_no_message_is_explained_that_nobody_gives():
    given = messages()

    assert [shown for shown in SHOWN if not any(map(pattern(shown).fullmatch, given))] == list(ELSEWHERE)
