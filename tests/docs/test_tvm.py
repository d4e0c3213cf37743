"""docs/tvm.md names the supported and the unsupported parts of TVM's API."""

import re
from pathlib import Path
from typing import Any

import pytest

import stepwell.frontends.tvm as tvm

PAGE = (Path(__file__).parents[2] / "docs" / "tvm.md").read_text()
TABLE, MISSING = PAGE.split("Not here yet:")


def names(text: str) -> list[str]:
    return sorted(set(re.findall(r"`tvm\.([\w.]+)`", text)))


def found(path: str) -> Any:
    value: Any = tvm
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("path", names(TABLE))
def test_what_the_page_lists_is_there(path: str) -> None:
    assert found(path) is not None


@pytest.mark.parametrize("path", names(MISSING))
def test_what_the_page_says_is_missing_is_missing(path: str) -> None:
    with pytest.raises(AttributeError):
        found(path)
