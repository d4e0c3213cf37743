"""Runs tests/filecheck: in this process, file by file, and a sample by lit, whose processes take long to start."""

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import filecheck.main
import pytest
from xdsl.xdsl_opt_main import xDSLOptMain

from stepwell.tools import stepwell_opt

FILECHECK = Path(__file__).with_name("filecheck")
FILES = sorted(
    file for suffix in ("mlir", "py") for file in FILECHECK.rglob(f"*.{suffix}") if file.parent.name != "inputs"
)
SAMPLE = (FILECHECK / "dialects/te/ops.mlir",)
TOOLS: dict[str, Callable[[list[str]], None]] = {
    "stepwell-opt": stepwell_opt.main,
    "xdsl-opt": lambda arguments: xDSLOptMain(args=arguments).run(),
    "filecheck": lambda arguments: filecheck.main.main(["filecheck", *arguments]),
}


def _substitutions() -> list[tuple[str, str]]:
    """The words that lit.cfg replaces in commands, and their meaning."""
    file = FILECHECK / "lit.cfg"
    config = SimpleNamespace(environment={}, substitutions=[])
    exec(file.read_text(), {"config": config, "__file__": str(file)})
    return config.substitutions


def _pipelines(file: Path) -> Iterator[list[list[str]]]:
    """The commands of each `RUN` line of a file."""
    for command in re.findall(r"RUN: (.*)", file.read_text()):
        for word, meaning in [*_substitutions(), ("%s", str(file))]:
            command = command.replace(word, meaning)
        yield [shlex.split(part) for part in command.split(" | ")]


def _run(command: list[str], read: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Call a tool with its arguments, as if it was a process that reads a text; returns the text that it prints."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(read.encode()), encoding="utf-8"))
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        try:
            TOOLS[command[0]](command[1:])
        except SystemExit as stop:
            if stop.code:
                pytest.fail(f"{shlex.join(command)}\n{errors.getvalue()}")
    return out.getvalue()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FILECHECK)))
def test_the_tools_print_the_text_of_a_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines = list(_pipelines(file))
    assert pipelines, f"{file} has no RUN line"
    for pipeline in pipelines:
        text = ""
        for command in pipeline:
            text = _run(command, text, monkeypatch)


@pytest.mark.parametrize("files", [SAMPLE, pytest.param(tuple(FILES), marks=pytest.mark.slow)], ids=["sample", "all"])
def test_lit_agrees(files: tuple[Path, ...]) -> None:
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "-v", "-q", "-j", "1", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
