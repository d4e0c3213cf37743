"""Loading of NVIDIA's shared libraries: from wheels installed by `pip`, else by the system's loader."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import PluginError


@dataclass(frozen=True)
class LibraryLocation:
    """A possible location of a library. package: the Python package whose folder `lib` contains it.  file: its name.
    needs: files beside it to load before.
    """

    package: str
    file: str
    needs: tuple[str, ...] = ()


def load_shared_library(name: str, places: Sequence[LibraryLocation], install: str) -> ctypes.CDLL:
    """Loads a library from the first of several locations that has it. name: its name in errors.  install: the packages
    to install.

    Raises PluginError if no location has it.
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
    """The folders `lib` of a namespace package, which may have several."""
    try:
        module = importlib.import_module(package)
    except ImportError:
        return
    yield from (folder for folder in (Path(path) / "lib" for path in module.__path__) if folder.is_dir())
