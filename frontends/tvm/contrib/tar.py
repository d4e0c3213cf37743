"""Archives of files: `tvm.contrib.tar`."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from ....core.errors import LoadError, OptionError
from ..absent import report_absent
from .utils import TempDirectory

__getattr__ = report_absent("tvm.contrib.tar")


def tar(output: str | os.PathLike[str], files: Sequence[str | os.PathLike[str]]) -> None:
    """Writes an archive, compressed with gzip, that has the files at its root. OSError, OptionError for two files of
    one name."""
    names = [Path(file).name for file in files]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise OptionError(f"tar {os.fspath(output)}: several files {', '.join(repeated)}, expected distinct names")
    with tarfile.open(output, "w:gz") as archive:
        for file, name in zip(files, names, strict=True):
            archive.add(file, name)


tar.output_format = "tar"  # pyright: ignore[reportFunctionMemberAccess]


def untar(tar_file: str | os.PathLike[str], directory: str | os.PathLike[str]) -> None:
    """Writes the files of an archive to a folder. OSError, LoadError for a file that is no archive, and for one with
    names outside of the folder."""
    try:
        with tarfile.open(tar_file) as archive:
            archive.extractall(directory, filter="data")
    except tarfile.TarError as error:
        raise LoadError(f"archive {os.fspath(tar_file)}: {error}") from None


def normalize_file_list_by_unpacking_tars(temp: TempDirectory, file_list: Sequence[str]) -> list[str]:
    """The paths of files, with those of the files of an archive in its place. temp: the folder of the latter."""
    found: list[str] = []
    for number, path in enumerate(file_list):
        if not path.endswith(".tar"):
            found.append(path)
            continue
        folder = Path(temp.relpath(f"temp{number}"))
        folder.mkdir()
        untar(path, folder)
        found += sorted(str(each) for each in folder.rglob("*") if each.is_file())
    return found


__all__ = ["normalize_file_list_by_unpacking_tars", "tar", "untar"]
