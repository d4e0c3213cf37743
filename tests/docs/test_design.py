"""docs/design.md numbers its decisions in one sequence, and names every folder of the source."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/design.md").read_text()


def test_the_decisions_are_numbered_without_holes() -> None:
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", PAGE, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_references_lead_to_decisions() -> None:
    decisions = PAGE.split("\n## Decisions\n")[1]
    count = len(re.findall(r"^\d+\. \*\*", decisions, re.MULTILINE))
    assert all(1 <= int(number) <= count for number in re.findall(r"\((\d+)\)", decisions))


def test_the_table_of_the_source_tree_names_every_folder() -> None:
    named = set(re.findall(r"`([a-z]+)/", PAGE.split("\n## The source tree\n")[1].split("\n## ")[0]))
    assert {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"build"} <= named


def test_lines_are_short() -> None:
    assert [line for line in PAGE.splitlines() if len(line) > 130 and not line.startswith("|")] == []
