"""`stepwell reduce FILE`: the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xdsl.utils.arg_spec import parse_pipeline

from ...core.errors import OptionError, UnsupportedError
from ...module import Module
from ...transforms.pipelines import parse_passes
from ..programs import read_program
from .predicates import AsTvmscript, CommandSucceeds, FailsLike, HasMessage, Predicate, failure, kind_of, text_of
from .reduction import Reduction, line_count


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell reduce` to a parser."""
    parser.description = "make a program, its schedule or a pipeline as small as still fails"
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="TVMScript (.py) or MLIR (.mlir)")
    tests = parser.add_mutually_exclusive_group(required=True)
    tests.add_argument(
        "--test", metavar="COMMAND",
        help="exits with 0 for a program that still fails: the last argument or {} is the file, {passes} the pipeline",
    )  # fmt: skip
    tests.add_argument("--crash", action="store_true", help="a pass or the compiler fails by an error of its own")
    tests.add_argument("--wrong-result", action="store_true", help="a pass changes the results (--validate)")
    tests.add_argument("--message", metavar="TEXT", help="the message of the error contains a text")
    add("-p", "--passes", default="", help="the pipeline, which is reduced too (default: the lowering to native code)")
    add("-o", "--output", type=Path, metavar="FILE", help="the reduced program (default: FILE with .reduced)")
    parser.set_defaults(command=reduce_command)


def reduce_command(options: argparse.Namespace) -> int:
    """Runs the `reduce` command; returns the exit code."""
    parse_passes(options.passes)
    passes = [str(each) for each in parse_pipeline(options.passes)]
    module = read_program(options.file)
    predicate = _predicate(options, module)
    if options.file.suffix == ".py":
        predicate = AsTvmscript(predicate)
    reduction = Reduction(module, passes, predicate, lambda line: print(line, file=sys.stderr))
    if not reduction.fails(module):
        raise OptionError(f"{options.file}: the program does not fail, expected a failing program")
    lines = line_count(module)
    reduction.run()
    output = _write(reduction.module, options)
    print(f"{output}: {line_count(reduction.module)} of {lines} lines (as MLIR)")
    if passes:
        print(f"-p {','.join(reduction.passes)}")
    return 0


def _predicate(options: argparse.Namespace, module: Module) -> Predicate:
    """The predicate of the options. OptionError for a program without a crash or a wrong result."""
    if options.test is not None:
        return CommandSucceeds(options.test, options.file.suffix)
    if options.message is not None:
        return HasMessage(options.message)
    message = failure(module, options.passes, validate=options.wrong_result)
    kind = kind_of(message)
    if not kind:
        expected = "a wrong result" if options.wrong_result else "a crash"
        raise OptionError(f"{options.file}: expected {expected}, got {message or 'no error'}")
    return FailsLike(kind, validate=options.wrong_result)


def _write(module: Module, options: argparse.Namespace) -> Path:
    """Writes the reduced program in the language of the file, as far as it has a form in it; returns the path."""
    suffix = options.file.suffix
    try:
        text = text_of(module, suffix)
    except UnsupportedError:
        suffix, text = ".mlir", f"{module}\n"
    path = options.output or options.file.with_suffix(f".reduced{suffix}")
    path.write_text(text, encoding="utf-8")
    return path
