"""Saved compiled programs: `tvm.runtime`."""

from __future__ import annotations

import os
from pathlib import Path

from ...backends.graph import Executable
from ...backends.runtime.program import Program
from ...backends.saving.format import archive_kind
from .driver.build_module import OperatorModule
from .relay.build_module import GraphExecutorFactoryModule


def load_module(path: str | os.PathLike[str]) -> OperatorModule | GraphExecutorFactoryModule:
    """The functions or the graph saved by `export_library`. A saved module is native code: load only trusted files.

    LoadError if the file is broken, or built for another machine.
    """
    if archive_kind(Path(path)) == "graph":
        return GraphExecutorFactoryModule(Executable.load(path))
    return OperatorModule(Program.load(path))
