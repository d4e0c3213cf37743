"""The command `stepwell explain`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...backends.build import parse_target
from ..programs import read_program
from .lines import lines_of_source
from .page import page_of
from .stages import explain


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell explain`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py) or MLIR (.mlir)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="the page (default: FILE.html)")
    parser.add_argument("-p", "--passes", default="", metavar="PASSES", help="a pipeline to apply first")
    parser.add_argument("--target", default="llvm", help="the processor, with options (default llvm)")


def explain_command(options: argparse.Namespace) -> int:
    """Writes the page; returns the exit code."""
    file: Path = options.file
    explanation = explain(read_program(file), str(file), parse_target(options.target), options.passes)
    output: Path = options.output or file.with_suffix(".html")
    output.write_text(page_of(str(file), lines_of_source(file), explanation), encoding="utf-8")
    print(f"{output}: {len(explanation.stages)} stages, {len(explanation.remarks)} remarks")
    return 0
