"""The cache of the user: files that one process makes and later ones read.

Entries are files `<folder>/<kind>/<key>`. The key is the digest of everything that determines the content, versions
included, so an entry is never out of date. A file appears complete, by a rename: a process that is killed leaves a
partial file under another name, and two processes that make an entry replace equal files by each other. The reader of
an entry checks its content and tolerates a file that disappears before it is opened.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import OptionError
from .once import once

VARIABLE = "STEPWELL_CACHE"
"""The environment variable with the folder of the cache, or `off`."""
LIMIT = 2**30
"""The number of bytes that the cache keeps: after a new entry, the entries used longest ago are removed."""
_PARTIAL = ".partial-"
_CHECKSUM_LENGTH = 64
"""The number of bytes of a checksum."""
_ABANDONED_AFTER = 3600.0
"""The age in seconds of a partial file whose process is dead."""


@dataclass(frozen=True)
class CacheEntry:
    """A file of the cache. kind: of its content.  size: in bytes.  used: the time of the last use, in seconds since
    1970."""

    path: Path
    kind: str
    size: int
    used: float


class Cache:
    """The files of a folder, which no other user may write. limit: the number of bytes to keep."""

    def __init__(self, folder: Path, limit: int = LIMIT):
        self.folder = folder
        self.limit = limit
        self._size = limit
        """The bytes that this process has added since it looked for the oldest entries; at first unknown."""

    def find(self, kind: str, key: str) -> Path | None:
        """The file of an entry, which counts as used now; None without one."""
        path = self.folder / kind / key
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def add(self, kind: str, key: str, write: Callable[[Path], object]) -> None:
        """Adds an entry: `write` creates a file at the path that it is given. A file that cannot be written is not
        added, with a warning."""
        folder = self.folder / kind
        try:
            for path in (self.folder, folder):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=folder) as partial:
                write(Path(partial, key))
                os.replace(Path(partial, key), folder / key)
                self._size += os.path.getsize(folder / key)
            if self._size > self.limit // 16:
                self._remove_oldest()
        except OSError as error:
            warn_of_cache(f"a {kind} is not kept: {error}")

    def keep(self, kind: str, key: str, content: bytes) -> None:
        """Adds an entry with a content, which `read` returns."""
        self.add(kind, key, lambda path: path.write_bytes(content + _checksum(content)))

    def read(self, kind: str, key: str) -> bytes | None:
        """The content of an entry that `keep` has added; None without one and, with a warning, for a damaged one."""
        path = self.find(kind, key)
        if path is None:
            return None
        try:
            file = path.read_bytes()
        except FileNotFoundError:  # removed meanwhile
            return None
        except OSError as error:
            warn_of_cache(f"a {kind} is made again: {error}")
            return None
        content = file[:-_CHECKSUM_LENGTH]
        if file[-_CHECKSUM_LENGTH:] == _checksum(content):
            return content
        warn_of_cache(f"a {kind} is made again: {path} is damaged")
        return None

    def entries(self) -> list[CacheEntry]:
        """The entries, the one used longest ago first."""
        return sorted(self._entries(), key=lambda entry: entry.used)

    def clear(self) -> int:
        """Removes all entries; returns their size in bytes. Raises OSError."""
        size = 0
        for entry in self._entries():
            entry.path.unlink(missing_ok=True)
            size += entry.size
        return size

    def _entries(self) -> Iterator[CacheEntry]:
        for path in self.folder.glob("*/*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield CacheEntry(path, path.parent.name, status.st_size, status.st_mtime)
            elif path.name.startswith(_PARTIAL) and status.st_mtime < time.time() - _ABANDONED_AFTER:
                shutil.rmtree(path, ignore_errors=True)

    def _remove_oldest(self) -> None:
        self._size = 0
        entries = self.entries()
        excess = sum(entry.size for entry in entries) - self.limit
        for entry in entries:
            if excess <= 0:
                return
            entry.path.unlink(missing_ok=True)
            excess -= entry.size


def user_cache() -> Cache | None:
    """The cache in the folder that `STEPWELL_CACHE` names, by default `stepwell` in the cache directory of the user
    (`XDG_CACHE_HOME`, else `~/.cache`). None where the variable is `off`, and, with a warning, where another user could
    write to the folder: entries are run as programs. Raises OptionError for a relative path.
    """
    value = os.environ.get(VARIABLE, "")
    if value == "off":
        return None
    folder = Path(value) if value else _default_folder()
    if not folder.is_absolute():
        raise OptionError(f"{VARIABLE} is {value!r}, expected an absolute path or off")
    reason = _distrust(folder)
    if reason:
        warn_of_cache(f"{folder} is not used: {reason}")
        return None
    return _cache_at(folder)


@once
def _cache_at(folder: Path) -> Cache:
    return Cache(folder)


def warn_of_cache(message: str) -> None:
    """Warns of a part of the cache that is not used."""
    warnings.warn(f"cache: {message} ({VARIABLE} names another folder, or is off)", RuntimeWarning, stacklevel=3)


def _default_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # as the specification of the variable asks
        base = Path("~/.cache").expanduser()
    return base / "stepwell"


def _distrust(folder: Path) -> str:
    """The reason why the files of a folder could be another user's; "" without one, and for a folder to be made."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "expected a folder"
    if status.st_uid != os.getuid():
        return f"its owner is the user {status.st_uid}, expected {os.getuid()}"
    if status.st_mode & 0o022:
        return f"its mode is {stat.S_IMODE(status.st_mode):o}, expected {0o700:o}"
    return ""


def _checksum(content: bytes) -> bytes:
    return digest(memoryview(content)).encode()


def digest(*parts: str | memoryview) -> str:
    """The key of an entry: the SHA-256 of the parts, each with its length. A `memoryview` is contiguous."""
    state = hashlib.sha256()
    for part in parts:
        content = memoryview(part.encode()) if isinstance(part, str) else part
        state.update(content.nbytes.to_bytes(8, "little"))
        state.update(content)
    return state.hexdigest()
