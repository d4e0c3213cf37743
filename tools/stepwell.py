"""`stepwell`: the commands that run, compile, profile, reduce and fuzz programs.

`stepwell run` runs a program (`program_runs.py`) or a compiled graph (`running.py`), `stepwell compile` compiles graphs
(`compiling.py`), `stepwell cache` shows the cache (`caching.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..backends.graph.inputs import FILLS
from ..core.errors import OptionError, PluginError
from ..transforms.reproducers import versions
from . import caching, compiling, program_runs
from .caching import cache_command
from .compiling import compile_command
from .explaining import command as explaining
from .explaining.command import explain_command
from .profiling import command as profiling
from .program_runs import run_program
from .programs import refuse_options
from .reducing import command as reducing
from .reducing.command import reduce_command
from .remarks import complete_remarks_option
from .running import run_saved
from .stepwell_opt import report_user_errors
from .usage import check_command, refuse_arguments


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell` with `args`, by default the command line; exits with 1 on a user error or a failed check."""
    sys.setrecursionlimit(20_000)
    with report_user_errors():
        words = complete_remarks_option(args)
        parser, commands = _parser("fuzz" in words[:1])
        check_command(parser, words, commands)
        options, unknown = parser.parse_known_args(words)
        refuse_arguments(options.parser, unknown)
        sys.exit(options.command(options))


def _parser(has_fuzz: bool) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the command line, and those of its commands by name. has_fuzz: whether `fuzz` has its options,
    whose import takes a second."""
    parser = argparse.ArgumentParser(prog="stepwell", description="tensor programs, landing by landing")
    parser.add_argument("--version", action="version", version=versions())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compile_ = commands.add_parser("compile", help="compile a model to native code in a folder or .tar")
    compile_.set_defaults(command=compile_command, parser=compile_)
    compiling.add_options(compile_)
    _add_run(commands)
    profile = commands.add_parser("profile", help="compare the kernels of a program with the limits of this machine")
    profile.set_defaults(command=profiling.profile_command, parser=profile)
    profiling.add_options(profile, _size, _counts)
    explain = commands.add_parser("explain", help="show a program at every landing, with assembly, on a page")
    explain.set_defaults(command=explain_command, parser=explain)
    explaining.add_options(explain)
    reduce = commands.add_parser("reduce", help="make a program or a pipeline as small as still fails")
    reduce.set_defaults(command=reduce_command, parser=reduce)
    reducing.add_options(reduce)
    cache = commands.add_parser("cache", help="show or clear the cache of compiled programs")
    cache.set_defaults(command=cache_command, parser=cache)
    caching.add_options(cache)
    fuzz = commands.add_parser("fuzz", help="search for programs that are compiled wrongly")
    if has_fuzz:
        _complete_fuzz(fuzz)
    return parser, commands.choices


def _add_run(commands: Any) -> None:
    """Adds the command `run`."""
    run = commands.add_parser("run", help="run a program, or the result of `compile`, and time it")
    run.set_defaults(command=run_command, parser=run)
    run.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py), MLIR (.mlir), or a compiled graph")
    run.add_argument("--seed", type=int, default=0, help="of the made-up inputs")
    run.add_argument("--size", type=_size, action="append", default=[], metavar="NAME=N", help="a symbolic size")
    run.add_argument("--repeat", type=_positive, default=20, help="timed calls (default 20)")
    programs = run.add_argument_group("programs: parsed, lowered, built, run on made-up inputs")
    of_programs = program_runs.add_options(programs)
    graphs = run.add_argument_group("compiled graphs: a folder, or a file that ends in .tar")
    add = graphs.add_argument
    of_graphs = [
        add("-i", "--inputs", type=Path, metavar="FILE.npz", help="arrays by the names of inputs"),
        add("--fill", choices=FILLS, help="what inputs hold that are not given"),
        add("-o", "--output", type=Path, metavar="FILE.npz", help="where to write the outputs"),
        add("--number", type=_positive, default=1, help="runs in each timed call (default 1)"),
        add("--profile", action="store_true", help="show how long each kernel takes"),
        add("--threads", type=_counts, metavar="N,...", help="the numbers of threads to measure with"),
    ]
    run.set_defaults(of_programs=of_programs, of_graphs=of_graphs)


def _complete_fuzz(fuzz: argparse.ArgumentParser) -> None:
    """Adds the options of `fuzz` to its parser; without hypothesis, the command says how to install it."""
    try:
        from .fuzzing import command  # lazy: needs hypothesis, which is an extra
    except ModuleNotFoundError as error:
        if error.name not in ("hypothesis", "onnx"):
            raise
        fuzz.set_defaults(command=partial(_refuse_fuzz, error.name), parser=fuzz)
        return
    command.add_options(fuzz)
    fuzz.set_defaults(command=command.fuzz_command, parser=fuzz)


def _refuse_fuzz(package: str, options: argparse.Namespace) -> int:
    del options
    raise PluginError(f"stepwell fuzz needs the package {package}: pip install 'stepwell[fuzz]'")


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected NAME=N, got {text!r}")
    return name, int(number)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


def _counts(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def run_command(options: argparse.Namespace) -> int:
    """Runs the `run` command; returns the exit code."""
    if options.file.is_dir() or options.file.suffix == ".tar":
        refuse_options(options, options.of_programs, "programs, and this is a compiled graph")
        return run_saved(options)
    if options.file.suffix == ".onnx":
        raise OptionError(f"{options.file}: a model is compiled first: stepwell compile {options.file} -o FOLDER")
    refuse_options(options, options.of_graphs, "compiled graphs (stepwell compile)")
    return run_program(options)
