"""docs/workbench.md is correct: its code and commands run, with the output on the page."""

from pathlib import Path

from stepwell.tools.docs import run_page

PAGE = (Path(__file__).parents[2] / "docs/workbench.md").read_text()


def test_the_page_is_generated() -> None:
    assert run_page(PAGE) == PAGE, "python -m stepwell.tools.docs makes it anew"


def test_lines_are_short() -> None:
    assert [line for line in PAGE.splitlines() if len(line) > 150 and not line.startswith("|")] == []
