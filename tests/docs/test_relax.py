"""docs/relax.md is correct, and lists the passes and words of programs."""

import re
from pathlib import Path

import pytest

from stepwell.frontends.tvmscript.vocabulary import relax_words
from stepwell.tools.docs import run_page
from stepwell.transforms import PASSES

PAGE = (Path(__file__).parents[2] / "docs" / "relax.md").read_text()


def test_the_page_prints_what_stands_there() -> None:
    assert run_page(PAGE) == PAGE, "python -m stepwell.tools.docs makes it anew"


@pytest.mark.parametrize("name", [name for name in PASSES if name.startswith("relax-")])
def test_the_page_lists_every_pass_on_programs(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("name", sorted(set(re.findall(r"R\.([\w.]+)\(", PAGE.split("Unsupported features")[0]))))
def test_the_words_of_the_page_are_known(name: str) -> None:
    assert name in relax_words() or name == "function"
