"""The files that `export_library` overwrites."""

from __future__ import annotations

import os
from pathlib import Path

from ...backends.saving.writing import check_replaceable
from ...core.errors import OptionError


def overwrite(file_name: str | os.PathLike[str]) -> None:
    """Removes a file of another kind, as TVM overwrites libraries of earlier runs. Folders stay: writing refuses those
    that hold something else."""
    path = Path(file_name)
    if path.is_file():
        try:
            check_replaceable(path)
        except OptionError:
            path.unlink()
