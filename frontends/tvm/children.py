"""The names `tvm` and `topi` in processes that a program starts."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp

from .aliases import NAMES

_PACKAGE = __name__.rpartition(".")[0]


def install_in_children(setup: str = "") -> None:
    """Makes `import tvm` and `import topi` import this package in the processes of Python that this process starts:
    those of `multiprocessing`, and programs that get the environment of this process.

    setup: statements that these processes run at the first import, with the names `aliases` and `devices` of this
    package. A folder, removed when this process ends, has a module for each name, which installs the aliases and gives
    way to the module of this package.
    """
    folder = mkdtemp(prefix="stepwell-names-")
    atexit.register(_remove, folder, os.getpid())
    text = (
        f"import importlib, sys\nfrom {_PACKAGE} import aliases, devices\n"
        f"del sys.modules[__name__]\naliases.install()\n{setup}\nimportlib.import_module(__name__)\n"
    )
    for name in NAMES:
        (Path(folder) / f"{name}.py").write_text(text)
    sys.path.insert(1, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))


def _remove(folder: str, process: int) -> None:
    """Removes a folder, unless this is a fork of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


__all__ = ["install_in_children"]
