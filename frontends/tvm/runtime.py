"""Saved compiled programs: `tvm.runtime`."""

from __future__ import annotations

import os
from pathlib import Path

from ...backends.graph import Executable
from ...backends.relax import VMExecutable
from ...backends.runtime.program import Program
from ...backends.saving.format import archive_kind
from . import relax
from .driver.build_module import OperatorModule
from .relay.build_module import GraphExecutorFactoryModule


def load_module(path: str | os.PathLike[str]) -> OperatorModule | GraphExecutorFactoryModule | relax.Executable:
    """The functions, the graph or the program saved by `export_library`. A saved module is native code: load only
    trusted files.

    LoadError if the file is broken, or built for another machine.
    """
    kind = archive_kind(Path(path))
    if kind == "graph":
        return GraphExecutorFactoryModule(Executable.load(path))
    if kind == "program":
        return relax.Executable(VMExecutable.load(path))
    return OperatorModule(Program.load(path))
