"""Temporary folders: `tvm.contrib.utils`, `tvm.contrib.util`."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Self

from ....core.once import once
from ..absent import report_absent

__getattr__ = report_absent("tvm.contrib.utils")


class TempDirectory:
    """A folder that is removed with the object, at the end of the process, or by `remove`. temp_dir: its path."""

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool | None = None):
        """custom_path: the path of the folder, which must not exist; by default a new one.  keep_for_debug: whether the
        folder stays.
        """
        if custom_path is not None:
            Path(custom_path).mkdir(parents=True)
        self.temp_dir = tempfile.mkdtemp(prefix="stepwell-") if custom_path is None else custom_path
        self._remove = weakref.finalize(self, shutil.rmtree, self.temp_dir, ignore_errors=True)
        if keep_for_debug:
            self._remove.detach()

    def remove(self) -> None:
        """Removes the folder with its files."""
        self._remove()

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return str(self.path / name)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def listdir(self) -> list[str]:
        """The names of the files in the folder."""
        return [entry.name for entry in self.path.iterdir()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)


@once
def _of_process() -> TempDirectory:
    return TempDirectory()


def lasting_folder() -> Path:
    """A new temporary folder that is removed at the end of the process: for files whose paths outlive all objects."""
    return Path(tempfile.mkdtemp(dir=_of_process().path))


def which(exec_name: str) -> Any:
    """The path of a program that can be started by name, or None."""
    return shutil.which(exec_name)


__all__ = ["TempDirectory", "tempdir", "which"]
