"""The files of a folder or of an uncompressed tar, each opened once.

Bytes are checked and used through the same open file, so a folder or tar that is replaced meanwhile is read as a whole,
old or new.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import stat
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.errors import LoadError
from ..runtime.memory import array_at

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
        if not self.size:
            return np.empty(0, np.uint8)
        start = self.offset % mmap.ALLOCATIONGRANULARITY
        mapping = _Mapping(self.descriptor, self.offset - start, self.size + start)
        return array_at(mapping.address + start, (self.size,), None, np.dtype(np.uint8), owner=mapping)


_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


class _Mapping:
    """A private mapping of a file. Unlike Python's `mmap` it keeps no file descriptor: loaded graphs, which die in
    garbage collections, would use up those of the process.
    """

    def __init__(self, descriptor: int, offset: int, size: int):
        self._size = size
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self.address: int = _libc.mmap(None, size, access, mmap.MAP_PRIVATE, descriptor, offset)
        if self.address == _FAILED:
            number = ctypes.get_errno()
            raise OSError(number, f"a file cannot be mapped: {os.strerror(number)}")

    def __del__(self, unmap: Any = _libc.munmap) -> None:
        if self.address != _FAILED:
            unmap(self.address, self._size)


Find: TypeAlias = Callable[[str], Span | None]
"""Finds a file by its name; None if it does not exist."""


@contextmanager
def open_files(path: Path) -> Generator[Find, None, None]:
    """The files of a folder or tar, which are open until the exit. Raises LoadError if `path` is neither."""
    with ExitStack() as stack:
        try:
            descriptor = _open(stack, path)
        except FileNotFoundError:
            raise LoadError(f"{path}: there is nothing") from None
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            yield partial(_file_of_folder, stack, descriptor)
        elif stat.S_ISREG(status.st_mode):
            yield _members(path, descriptor, status.st_size).get
        else:
            raise LoadError(f"{path}: no folder and no tar")


def _open(stack: ExitStack, path: Path | str, folder: int | None = None) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _file_of_folder(stack: ExitStack, folder: int, name: str) -> Span | None:
    if name not in os.listdir(folder):
        return None
    descriptor = _open(stack, name, folder)
    status = os.fstat(descriptor)
    return Span(descriptor, 0, status.st_size) if stat.S_ISREG(status.st_mode) else None


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
        position += -(-size // _BLOCK) * _BLOCK
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
