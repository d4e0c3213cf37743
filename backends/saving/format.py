"""The format of saved programs: files with checksums, in a folder or a tar.

The manifest, `stepwell.json`, lists the length and SHA-256 of every other file, and a checksum of its own content. An
archive is never half written: files are written to a temporary folder beside the target and renamed.
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
"""The version of the file format and of the calling convention of native code; archives of other versions cannot be
read.
"""
MANIFEST = "stepwell.json"

Chunks: TypeAlias = Iterable[bytes | memoryview]
_CHUNK = 1 << 20  # bytes


@dataclass(frozen=True)
class Contents:
    """The contents of an archive. kind: the kind of archive.  content: its description, as JSON values.  files: the
    chunks of each file, by name.
    """

    kind: str
    content: Mapping[str, Any]
    files: Mapping[str, Chunks]


# Writing


def write_archive(path: Path, contents: Contents) -> None:
    """Writes an archive: a tar if `path` ends in `.tar`, else a folder.

    Replaces an archive at `path`. Raises OptionError if `path` holds anything else, and OSError.
    """
    path = path.resolve()
    check_replaceable(path)
    with _scratch(path) as folder:
        entries = {name: _write(folder / name, chunks) for name, chunks in contents.files.items()}
        manifest = {
            "format": FORMAT,
            "kind": contents.kind,
            "stepwell": version("stepwell"),
            "files": entries,
            "content": contents.content,
        }
        manifest["checksum"] = _checksum(manifest)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        if path.suffix == ".tar":
            packed = folder / "packed.tar"
            _pack(packed, [folder / name for name in (MANIFEST, *contents.files)])
            os.replace(packed, path)
        else:
            _replace_folder(folder, path)


def check_replaceable(path: Path) -> None:
    """Raises OptionError unless `write_archive` may write to `path`: a free path or an earlier archive."""
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
    """A temporary folder beside `path`, deleted on exit."""
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
    """Creates a tar whose bytes depend on the files alone."""

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
    """The SHA-256 of all fields of a manifest except the checksum itself."""
    fields = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


# Reading


@dataclass(frozen=True)
class _Place:
    """The bytes of one file of an archive: `size` bytes of `path`, from `offset` on."""

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
    """The files of an archive that `write_archive` wrote, with all checksums verified.

    content: the description of the archive.  Raises LoadError if the archive is broken, or of another kind or version.
    """

    def __init__(self, path: Path, kind: str):
        self.path = path
        self._spans = _spans(path)
        manifest = self._manifest()
        if manifest.get("format") != FORMAT:
            writer = f"stepwell {manifest.get('stepwell', '?')}"
            raise LoadError(f"{path}: format {manifest.get('format')} of {writer}, expected format {FORMAT}")
        if manifest.get("checksum") != (expected := _checksum(manifest)):
            raise LoadError(f"{path}: checksum of {MANIFEST} is {manifest.get('checksum')}, expected {expected}")
        if manifest["kind"] != kind:
            raise LoadError(f"{path}: a {manifest['kind']}, expected a {kind}")
        for name, entry in manifest["files"].items():
            self._check(name, entry["bytes"], entry["sha256"])
        self.content: dict[str, Any] = manifest["content"]

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._spans:
            raise LoadError(f"{self.path}: no {MANIFEST} there, expected what stepwell has saved")
        try:
            manifest = json.loads(self.read(MANIFEST))
        except ValueError as error:
            raise LoadError(f"{self.path}: {MANIFEST} is broken: {error}") from None
        if not isinstance(manifest, dict):
            raise LoadError(f"{self.path}: {MANIFEST} is broken: expected an object, got {type(manifest).__name__}")
        return manifest

    def _check(self, name: str, size: int, checksum: str) -> None:
        span = self._spans.get(name)
        if span is None:
            raise LoadError(f"{self.path}: {name} is missing")
        if span.size != size:
            raise LoadError(f"{self.path}: {name} has {span.size} bytes, expected {size}")
        digest = hashlib.sha256()
        for chunk in span.chunks():
            digest.update(chunk)
        if digest.hexdigest() != checksum:
            raise LoadError(f"{self.path}: checksum of {name} is {digest.hexdigest()}, expected {checksum}")

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return b"".join(self._spans[name].chunks())

    def map(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a file, mapped copy-on-write: pages are read on first access, and writes stay in memory."""
        span = self._spans[name]
        if not span.size:
            return np.empty(0, np.uint8)
        return np.asarray(np.memmap(span.path, np.uint8, "c", span.offset, (span.size,)))


@contextmanager
def reading(path: Path) -> Generator[None, None, None]:
    """Turns the errors of malformed content into LoadError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise LoadError(f"{path}: {MANIFEST} is broken: {type(error).__name__}: {error}") from error


def archive_kind(path: Path) -> str:
    """The kind of the archive at `path`, without a check of its files. Raises LoadError if no archive is found."""
    spans = _spans(path)
    if MANIFEST not in spans:
        raise LoadError(f"{path}: no {MANIFEST} there, expected what stepwell has saved")
    with reading(path):
        return str(json.loads(b"".join(spans[MANIFEST].chunks()))["kind"])


def _spans(path: Path) -> dict[str, _Place]:
    if path.is_dir():
        return {file.name: _Place(file, 0, file.stat().st_size) for file in path.iterdir() if file.is_file()}
    if not path.exists():
        raise LoadError(f"{path}: there is nothing")
    return _members(path)


def _members(path: Path) -> dict[str, _Place]:
    """The byte spans of the files in an uncompressed tar."""
    try:
        with tarfile.open(path, "r:") as tar:
            files = [info for info in tar.getmembers() if info.isfile()]
    except tarfile.TarError as error:
        raise LoadError(f"{path}: no folder and no tar: {error}") from None
    return {info.name: _Place(path, info.offset_data, info.size) for info in files}
