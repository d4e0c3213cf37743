"""README.md is true: its program is the example's, its IR is what the program becomes, its tables are complete."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.dialects import DIALECTS
from stepwell.transforms import PASSES
from stepwell.transforms.pipelines import lower

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_program_is_an_example_and_becomes_what_is_shown() -> None:
    program = blocks("python")[0]
    module = stepwell.parse_tvmscript(program)
    assert str(module) == str(stepwell.parse_tvmscript((ROOT / "examples/vector_add.py").read_text()))
    tir, upstream = blocks("mlir")
    assert textwrap.indent(tir, "  ") in str(module)
    assert textwrap.indent(upstream, "    ") in str(lower(module))


def test_the_python_session_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(blocks("python")[1], names)
    d = names["d"]
    assert isinstance(d, np.ndarray)
    assert (d == 48).all()
    assert "entry.main" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*DIALECTS, *PASSES])
def test_the_tables_list_every_dialect_and_pass(name: str) -> None:
    assert re.search(rf"^\| `{name}[`{{]", README, re.MULTILINE)
