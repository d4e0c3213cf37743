"""Programs computed with TVMScript's Python features are the programs that TVM 0.27 parses."""

import importlib.util
from pathlib import Path

import pytest

from stepwell import Module
from stepwell.frontends.tvmscript import parse_tvmscript

PROGRAMS = Path(__file__).parents[2] / "data" / "tvmscript" / "python"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if not path.stem.endswith(".tvm"))
PYTHON_ONLY = {
    "function",
    "function_factory",
    "function_of_a_buffer",
    "function_of_several",
    "function_with_words",
    "macro_factory",
    "method",
}
"""Cases that use Python functions and classes, which are not available to text alone."""


def expected(name: str) -> str:
    return parse_tvmscript((PROGRAMS / f"{name}.tvm.py").read_text(), name).script("0.27")


def test_there_are_programs() -> None:
    assert len(NAMES) == 55


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PYTHON_ONLY])
def test_text_is_read_as_tvm_reads_it(name: str) -> None:
    module = parse_tvmscript((PROGRAMS / f"{name}.py").read_text(), name)
    module.verify()
    assert module.script("0.27") == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_decorated_functions_are_read_as_tvm_reads_them(name: str, tmp_path: Path) -> None:
    text = (PROGRAMS / f"{name}.py").read_text()
    path = tmp_path / f"{name}.py"
    path.write_text(text.replace("from tvm.script import tirx as T", "from stepwell.script import tir as T"))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    python = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(python)
    assert isinstance(python.f, Module)
    python.f.verify()
    assert python.f.script("0.27") == expected(name)
