"""The command `stepwell explain`, and the function `stepwell.explain`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ...backends.build import ORACLE, parse_target
from ...core.diagnostics import location_of
from ...core.errors import UnsupportedError
from ...core.target import Target
from ...module import Module
from ...schedule import Schedule
from ...schedule.trace import traces_in_module
from ..programs import read_program
from .lines import Line, lines_of_source
from .page import page_of
from .stages import explanation_of

_SCHEDULE = "apply-schedule"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell explain`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py) or MLIR (.mlir)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="the page (default: FILE.html)")
    parser.add_argument("-p", "--passes", default="", metavar="PASSES", help="a pipeline to apply first")
    parser.add_argument("--target", default="llvm", help="llvm (the default) or cuda, with options")


def explain_command(options: argparse.Namespace) -> int:
    """Writes the page; returns the exit code."""
    file: Path = options.file
    module = read_program(file)
    passes: str = options.passes or (_SCHEDULE if traces_in_module(module.op) else "")
    explanation = explanation_of(module, str(file), _compiled_target(options.target), passes)
    output: Path = options.output or file.with_suffix(".html")
    output.write_text(page_of(str(file), lines_of_source(file), explanation), encoding="utf-8")
    print(f"{output}: {len(explanation.stages)} stages, {len(explanation.remarks)} remarks")
    return 0


def explain(
    program: Module | Schedule, output: str | os.PathLike[str], target: str | Target = "llvm", passes: str = ""
) -> None:
    """Writes the page of `stepwell explain` for a program, or for a schedule with the program after each instruction.

    output: the HTML file.  target: `llvm` or `cuda`, with options.  passes: a pipeline to apply first. The first column
    is the file of the program's locations if it exists, else the program as TVMScript. Raises UnsupportedError for
    another target and for programs of relax, and the errors of `apply_passes` and `build`.
    """
    module = program.with_trace() if isinstance(program, Schedule) else program
    pipeline = ",".join(filter(None, [_SCHEDULE if traces_in_module(module.op) else "", passes]))
    file = _file_of(module)
    explanation = explanation_of(module, file, _compiled_target(target), pipeline)
    source = lines_of_source(Path(file)) if Path(file).is_file() else _lines_of_script(program)
    Path(output).write_text(page_of(file, source, explanation), encoding="utf-8")


def _compiled_target(target: str | Target) -> Target:
    """The target of an explanation. UnsupportedError for the oracle, which has no code."""
    if str(target) == ORACLE:
        raise UnsupportedError(f"target {ORACLE} compiles no code, expected llvm or cuda")
    return parse_target(target)


def _file_of(module: Module) -> str:
    """The file of the first operation with a source location; "program" without one."""
    locations = filter(None, map(location_of, module.op.walk()))
    return next((location.file for location in locations), "program")


def _lines_of_script(program: Module | Schedule) -> list[Line]:
    module = program.mod if isinstance(program, Schedule) else program
    return [Line(line) for line in module.script().splitlines()]
