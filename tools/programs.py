"""Programs in files, as the commands read them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from pathlib import Path

from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError, StepwellError
from ..frontends.mlir import parse_mlir
from ..frontends.tvmscript import parse_tvmscript
from ..module import FunctionNotFoundError, Module


def read_program(path: Path) -> Module:
    """The module in a TVMScript or MLIR file. Raises `ParseError`, OSError."""
    text = path.read_text(encoding="utf-8", errors="replace")
    parse = parse_mlir if path.suffix == ".mlir" else parse_tvmscript
    module = parse(text, filename=str(path))
    module.verify()
    return module


def entry_of(module: Module, name: str | None) -> str:
    """The entry function: the function called `name`; by default `main`, or the only function. Raises StepwellError if
    the default is ambiguous, FunctionNotFoundError for an unknown name."""
    names = list(module.functions)
    known = ", ".join(names) or "(there is none)"
    if name is None and "main" not in names and len(names) != 1:
        raise StepwellError(f"which function? --entry one of {known}")
    if name is not None and name not in names:
        raise FunctionNotFoundError(f"no function {name!r}{did_you_mean(name, names)} (there are {known})")
    return name or ("main" if "main" in names else names[0])


def check_sizes(given: Iterable[str], known: Collection[str]) -> None:
    """Raises OptionError for a name of the option `--size` that is no symbolic size."""
    for name in given:
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise OptionError(f"--size {name}: no such size{did_you_mean(name, known)}, there is {names}")


def refuse_options(options: argparse.Namespace, others: Iterable[argparse.Action], what: str) -> None:
    """Raises OptionError for a given option among `others`, which apply to another kind of file, `what`."""
    misplaced = [action.option_strings[-1] for action in others if getattr(options, action.dest) != action.default]
    if misplaced:
        raise OptionError(f"{options.file}: {misplaced[0]} is for {what}")
