"""Shared libraries of NVIDIA's: in the wheels that `pip` installs, else where the system's loader finds them."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import PluginError


@dataclass(frozen=True)
class Place:
    """Where a library may be. package: of Python, in whose folder `lib` it is.  file: its name.  needs: files beside it
    that it loads."""

    package: str
    file: str
    needs: tuple[str, ...] = ()


def load(name: str, places: Sequence[Place], install: str) -> ctypes.CDLL:
    """The first library of some places that is there. name: what errors call it.  install: what makes pip install it.

    PluginError if there is none.
    """
    reasons: list[str] = []
    for place in places:
        for folder in (*_folders(place.package), None):
            try:
                for file in place.needs:
                    ctypes.CDLL(_path(folder, file), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(_path(folder, place.file))
            except OSError as error:
                reasons.append(str(error))
    raise PluginError(f"library {name} is not there: pip install {install} ({'; '.join(dict.fromkeys(reasons))})")


def _path(folder: Path | None, file: str) -> str:
    return file if folder is None else str(folder / file)


def _folders(package: str) -> Iterator[Path]:
    """The folders `lib` of a package, which has no `__init__.py` and so may be in several places."""
    try:
        found = importlib.import_module(package)
    except ImportError:
        return
    yield from (folder for folder in (Path(path) / "lib" for path in found.__path__) if folder.is_dir())
