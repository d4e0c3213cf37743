"""`stepwell-gui`: the interactive explorer of xDSL for pipelines, with the dialects and passes of all installed
packages.

Shows a program, applies the selected passes, and shows the result. Accepts the input of `stepwell-opt`: MLIR, or
TVMScript (`.py`, `.tvmscript`), displayed as MLIR. Requires the extra `gui`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xdsl.dialects import get_all_dialects as get_upstream_dialects
from xdsl.passes import PassPipeline

from ..core.errors import PluginError
from ..core.plugins import installed_universe, warn_of_package
from ..dialects import get_all_dialects
from .frontends import TVMSCRIPT
from .user_errors import report_user_errors

if TYPE_CHECKING:
    from .explorer import Explorer

T = TypeVar("T")

_MISSING = """\
stepwell-gui needs packages that are not installed ({error}): pip install 'stepwell[gui]'"""


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell-gui` with `args`, by default the command line; exits with 1 on a user error."""
    sys.setrecursionlimit(20_000)  # xDSL parses and prints nested regions by recursion
    parser = argparse.ArgumentParser(prog="stepwell-gui", description="Explore pipelines of passes on a program")
    parser.add_argument("file", nargs="?", type=Path, help="MLIR, or TVMScript if it ends in .py or .tvmscript")
    parser.add_argument("-p", "--passes", default="", help="the pipeline to begin with, as for stepwell-opt")
    options = parser.parse_args(args)
    with report_user_errors(ValueError):  # an unknown pass, or an invalid option
        app = explorer(options.file, options.passes)
    app.run()


def explorer(file: Path | None = None, passes: str = "") -> Explorer:
    """The application, not yet running, with the program in `file` and an initial pipeline.

    Dialects and passes that cannot be imported are left out, with a warning. Raises `PluginError` without the extra
    `gui`, `ParseError` for invalid TVMScript, and the errors of xDSL for an invalid pipeline. Invalid MLIR is shown,
    for correction.
    """
    try:
        # lazy: an optional dependency
        from .explorer import Explorer
    except ModuleNotFoundError as error:
        raise PluginError(_MISSING.format(error=error)) from error
    universe = installed_universe()
    known = {**get_upstream_dialects(), **get_all_dialects()}
    others = _importable({name: load for name, load in universe.all_dialects.items() if name not in known})
    all_passes = _importable(universe.all_passes)
    return Explorer(
        (*known.items(), *((name, partial(_value, dialect)) for name, dialect in others.items())),
        tuple(sorted(all_passes.items())),
        None if file is None else str(file),
        None if file is None else mlir_text(file),
        PassPipeline.parse_spec({name: partial(_value, each) for name, each in all_passes.items()}, passes).passes,
    )


def _value(value: T) -> T:
    return value


def _importable(loaders: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """The dialects or passes that can be imported, by name. Warns of the others."""
    values: dict[str, T] = {}
    for name, load in loaders.items():
        try:
            values[name] = load()
        except PluginError as error:
            warn_of_package(error)
    return values


def mlir_text(file: Path) -> str:
    """The program in a file as MLIR: TVMScript is translated, other text is unchanged."""
    text = file.read_text()
    if file.suffix.removeprefix(".") not in TVMSCRIPT:
        return text
    # lazy: the front end is slow to import, and MLIR does not need it
    from ..frontends.tvmscript import parse_tvmscript

    return f"{parse_tvmscript(text, filename=str(file))}\n"
