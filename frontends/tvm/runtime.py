"""Compiled programs in files, as `tvm.runtime` reads them."""

from __future__ import annotations

import os
from pathlib import Path

from ...backends.graph import Executable
from ...backends.runtime.archive import archive_kind
from ...backends.runtime.library import Library
from .driver.build_module import OperatorModule
from .relay.build_module import GraphExecutorFactoryModule


def load_module(path: str | os.PathLike[str]) -> OperatorModule | GraphExecutorFactoryModule:
    """What `export_library` has saved: functions, or a graph. It is native code: load only what you trust.

    LoadError if it is broken, or not for this machine.
    """
    if archive_kind(Path(path)) == "graph":
        return GraphExecutorFactoryModule(Executable.load(path))
    return OperatorModule(Library.load(path))
