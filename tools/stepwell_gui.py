"""`stepwell-gui`: xDSL's interactive explorer of pipelines, with our dialects and passes and those of other packages.

Shows a program, applies the passes one clicks together, and shows what becomes of it. Takes what `stepwell-opt` takes:
MLIR, or TVMScript (`.py`, `.tvmscript`), which is shown as MLIR. It needs the extra `gui`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.passes import PassPipeline

from ..core.errors import PluginError
from ..core.plugins import installed_universe
from .frontends import TVMSCRIPT
from .stepwell_opt import mistakes

if TYPE_CHECKING:
    from .explorer import Explorer

_MISSING = """\
stepwell-gui needs packages that are not installed ({error}): pip install 'stepwell[gui]'"""


def main(args: Sequence[str] | None = None) -> None:
    """Run `stepwell-gui` with `args` (the command line's by default); exits with 1 on a user's mistake."""
    sys.setrecursionlimit(20_000)  # xDSL parses and prints nested regions by recursion
    parser = argparse.ArgumentParser(prog="stepwell-gui", description="Explore pipelines of passes on a program")
    parser.add_argument("file", nargs="?", type=Path, help="MLIR, or TVMScript if it ends in .py or .tvmscript")
    parser.add_argument("-p", "--passes", default="", help="the pipeline to begin with, as for stepwell-opt")
    options = parser.parse_args(args)
    with mistakes(ValueError):  # an unknown pass, or a wrong option of one
        app = explorer(options.file, options.passes)
    app.run()


def explorer(file: Path | None = None, passes: str = "") -> Explorer:
    """The application, not running yet, with the program in `file` and a pipeline to begin with.

    Raises `PluginError` without the extra `gui` or for a broken package, `ParseError` for TVMScript that is wrong, and
    what xDSL raises for a pipeline that does not read. MLIR that is wrong is shown, to be corrected.
    """
    try:
        from .explorer import Explorer
    except ModuleNotFoundError as error:
        raise PluginError(_MISSING.format(error=error)) from error
    universe = installed_universe()
    return Explorer(
        tuple(universe.all_dialects.items()),
        tuple((name, load()) for name, load in sorted(universe.all_passes.items())),
        None if file is None else str(file),
        None if file is None else mlir_text(file),
        PassPipeline.parse_spec(universe.all_passes, passes).passes,
    )


def mlir_text(file: Path) -> str:
    """The program in a file as MLIR: TVMScript is translated, all else is as it stands there."""
    text = file.read_text()
    if file.suffix.removeprefix(".") not in TVMSCRIPT:
        return text
    from ..frontends.tvmscript import parse_tvmscript

    return f"{parse_tvmscript(text, filename=str(file))}\n"
