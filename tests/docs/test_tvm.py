"""docs/tvm.md names the supported and the unsupported parts of TVM's API."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import UnsupportedError
from stepwell.frontends.tvm.absent import ABSENT
from stepwell.tools.docs.tvm_names import NAMES, coverage_page, present, public_names

PAGE = (Path(__file__).parents[2] / "docs" / "tvm.md").read_text()
TABLE, REST = PAGE.split("## Names")
MISSING = REST.split("Not here yet:")[1]


def names(text: str) -> list[str]:
    return sorted(set(re.findall(r"`tvm\.([\w.]+)`", text)))


def found(path: str) -> Any:
    value: Any = tvm
    for n, part in enumerate(parts := path.split(".")):
        value = getattr(value, part, None) or importlib.import_module(".".join((tvm.__name__, *parts[: n + 1])))
    return value


@pytest.mark.parametrize("path", names(TABLE))
def test_what_the_page_lists_is_there(path: str) -> None:
    if path.startswith("contrib.torch."):
        pytest.importorskip("torch")
    assert found(path) is not None


@pytest.mark.parametrize("path", names(MISSING))
def test_what_the_page_says_is_missing_is_missing(path: str) -> None:
    with pytest.raises((ImportError, UnsupportedError)):  # some absent modules can be imported, not used
        found(path).name()


def test_the_table_of_names_is_that_of_the_package() -> None:
    assert coverage_page(PAGE) == PAGE


def test_every_name_that_the_table_counts_can_be_imported() -> None:
    for module, listed in json.loads(NAMES.read_text()).items():
        own = importlib.import_module(module.replace("tvm", "stepwell.frontends.tvm", 1))
        for name in present(module, listed):
            assert getattr(own, name) is not None, f"{module}.{name}"


@pytest.mark.parametrize("module", sorted(ABSENT))
def test_an_absent_name_says_what_to_use(module: str) -> None:
    own = importlib.import_module(module.replace("tvm", "stepwell.frontends.tvm", 1))
    for name, hint in ABSENT[module].items():
        if "." not in name:
            with pytest.raises(AttributeError, match=re.escape(f"no attribute {name!r}: {hint}")):
                getattr(own, name)


def test_public_names_are_read_from_the_syntax_of_sources(tmp_path: Path) -> None:
    package = tmp_path / "python" / "tvm" / "te"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import os\nfrom .ops import *\nfrom .ops import _hidden, f as g\nX = 1\n")
    (package / "ops.py").write_text("def f(): pass\nclass C: pass\ndef _hidden(): pass\n")
    assert public_names(tmp_path, "tvm.te") == {"f", "g", "C", "X"}
    assert public_names(tmp_path, "tvm.tir") == set()
