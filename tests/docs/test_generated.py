"""Generated pages: contracts as Markdown, the gallery, figures of the records; and what shell commands name."""

import inspect
import json
import re
import tomllib

import pytest

from docs.generate import contracts, figures, gallery, reference
from tests.examples import EXAMPLES
from warpkit.__main__ import main

from . import PAGES, ROOT
from .blocks import blocks_of

pytestmark = pytest.mark.everywhere

DOCSTRING = """Sum `value` over [all] 2**3 lanes.

    Called by: any lanes,
    together.
    Args: value: a number.  op, init: two things; see `add`.
    width: 32.
    Returns: the sum.  Cost: 5.     Example: 1 -> 32.
    Called by, args: as `other`.
    """


def test_a_contract_is_a_list_of_definitions():
    shown = contracts.markdown(DOCSTRING, ["value", "op", "init", "width"], {"add": "x.add", "value": "x.value"}.get)

    assert shown.split("\n\n") == [
        "Sum `value` over \\[all\\] 2\\*\\*3 lanes.",
        "Called by\n:   any lanes, together.",
        "Args\n:   - `value`: a number.\n    - `op, init`: two things; see [`add`][x.add].\n    - `width`: 32.",
        "Returns\n:   the sum.",
        "Cost\n:   5.",
        "Example\n:   1 -> 32.",
        "Called by, args\n:   as `other`.\n",
    ]


def test_the_fields_of_a_dataclass_are_its_parameters():
    text = "How it is tuned. threads, blocks: of a grid.  items: of a thread."

    assert contracts.of_fields(text, ["threads", "blocks", "items"]) == (
        "How it is tuned.\n\nArgs: threads, blocks: of a grid.  items: of a thread."
    )
    assert contracts.of_fields("It has none.", []) == "It has none."


def hidden(text, names):
    """Return what begins behind one space, and so is no field or parameter of its own."""
    return re.findall(rf"\. (?:{'|'.join(map(re.escape, names))}): ", text)


def test_no_field_or_parameter_of_a_contract_is_hidden_in_a_sentence():
    found = []
    for name, item in reference.public().items():
        parameters = [] if isinstance(item, type) else list(inspect.signature(item).parameters)
        found += [(name, text) for text in hidden(inspect.getdoc(item), [*contracts.FIELDS, *parameters])]
    for page in reference.pages():
        names = [*contracts.FIELDS, *reference.parameters_of(page)]
        found += [(page.path, text) for text in hidden(page.text, names)]

    assert hidden("It is one. out: the array.", ["x", "out"]) == [". out: "]
    assert found == []


def test_names_lead_to_their_contracts_outside_of_code():
    text = "`add`, `add(1, 2)`, [`add`][y], `other`\n\n```python\n`add`\n```\n`add`\n"

    assert contracts.with_links(text, {"add": "x.add"}.get) == (
        "[`add`][x.add], [`add(1, 2)`][x.add], [`add`][y], `other`\n\n```python\n`add`\n```\n[`add`][x.add]\n"
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_of_an_example_holds_all_of_its_code(path):
    source, shown = path.read_text(encoding="utf-8"), gallery.page(path.stem, path)

    assert source.partition("\n")[2].strip() in shown
    assert source.partition("\n")[0].strip('"') in shown


def test_the_navigation_has_every_example():
    assert len(gallery.navigation()) == len(EXAMPLES) + 1


def test_the_performance_page_has_every_case_of_the_newest_records():
    page = figures.page()

    assert figures.newest()
    for suite, (path, record) in figures.newest().items():
        if suite == figures.ELSEWHERE:
            continue
        assert f"`{path.name}`" in page
        for row in record["suites"][suite]["rows"]:
            assert f"| {row['case']} |" in page


def test_a_suite_says_what_it_measures_and_beside_what():
    assert figures.measured("scan").startswith("Scans of device arrays: device time beside cub::DeviceScan")
    assert figures.measured("of another year") == ""


def test_the_gallery_lists_each_example_once_with_its_picture():
    shown = gallery.index()

    assert sorted(re.findall(r"^- \[.*?\]\((\w+)\.md\)", shown, re.MULTILINE)) == [path.stem for path in EXAMPLES]
    assert shown.index("(run_lengths.md)") < shown.index("(run_lengths.png)") < shown.index("## From the host")


def test_the_newest_record_of_a_suite_counts(tmp_path, monkeypatch):
    for day, value in (("2026-01-02", 2), ("2026-01-01", 1)):
        record = {"environment": {}, "suites": {"warp": {"rows": [{"ours": value}]}}}
        (tmp_path / f"{day}-gpu-warp.json").write_text(json.dumps(record))
    monkeypatch.setattr(figures, "RESULTS", tmp_path)

    assert figures.newest()["warp"][1]["suites"]["warp"]["rows"] == [{"ours": 2}]


def commands():
    return [
        line for page in PAGES for block in blocks_of(page) if block.kind == "sh" for line in block.text.splitlines()
    ]


def test_commands_name_what_exists(capsys):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    main([])
    known = set(re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE))

    assert commands()
    for command in commands():
        extra, part = re.search(r"'\.\[(\w+)\]'", command), re.search(r"-m warpkit (\w+)", command)
        assert extra or part or command.endswith("python keep.py")
        assert extra is None or extra[1] in extras
        assert part is None or part[1] in known
