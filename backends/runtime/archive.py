"""Files with checksums, in a folder or a tar: what compiled programs are saved as.

`stepwell.json` says what the other files are: how long each is, its SHA-256, and that of all the rest it says. Nothing
is ever half there: files are written to another place beside the one they are for, and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tarfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.errors import LoadError, OptionError

FORMAT = 1
"""Of files and of how native code is called; another one cannot be read."""
MANIFEST = "stepwell.json"

Chunks: TypeAlias = Iterable[bytes | memoryview]
_CHUNK = 1 << 20  # bytes


# Writing


def write_archive(path: Path, kind: str, content: Mapping[str, Any], files: Mapping[str, Chunks]) -> None:
    """Save files: as a tar if `path` ends in `.tar`, else as a folder.

    kind: what they are.  content: what else is said about them, as JSON has it.  files: by name, in pieces.
    What was saved there before is replaced. OptionError if something else is there, OSError.
    """
    path = path.resolve()
    check_replaceable(path)
    with _scratch(path) as folder:
        said = {name: _write(folder / name, chunks) for name, chunks in files.items()}
        manifest = {"format": FORMAT, "kind": kind, "stepwell": version("stepwell"), "files": said, "content": content}
        manifest["checksum"] = _checksum(manifest)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        if path.suffix == ".tar":
            packed = folder / "packed.tar"
            _pack(packed, [folder / name for name in (MANIFEST, *files)])
            os.replace(packed, path)
        else:
            _replace_folder(folder, path)


def check_replaceable(path: Path) -> None:
    """OptionError unless `write_archive` may write there: nothing is there, or what was saved before."""
    if not path.parent.is_dir():
        raise OptionError(f"{path}: folder {path.parent} does not exist")
    wanted = "tar" if path.suffix == ".tar" else "folder"
    is_free = not any(path.iterdir()) if path.is_dir() and wanted == "folder" else not path.exists()
    if is_free:
        return
    ours = (path / MANIFEST).is_file() if path.is_dir() else _is_tar_of_ours(path)
    if not ours or path.is_dir() != (wanted == "folder"):
        raise OptionError(f"{path}: there is something else, expected a {wanted} saved by stepwell, or nothing")


def _is_tar_of_ours(path: Path) -> bool:
    try:
        return MANIFEST in _members(path)
    except LoadError:
        return False


@contextmanager
def _scratch(path: Path) -> Generator[Path, None, None]:
    """A folder beside `path` that is gone afterwards."""
    folder = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, chunks: Chunks) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return {"bytes": size, "sha256": digest.hexdigest()}


def _pack(path: Path, files: Iterable[Path]) -> None:
    """Make a tar whose bytes depend on the files alone."""

    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o644
        return info

    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for file in files:
            tar.add(file, file.name, filter=anonymous)


def _replace_folder(new: Path, path: Path) -> None:
    if not path.exists():
        os.replace(new, path)
        return
    old = path.parent / f"{new.name}.old"
    os.replace(path, old)
    try:
        os.replace(new, path)
    except BaseException:
        os.replace(old, path)
        raise
    shutil.rmtree(old)


def _checksum(manifest: Mapping[str, Any]) -> str:
    """Of everything that a manifest says but the checksum itself."""
    said = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


# Reading


@dataclass(frozen=True)
class _Place:
    """Where the bytes of a file are: in a file, from an offset on."""

    path: Path
    offset: int
    size: int

    def chunks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = self.size
            while left and (chunk := file.read(min(left, _CHUNK))):
                left -= len(chunk)
                yield chunk


class Archive:
    """Files that `write_archive` has saved, of which all checksums are right.

    content: what is said about them.  LoadError if they are broken, or of another kind or version.
    """

    def __init__(self, path: Path, kind: str):
        self.path = path
        self._places = _places(path)
        manifest = self._manifest()
        if manifest.get("format") != FORMAT:
            made = f"stepwell {manifest.get('stepwell', '?')}"
            raise LoadError(f"{path}: format {manifest.get('format')} of {made}, expected format {FORMAT}")
        if manifest.get("checksum") != (expected := _checksum(manifest)):
            raise LoadError(f"{path}: checksum of {MANIFEST} is {manifest.get('checksum')}, expected {expected}")
        if manifest["kind"] != kind:
            raise LoadError(f"{path}: a {manifest['kind']}, expected a {kind}")
        for name, said in manifest["files"].items():
            self._check(name, said["bytes"], said["sha256"])
        self.content: dict[str, Any] = manifest["content"]

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._places:
            raise LoadError(f"{self.path}: no {MANIFEST} there, expected what stepwell has saved")
        try:
            found = json.loads(self.read(MANIFEST))
        except ValueError as error:
            raise LoadError(f"{self.path}: {MANIFEST} is broken: {error}") from None
        if not isinstance(found, dict):
            raise LoadError(f"{self.path}: {MANIFEST} is broken: expected an object, got {type(found).__name__}")
        return found

    def _check(self, name: str, size: int, checksum: str) -> None:
        place = self._places.get(name)
        if place is None:
            raise LoadError(f"{self.path}: {name} is missing")
        if place.size != size:
            raise LoadError(f"{self.path}: {name} has {place.size} bytes, expected {size}")
        digest = hashlib.sha256()
        for chunk in place.chunks():
            digest.update(chunk)
        if digest.hexdigest() != checksum:
            raise LoadError(f"{self.path}: checksum of {name} is {digest.hexdigest()}, expected {checksum}")

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return b"".join(self._places[name].chunks())

    def map(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a file as memory that is read when it is looked at. What is written there stays in memory."""
        place = self._places[name]
        if not place.size:
            return np.empty(0, np.uint8)
        return np.asarray(np.memmap(place.path, np.uint8, "c", place.offset, (place.size,)))


@contextmanager
def reading(path: Path) -> Generator[None, None, None]:
    """What does not have the form that it should have is a LoadError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise LoadError(f"{path}: {MANIFEST} is broken: {type(error).__name__}: {error}") from error


def archive_kind(path: Path) -> str:
    """What is saved somewhere. Nothing but that is checked. LoadError if there is nothing."""
    places = _places(path)
    if MANIFEST not in places:
        raise LoadError(f"{path}: no {MANIFEST} there, expected what stepwell has saved")
    with reading(path):
        return str(json.loads(b"".join(places[MANIFEST].chunks()))["kind"])


def _places(path: Path) -> dict[str, _Place]:
    if path.is_dir():
        return {file.name: _Place(file, 0, file.stat().st_size) for file in path.iterdir() if file.is_file()}
    if not path.exists():
        raise LoadError(f"{path}: there is nothing")
    return _members(path)


def _members(path: Path) -> dict[str, _Place]:
    """The files of a tar, which are not compressed."""
    try:
        with tarfile.open(path, "r:") as tar:
            files = [info for info in tar.getmembers() if info.isfile()]
    except tarfile.TarError as error:
        raise LoadError(f"{path}: no folder and no tar: {error}") from None
    return {info.name: _Place(path, info.offset_data, info.size) for info in files}
