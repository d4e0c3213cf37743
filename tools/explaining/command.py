"""The command `stepwell explain`, and the function `stepwell.explain`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ...backends.build import ORACLE, parse_target
from ...core.diagnostics import location_of
from ...core.errors import ParseError, UnsupportedError
from ...core.target import Target
from ...frontends.mlir import parse_mlir
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...schedule import Schedule
from ...schedule.trace import traces_in_module
from ..programs import read_program
from .lines import lines_of_source
from .page import page_of
from .stages import explanation_of

_SCHEDULE = "apply-schedule"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell explain`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py) or MLIR (.mlir)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="the page (default: FILE.html)")
    parser.add_argument("-p", "--passes", default="", metavar="PASSES", help="a pipeline to apply first")
    parser.add_argument("--target", default="llvm", help="llvm (the default) or cuda, with options")
    parser.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    """Writes the page; returns the exit code."""
    file: Path = options.file
    module = read_program(file)
    passes: str = options.passes or (_SCHEDULE if traces_in_module(module.op) else "")
    explanation = explanation_of(module, str(file), _compiled_target(options.target), passes)
    output: Path = options.output or file.with_suffix(".html")
    output.write_text(page_of(str(file), lines_of_source(_text_of(file)), explanation), encoding="utf-8")
    print(f"{output}: {len(explanation.stages)} stages, {len(explanation.remarks)} remarks")
    return 0


def explain(
    program: Module | Schedule, output: str | os.PathLike[str], target: str | Target = "llvm", passes: str = ""
) -> None:
    """Writes the page of `stepwell explain` for a program, or for a schedule with the program after each instruction.

    output: the HTML file.  target: `llvm` or `cuda`, with options.  passes: a pipeline to apply first. The first column
    is the file of the program's locations if it exists, else the program as text, in which its operations get new
    locations. Raises UnsupportedError for another target and for programs of relax, and the errors of `apply_passes`
    and `build`.
    """
    module = program.with_trace() if isinstance(program, Schedule) else program
    pipeline = ",".join(filter(None, [_SCHEDULE if traces_in_module(module.op) else "", passes]))
    file = _file_of(module)
    if Path(file).is_file():
        source = _text_of(Path(file))
    else:
        source, module = _printed(module, file)
    explanation = explanation_of(module, file, _compiled_target(target), pipeline)
    Path(output).write_text(page_of(file, lines_of_source(source), explanation), encoding="utf-8")


def _compiled_target(target: str | Target) -> Target:
    """The target of an explanation. UnsupportedError for the oracle, which has no code."""
    if str(target) == ORACLE:
        raise UnsupportedError(f"target {ORACLE} compiles no code, expected llvm or cuda")
    return parse_target(target)


def _file_of(module: Module) -> str:
    """The file of the first operation with a source location; "<program>" without one."""
    locations = filter(None, map(location_of, module.op.walk()))
    return next((location.file for location in locations), "<program>")


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _printed(module: Module, file: str) -> tuple[str, Module]:
    """A program as TVMScript, or as MLIR if it has no TVMScript, and the program with locations in this text."""
    program = module.clone()
    traces = traces_in_module(program.op)
    for trace in traces:
        trace.detach()
    try:
        text = program.script()
        located = parse_tvmscript(text, file)
    except (UnsupportedError, ParseError):
        text = str(module)
        return text, Module(parse_mlir(text, file).op, module.constants)
    located.constants.update(module.constants)
    located.op.body.block.add_ops(traces)
    return text, located
