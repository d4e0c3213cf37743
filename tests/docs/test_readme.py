"""README.md is correct: its programs run, its IR is their lowering, and the tables of the pages are complete."""

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects import DIALECTS, get_all_dialects
from stepwell.operators import OPERATORS
from stepwell.schedule.session import UNSUPPORTED_PRIMITIVES
from stepwell.transforms import PASSES
from stepwell.transforms.pipelines import lower

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_first_program_is_an_example_and_becomes_what_is_shown() -> None:
    program = blocks("python")[0]
    module = stepwell.parse_tvmscript(program)
    assert str(module) == str(stepwell.parse_tvmscript((ROOT / "examples/vector_add.py").read_text()))
    tir, upstream, _ = blocks("mlir")
    assert textwrap.indent(tir, "  ") in str(module)
    assert textwrap.indent(upstream, "    ") in str(lower(module))


def test_the_tensor_expressions_become_a_function() -> None:
    names: dict[str, Any] = {}
    exec(blocks("python", page("te-schedules.md"))[0], names)
    a, b, c = np.ones((128, 64), np.float32), np.ones((64, 32), np.float32), np.zeros((128, 32), np.float32)
    stepwell.build(names["mod"])["main"](a, b, c)
    assert (c == 64).all()


def test_the_graph_runs() -> None:
    names: dict[str, Any] = {}
    exec(blocks("python")[1], names)
    assert (names["executor"].get_output(0) == np.full((3, 10), 64)).all()


def test_the_schedule_of_the_first_program_is_the_trace_shown(capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks("python")[2], {"stepwell": stepwell, "Module": stepwell.parse_tvmscript(blocks("python")[0])})
    assert capsys.readouterr().out == blocks("mlir")[2]


def test_the_python_session_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(blocks("python")[3], names)
    d = names["d"]
    assert isinstance(d, np.ndarray)
    assert (d == 48).all()
    assert "entry.main" in capsys.readouterr().out


@pytest.mark.parametrize("name", DIALECTS)
def test_the_table_lists_every_dialect(name: str) -> None:
    assert re.search(rf"^\| \[`{name}`\]", README, re.MULTILINE)


@pytest.mark.parametrize("name", PASSES)
def test_the_table_lists_every_pass(name: str) -> None:
    assert re.search(rf"^\| \[`{name}`\]", page("passes.md"), re.MULTILINE)


def test_the_table_of_operators_is_complete() -> None:
    assert set(re.findall(r"^\| `([\w.]+)\(", page("operators.md"), re.MULTILINE)) == set(OPERATORS)


def test_the_list_of_primitives_is_complete() -> None:
    contents = page("primitives.md").split("\n## ")[0]
    named = set(re.findall(r"\[([a-z_]+)\]\(#\1\)", contents))
    ops = {op.name.partition(".")[2] for op in get_all_dialects()["schedule"]().operations}
    assert ops <= named
    assert all(hasattr(stepwell.Schedule, name) for name in named)


def test_the_limits_name_every_primitive_that_is_not_there_yet() -> None:
    section = page("limits.md").split("\n## Schedules\n")[1].split("\n## ")[0]
    assert UNSUPPORTED_PRIMITIVES <= set(re.findall(r"`([a-z_]+)`", section))


def test_the_first_screen_is_short_and_leads_to_the_design() -> None:
    assert len(README.splitlines()) <= 150
    assert "](docs/design.md)" in README.split("```")[0]
    assert all(f"](docs/{name})" in README for name in ("passes.md", "operators.md", "primitives.md", "limits.md"))
