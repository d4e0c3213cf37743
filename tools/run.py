"""`stepwell run`: runs a program (`program_runs.py`) or a compiled graph (`running.py`)."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.errors import OptionError
from ..core.fills import FILLS
from . import program_runs
from .program_runs import run_program
from .programs import refuse_options
from .usage import named_size, positive_number, positive_numbers


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell run` to a parser."""
    parser.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py), MLIR (.mlir), or a compiled graph")
    parser.add_argument("--seed", type=int, default=0, help="of the made-up inputs")
    parser.add_argument(
        "--size", type=named_size, action="append", default=[], metavar="NAME=N", help="a symbolic size"
    )
    parser.add_argument("--repeat", type=positive_number, default=20, help="timed calls (default 20)")
    programs = parser.add_argument_group("programs: parsed, lowered, built, run on made-up inputs")
    of_programs = program_runs.add_options(programs)
    graphs = parser.add_argument_group("compiled graphs: a folder, or a file that ends in .tar")
    add = graphs.add_argument
    of_graphs = [
        add("-i", "--inputs", type=Path, metavar="FILE.npz", help="arrays by the names of inputs"),
        add("--fill", choices=FILLS, help="what inputs hold that are not given"),
        add("-o", "--output", type=Path, metavar="FILE.npz", help="where to write the outputs"),
        add("--number", type=positive_number, default=1, help="runs in each timed call (default 1)"),
        add("--profile", action="store_true", help="show how long each kernel takes"),
        add("--threads", type=positive_numbers, metavar="N,...", help="the numbers of threads to measure with"),
    ]
    parser.set_defaults(command=run_command, of_programs=of_programs, of_graphs=of_graphs)


def run_command(options: argparse.Namespace) -> int:
    """Runs the `run` command; returns the exit code."""
    if options.file.is_dir() or options.file.suffix == ".tar":
        from .running import run_saved  # lazy: programs do not need the executor of graphs

        refuse_options(options, options.of_programs, "programs, and this is a compiled graph")
        return run_saved(options)
    if options.file.suffix == ".onnx":
        raise OptionError(f"{options.file}: a model is compiled first: stepwell compile {options.file} -o FOLDER")
    refuse_options(options, options.of_graphs, "compiled graphs (stepwell compile)")
    return run_program(options)
