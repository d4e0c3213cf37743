"""The writing of archives: to a scratch folder, then in one step to their place."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.errors import LoadError, OptionError
from .files import LIBC, MANIFEST, open_files
from .format import FORMAT, Chunks, Contents, checksum
from .scratch import NEW, PREVIOUS, clean, scratch_folder


def write_archive(path: Path, contents: Contents) -> None:
    """Writes an archive: a tar if `path` ends in `.tar`, else a folder.

    Replaces an archive at `path`. Raises OptionError if `path` holds anything else, and OSError.
    """
    path = path.resolve()
    check_replaceable(path)
    clean(path)
    with scratch_folder(path) as scratch:
        new = scratch / NEW
        new.mkdir()
        _write_files(new, contents)
        if path.suffix == ".tar":
            packed = new / "packed.tar"
            _pack(packed, [new / name for name in (MANIFEST, *contents.files)])
            os.replace(packed, path)
        else:
            _replace_folder(scratch, path)


def check_replaceable(path: Path) -> None:
    """Raises OptionError unless `write_archive` may write to `path`: a free path or an earlier archive."""
    if not path.parent.is_dir():
        raise OptionError(f"{path}: folder {path.parent} does not exist")
    wanted = "tar" if path.suffix == ".tar" else "folder"
    is_free = not any(path.iterdir()) if path.is_dir() and wanted == "folder" else not path.exists()
    if is_free:
        return
    if path.is_dir() != (wanted == "folder") or not _is_ours(path):
        raise OptionError(f"{path}: there is something else, expected a {wanted} saved by stepwell, or nothing")


def _is_ours(path: Path) -> bool:
    try:
        with open_files(path):
            return True
    except LoadError:
        return False


def _write_files(folder: Path, contents: Contents) -> None:
    # lazy: a program of the cache is not written, and the import takes 0.02 s
    from importlib.metadata import version

    manifest = {
        "format": FORMAT,
        "kind": contents.kind,
        "stepwell": version("stepwell"),
        "files": {name: _write(folder / name, chunks) for name, chunks in contents.files.items()},
        "content": contents.content,
    }
    manifest["checksum"] = checksum(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _write(path: Path, chunks: Chunks) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return {"bytes": size, "sha256": digest.hexdigest()}


def _pack(path: Path, files: Iterable[Path]) -> None:
    """Creates a tar whose bytes depend on the files alone."""

    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o644
        return info

    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for file in files:
            tar.add(file, file.name, filter=anonymous)


def _replace_folder(scratch: Path, path: Path) -> None:
    """Moves the new folder of a scratch folder to `path`, and the folder there, if any, to the scratch folder."""
    new, previous = scratch / NEW, scratch / PREVIOUS
    if not path.exists():
        os.rename(new, path)
    elif not _exchange(new, path):
        os.rename(path, previous)
        try:
            os.rename(new, path)
        except BaseException:
            os.rename(previous, path)
            raise


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step. False if the system or the file system cannot."""
    rename = getattr(LIBC, "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
