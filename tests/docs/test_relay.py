"""docs/relay.md is correct, and covers the features of graphs."""

import re
from pathlib import Path

import pytest

from stepwell.frontends import relay
from stepwell.tools.docs import run_page
from stepwell.transforms import PASSES

PAGE = (Path(__file__).parents[2] / "docs" / "relay.md").read_text()


def test_the_page_prints_what_stands_there() -> None:
    assert run_page(PAGE) == PAGE, "python -m stepwell.tools.docs makes it anew"


@pytest.mark.parametrize("name", [name for name in PASSES if name.startswith("relay-")])
def test_the_page_lists_every_pass_on_graphs(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`relay\.(\w+)\(", PAGE))))
def test_what_the_page_lists_is_there(name: str) -> None:
    assert hasattr(relay, name) or name == "build"
