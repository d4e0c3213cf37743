"""docs/passes.md is the page of the docstrings, and describes every pass completely."""

import re
from pathlib import Path

import pytest

from stepwell.tools.docs import passes_page
from stepwell.tools.docs.docstrings import describe_pass
from stepwell.transforms import PASSES, get_all_passes

PAGE = (Path(__file__).parents[2] / "docs" / "passes.md").read_text()


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE == passes_page(), "python -m stepwell.tools.docs regenerates the page"


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_in_the_table_and_has_a_section(name: str) -> None:
    assert re.search(rf"^\| \[`{name}`\]\(#{name}\) \|", PAGE, re.MULTILINE)
    assert f"\n### {name}\n" in PAGE


@pytest.mark.parametrize("name", PASSES)
def test_every_part_of_a_docstring_is_a_sentence(name: str) -> None:
    described = describe_pass(get_all_passes()[name]())
    assert [o.name for o in described.options if not o.meaning] == []
    for text in (described.summary, described.requirements, described.removals):
        assert text.endswith(".")


def test_the_options_of_a_pass_are_in_its_specification() -> None:
    specs = {name: describe_pass(get_all_passes()[name]()).spec for name in PASSES}
    assert specs["tir-simplify"] == "tir-simplify{unit-loops=false}"
    assert specs["apply-schedule"] == "apply-schedule{check=true seed=N}"
    assert specs["relay-partition"] == "relay-partition{libraries=A,B}"
    assert specs["te-inline"] == "te-inline{recompute=true}"
    assert specs["tir-resolve-blocks"] == "tir-resolve-blocks"
