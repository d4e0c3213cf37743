"""The format of saved programs: files with checksums, in a folder or a tar.

The manifest, `stepwell.json`, lists the length and SHA-256 of every other file, and a checksum of its own content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ...core.errors import LoadError
from .files import MANIFEST, Bytes, Span, open_files
from .scratch import clean

FORMAT = 9
"""The version of the file format and of the calling convention of native code; archives of other versions cannot be
read.
"""

NATIVE_LIBRARY = "library"
"""The kind of archive of native code."""
DEVICE_LIBRARY = "library for devices"
"""The kind of archive of native code that launches kernels of a GPU."""

Chunks: TypeAlias = Iterable[bytes | memoryview]


@dataclass(frozen=True)
class Contents:
    """The contents of an archive. kind: the kind of archive.  content: its description, as JSON values.  files: the
    chunks of each file, by name.
    """

    kind: str
    content: Mapping[str, Any]
    files: Mapping[str, Chunks]


def checksum(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of all fields of a manifest except the checksum itself."""
    fields = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


PARTS = "parts"
"""The field of a description with the descriptions of other contents, by name."""


def with_parts(contents: Contents, parts: Mapping[str, Contents]) -> Contents:
    """Contents with others, which `Archive.part` returns by name."""
    files = {f"{name}.{file}": chunks for name, part in parts.items() for file, chunks in part.files.items()}
    descriptions = {name: part.content for name, part in parts.items()}
    return Contents(contents.kind, {**contents.content, PARTS: descriptions}, {**contents.files, **files})


class Archive:
    """The files of an archive that `write_archive` wrote, with all checksums verified. A later change of the files has
    no effect, except on the mapped ones, which nothing may change in place.

    kind: the kind of the archive.  content: its description.
    """

    def __init__(self, path: Path, kinds: Collection[str], mapped: Collection[str] = ()):
        """kinds: the expected kinds.  mapped: the files to map into memory; others are read.

        Raises LoadError if the archive is broken, or of another kind or version.
        """
        self.path = path
        if not path.exists():
            clean(path.resolve())
        with open_files(path) as files:
            manifest = _read_manifest(path, files[MANIFEST])
            self._check_manifest(manifest, kinds)
            self._files = {
                name: self._read_file(files.get(name), name, entry["bytes"], entry["sha256"], name in mapped)
                for name, entry in manifest["files"].items()
            }
        self.kind: str = manifest["kind"]
        self.content: dict[str, Any] = manifest["content"]

    def _check_manifest(self, manifest: dict[str, Any], kinds: Collection[str]) -> None:
        if manifest.get("format") != FORMAT:
            # lazy: programs of this version need no version
            from importlib.metadata import version

            got = f"format {manifest.get('format')} of stepwell {manifest.get('stepwell', '?')}"
            raise LoadError(f"{self.path}: {got}, expected format {FORMAT} of stepwell {version('stepwell')}")
        if manifest.get("checksum") != (expected := checksum(manifest)):
            raise LoadError(f"{self.path}: checksum of {MANIFEST} is {manifest.get('checksum')}, expected {expected}")
        if manifest["kind"] not in kinds:
            raise LoadError(f"{self.path}: a {manifest['kind']}, expected a {' or '.join(kinds)}")

    def _read_file(self, span: Span | None, name: str, size: int, expected: str, mapped: bool) -> Bytes:
        if span is None:
            raise LoadError(f"{self.path}: {name} is missing")
        if span.size != size:
            raise LoadError(f"{self.path}: {name} has {span.size} bytes, expected {size}")
        content = span.map() if mapped else span.read()
        digest = hashlib.sha256(content.data).hexdigest()
        if digest != expected:
            raise LoadError(f"{self.path}: checksum of {name} is {digest}, expected {expected}")
        return content

    def part(self, name: str) -> Archive:
        """The archive in this one whose contents `with_parts` has added under a name."""
        part = copy(self)
        part.content = self.content[PARTS][name]
        part._files = {
            file.removeprefix(f"{name}."): data for file, data in self._files.items() if file.startswith(f"{name}.")
        }
        return part

    def bytes_of(self, name: str) -> Bytes:
        """The bytes of a file. Raises LoadError if the manifest does not list it."""
        if name not in self._files:
            raise LoadError(f"{self.path}: {MANIFEST} does not list {name}, expected it among {', '.join(self._files)}")
        return self._files[name]

    def read(self, name: str) -> bytes:
        """A copy of the bytes of a file. Raises the errors of `bytes_of`."""
        return self.bytes_of(name).tobytes()


@contextmanager
def reading(path: Path, file: str = MANIFEST) -> Generator[None, None, None]:
    """Turns the errors of malformed content into LoadError. file: the name of the file with the content."""
    try:
        yield
    except (LoadError, OSError):
        raise
    except RecursionError:
        raise LoadError(f"{path}: {file} is broken: nested too deeply") from None
    except Exception as error:
        raise LoadError(f"{path}: {file} is broken: {type(error).__name__}: {error}") from error


def archive_kind(path: Path) -> str:
    """The kind of the archive at `path`, without a check of its files. Raises LoadError if no archive is found."""
    with open_files(path) as files, reading(path):
        return str(_read_manifest(path, files[MANIFEST])["kind"])


def _read_manifest(path: Path, span: Span) -> dict[str, Any]:
    try:
        manifest = json.loads(span.read().tobytes())
    except ValueError as error:
        raise LoadError(f"{path}: {MANIFEST} is broken: {error}") from None
    if not isinstance(manifest, dict):
        raise LoadError(f"{path}: {MANIFEST} is broken: expected an object, got {type(manifest).__name__}")
    return manifest
