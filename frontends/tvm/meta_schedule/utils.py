"""Classes of users, and facts about this machine: `tvm.meta_schedule.utils`."""

from __future__ import annotations

import os
import shutil
from typing import TypeVar

from ..absent import report_absent

__getattr__ = report_absent("tvm.meta_schedule.utils")

C = TypeVar("C", bound=type)


def derived_object(cls: C) -> C:
    """A class of users that derives from a class of this package: itself."""
    return cls


def remove_build_dir(artifact_path: str) -> None:
    """Removes the folder of a compiled program and all in it. artifact_path: the path of the program. OSError."""
    shutil.rmtree(os.path.dirname(artifact_path))


def cpu_count(logical: bool = True) -> int:
    """The number of processors of this machine. logical: without an effect."""
    return os.cpu_count() or 1


__all__ = ["cpu_count", "derived_object", "remove_build_dir"]
