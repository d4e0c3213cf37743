"""docs/te-schedules.md is correct, and names the methods of stages and schedules."""

import re
from pathlib import Path

import pytest

from stepwell.frontends import te
from stepwell.frontends.te import stage
from stepwell.tools.docs import run_page

PAGE = (Path(__file__).parents[2] / "docs" / "te-schedules.md").read_text()
STAGES, REST = PAGE.split("## Stages")[1].split("These change the computation")
MISSING = PAGE.split("## Limits")[1]


def test_the_page_prints_what_stands_there() -> None:
    assert run_page(PAGE) == PAGE, "python -m stepwell.tools.docs makes it anew"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+)\(", STAGES))))
def test_a_stage_has_what_the_page_lists(name: str) -> None:
    assert callable(getattr(te.Stage, name))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\| `s\.(\w+)\(", REST))))
def test_a_schedule_has_what_the_page_lists(name: str) -> None:
    assert callable(getattr(te.Schedule, name))


@pytest.mark.parametrize("name", sorted(stage.UNSUPPORTED_STAGE_METHODS))
def test_the_page_lists_what_is_missing(name: str) -> None:
    assert f"`{name}`" in MISSING
