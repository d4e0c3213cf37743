"""docs/schedules.md is correct: its code and the example run, and print the text on the page."""

import re
import runpy
from pathlib import Path

import pytest

from stepwell.tools.docs import run_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/schedules.md").read_text()


def test_the_page_prints_what_stands_there() -> None:
    assert run_page(PAGE) == PAGE, "python -m stepwell.tools.docs makes it anew"


def test_the_walk_uses_the_steps_that_a_matrix_product_needs() -> None:
    walk = PAGE.split("### The result")[0]
    for step in ("split", "reorder", "cache_write", "reverse_compute_at", "cache_read", "compute_at"):
        assert f"sch.{step}(" in walk
    for step in ("decompose_reduction", "vectorize", "unroll", "parallel"):
        assert f"sch.{step}(" in walk


def test_the_example_computes_what_numpy_does(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples/schedule_matmul.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "T.vectorized(" in printed
    assert printed.splitlines()[-1] == "the same as numpy: True"


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    links = {link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link}
    missing = {link for link in links if not ((ROOT / page).parent / link).exists()}
    assert not missing
