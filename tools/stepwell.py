"""`stepwell`: the commands that run, compile, profile, reduce and fuzz programs.

A command is a module of this folder with a function `add_options`, which adds the options of the command to its parser,
and sets the option `command` to a function that runs the command with the options and returns the exit code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..core.diagnostics import nearest
from ..core.errors import PluginError
from ..core.versions import versions
from .remarks import complete_remarks_option
from .usage import check_command, refuse_arguments
from .user_errors import report_user_errors

COMMANDS = {
    "compile": (".compiling", "compile a model to native code in a folder or .tar"),
    "run": (".run", "run a program, or the result of `compile`, and time it"),
    "profile": (".profiling.command", "compare the kernels of a program with the limits of this machine"),
    "explain": (".explaining.command", "show a program at every landing, with assembly, on a page"),
    "reduce": (".reducing.command", "make a program or a pipeline as small as still fails"),
    "cache": (".caching", "show or clear the cache of compiled programs"),
    "fuzz": (".fuzzing.command", "search for programs that are compiled wrongly"),
}
"""The module and the summary of each command. A command is imported when it is used, since compilers take a second."""

_EXTRAS = {"fuzz": ("hypothesis", "onnx")}
"""The packages of an extra that a command requires."""


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell` with `args`, by default the command line; exits with 1 on a user error or a failed check."""
    sys.setrecursionlimit(20_000)
    with report_user_errors():
        words = complete_remarks_option(args)
        parser, commands = _parser()
        named = nearest(words[0], commands) if words else None  # a misspelled command has a usage too
        if named is not None:
            _load(named).add_options(commands[named])
        check_command(parser, words, commands)
        options, unknown = parser.parse_known_args(words)
        refuse_arguments(commands[words[0]], unknown)
        sys.exit(options.command(options))


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the command line, and those of its commands by name, without their options."""
    parser = argparse.ArgumentParser(prog="stepwell", description="tensor programs, landing by landing")
    parser.add_argument("--version", action="version", version=versions())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    return parser, {name: commands.add_parser(name, help=summary) for name, (_, summary) in COMMANDS.items()}


def _load(name: str) -> Any:
    """The module of a command. PluginError without a package of an extra that it requires."""
    try:
        return import_module(COMMANDS[name][0], __package__)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS.get(name, ()):
            raise
        raise PluginError(f"stepwell {name} needs the package {error.name}: pip install 'stepwell[{name}]'") from None
