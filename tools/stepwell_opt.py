"""`stepwell-opt`: the opt driver of xDSL with the front ends of Stepwell, and short names for its targets.

Reads MLIR or TVMScript (`.py` files, or `-f tvmscript`), applies a pipeline (`-p tir-simplify,convert-tir-to-scf`) and
prints MLIR (default), TVMScript (`-t tvmscript`), LLVM IR (`-t llvm`), assembly (`-t asm`) or the CUDA C++ of the
kernels (`-t cuda`). The last three accept any landing and run the rest of the default pipeline. `--remarks` prints the
decisions of the passes on stderr. A user error results in a message on stderr and exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from io import TextIOBase
from typing import IO, ClassVar, cast

from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, UnregisteredConstructException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from ..core import xdsl_compat as xdsl_compat  # arith on vectors, for upstream modules too
from ..core.errors import StepwellError
from ..core.plugins import installed_universe
from ..core.remarks import report_remarks
from . import universe
from .frontends import ReadsTvmscript
from .remarks import add_remarks_option, complete_remarks_option, remark_printer

_SHORT_TARGETS = {"llvm": "stepwell-llvm", "asm": "stepwell-asm", "cuda": "stepwell-cuda"}

_MISTAKES = (
    StepwellError,
    ParseError,
    ArgSpecParseError,
    DiagnosticException,
    UnregisteredConstructException,
    OSError,
)


class StepwellOptMain(ReadsTvmscript, xDSLOptMain):
    """The driver of xDSL with the extensions of this module."""

    version_format: ClassVar[str] = "stepwell-opt built from xdsl version {xdsl_version}"

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        add_remarks_option(arg_parser)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        ours = universe.get_all_targets()
        for short, name in _SHORT_TARGETS.items():
            self.available_targets[short] = partial(_rename, short, ours[name])


def _rename(name: str, load: Callable[[], type[Target]]) -> type[Target]:
    """A subclass of a target with another name."""
    target = load()
    return type(target.__name__, (target,), {"name": name})


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell-opt` with `args`, by default the command line; exits with 1 on a user error."""
    sys.setrecursionlimit(20_000)  # xDSL parses and prints nested regions by recursion
    with report_user_errors(ValueError):  # a broken plugin, an unknown pass, or an invalid option of a pass or target
        installed_universe()
        tool = StepwellOptMain("Stepwell's modular optimiser driver", complete_remarks_option(args))
        spec = parse_spec(tool.args.target)
        load_target = cast("Callable[[], type[Target]]", tool.available_targets[spec.name])
        load_target().from_spec(spec)
    with report_user_errors(), report_remarks(remark_printer(tool.args.remarks)):
        tool.check_frontend()
        tool.run()


@contextmanager
def report_user_errors(*more: type[Exception]) -> Generator[None, None, None]:
    """Reports a user error on stderr and exits with 1."""
    try:
        yield
    except (*_MISTAKES, *more) as error:
        show_error(error, sys.stderr)
        sys.exit(1)


def show_error(error: BaseException, stream: TextIOBase | IO[str]) -> None:
    """Prints the message and the notes of an error, without a traceback."""
    text = str(error)
    print(text if "error:" in text else f"error: {text}", file=stream)
    for note in getattr(error, "__notes__", ()):
        print(note, file=stream)
