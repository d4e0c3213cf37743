"""Scratch folders of writers: beside the file or folder that they replace, each with a lock that dies with its writer.

A writer that is killed leaves its scratch folder, which `clean` of the next writer deletes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "lock"
NEW, PREVIOUS = "new", "previous"
"""The content of a scratch folder: the new file or folder, and the folder that it replaces."""
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)  # of file systems without locks, where nothing is cleaned


@contextmanager
def scratch_folder(path: Path) -> Generator[Path, None, None]:
    """A folder beside `path`, locked, and deleted on exit."""
    folder, lock = _create(path)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _create(path: Path) -> tuple[Path, int | None]:
    """A new scratch folder and its open lock; None on a file system without locks."""
    while True:
        folder = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        folder.mkdir()
        try:
            return folder, _lock(folder)
        except (FileNotFoundError, BlockingIOError):
            continue  # a cleaner was between the two steps
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return folder, None


def _lock(folder: Path) -> int:
    """The open lock of a scratch folder. Raises BlockingIOError if another writer holds it, FileNotFoundError if the
    folder is deleted.
    """
    file = folder / _LOCK
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.stat(file), os.fstat(descriptor)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def clean(path: Path) -> None:
    """Deletes the scratch folders of killed writers of `path`. Puts back the folder that such a writer had moved away
    and not yet replaced.
    """
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    siblings = os.listdir(path.parent) if path.parent.is_dir() else []
    for folder in [path.parent / each for each in siblings if name.fullmatch(each)]:
        try:
            if set(os.listdir(folder)) <= {_LOCK, NEW, PREVIOUS}:
                _clean_one(folder, path)
        except OSError:
            continue  # of a live writer, no folder, deleted meanwhile, or not ours to delete


def _clean_one(folder: Path, path: Path) -> None:
    lock = _lock(folder)
    try:
        if (folder / PREVIOUS).exists() and not path.exists():
            os.rename(folder / PREVIOUS, path)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
