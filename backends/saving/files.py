"""The files of an archive, a folder or an uncompressed tar, each opened once.

Bytes are checked and used through the same open file, so an archive that is replaced meanwhile is read as a whole, old
or new.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.errors import LoadError
from ...core.sizes import align_up

MANIFEST = "stepwell.json"
"""The file that every archive has."""
Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Span:
    """`size` bytes of an open file, from `offset` on."""

    descriptor: int
    offset: int
    size: int

    def read(self) -> Bytes:
        """The bytes, fewer if the file has become shorter."""
        with open(self.descriptor, "rb", closefd=False) as file:
            file.seek(self.offset)
            return np.frombuffer(file.read(self.size), np.uint8)

    def map(self) -> Bytes:
        """The bytes, mapped copy-on-write: pages are read on first access, and writes stay in memory."""
        return np.asarray(_Mapping(self)) if self.size else np.empty(0, np.uint8)


LIBC: Any = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


class _Mapping:
    """A private mapping of a span, as numpy reads it. Unlike Python's `mmap` it keeps no file descriptor: graphs, which
    die in garbage collections, would use up those of the process.
    """

    def __init__(self, span: Span):
        start = span.offset % mmap.ALLOCATIONGRANULARITY
        self._size = start + span.size
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self._address: int = LIBC.mmap(None, self._size, access, mmap.MAP_PRIVATE, span.descriptor, span.offset - start)
        if self._address == _FAILED:
            number = ctypes.get_errno()
            raise OSError(number, f"a file cannot be mapped: {os.strerror(number)}")
        data = (self._address + start, False)
        self.__array_interface__ = {"data": data, "shape": (span.size,), "typestr": "|u1", "version": 3}

    def __del__(self, unmap: Any = LIBC.munmap) -> None:
        if self._address != _FAILED:
            unmap(self._address, self._size)


@contextmanager
def open_files(path: Path) -> Generator[Mapping[str, Span], None, None]:
    """The files of the archive at `path`, by name, which are open until the exit. Raises LoadError if `path` is no
    archive.
    """
    with ExitStack() as stack:
        try:
            descriptor = _open(stack, path)
        except FileNotFoundError:
            raise LoadError(f"{path}: there is nothing") from None
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            files = _files_of_folder(stack, descriptor)
        elif stat.S_ISREG(status.st_mode):
            files = _members(path, descriptor, status.st_size)
        else:
            raise LoadError(f"{path}: no folder and no tar")
        if MANIFEST not in files:
            raise LoadError(f"{path}: no {MANIFEST} there, expected what stepwell has saved")
        yield files


def _open(stack: ExitStack, path: Path | str, folder: int | None = None) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _files_of_folder(stack: ExitStack, folder: int) -> dict[str, Span]:
    """The regular files of a folder with a manifest, all opened before one is read: a writer that replaces the folder
    deletes them.
    """
    names = os.listdir(folder)
    descriptors = {name: _open(stack, name, folder) for name in names} if MANIFEST in names else {}
    states = {name: os.fstat(descriptor) for name, descriptor in descriptors.items()}
    return {
        name: Span(descriptors[name], 0, status.st_size)
        for name, status in states.items()
        if stat.S_ISREG(status.st_mode)
    }


# Tars. Python's `tarfile` does not terminate on members of a negative size (before the fix of CVE-2025-8194).

_BLOCK = 512  # bytes, of headers and of the padding of files


def _members(path: Path, descriptor: int, length: int) -> dict[str, Span]:
    """The regular files of a tar of `length` bytes, by name."""
    members: dict[str, Span] = {}
    position = 0
    while any(header := os.pread(descriptor, _BLOCK, position)):
        position += _BLOCK
        try:
            name, kind, size = _parse_header(header)
        except ValueError as error:
            raise LoadError(f"{path}: no folder and no tar: {error} at byte {position - _BLOCK}") from None
        if not 0 <= size <= length - position:
            raise LoadError(f"{path}: {name} has {size} bytes, expected 0 to {max(0, length - position)}")
        if kind in (b"0", b"\0"):
            if name in members:
                raise LoadError(f"{path}: {name} is there twice")
            members[name] = Span(descriptor, position, size)
        position += align_up(size, _BLOCK)
    return members


def _parse_header(header: bytes) -> tuple[str, bytes, int]:
    """The name, the type and the size of a member. Raises ValueError for bytes that are no header."""
    if len(header) < _BLOCK:
        raise ValueError(f"a header of {len(header)} bytes, expected {_BLOCK}")
    if _number(header[148:156]) != sum(header[:148]) + sum(b" " * 8) + sum(header[156:]):
        raise ValueError("a header with a wrong checksum")
    name = header[:100].partition(b"\0")[0]
    folder = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return (b"/".join(filter(None, [folder, name]))).decode(errors="replace"), header[156:157], _number(header[124:136])


def _number(field: bytes) -> int:
    """A number in octal digits, or in base 256 after a byte with the highest bit set."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") - (256 ** (len(field) - 1) if field[0] == 0xFF else 0)
    if not re.fullmatch(rb" *[0-7]*[ \0]*", field):
        raise ValueError(f"a header with the number {field!r}")
    return int(field.strip(b" \0") or b"0", 8)
