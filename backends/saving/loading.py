"""Loading of saved programs: the loader of each kind of archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from ...core.errors import IncompleteCodeError, LoadError
from ..llvm.host import check_host, check_image
from ..llvm.linking import link_code
from ..runtime.program import Program
from .format import DEVICE_LIBRARY, NATIVE_LIBRARY, Archive, reading
from .native import read_native

Link: TypeAlias = Callable[[Mapping[str, int]], Program]
"""Links a program, given the addresses of C symbols."""


def _load_native(archive: Archive) -> Link:
    code = read_native(archive)
    check_host(code, archive.path)
    check_image(code, archive.path)
    return lambda symbols: link_code(code, symbols=symbols)


def _load_device(archive: Archive) -> Link:
    # lazy: needed for programs of GPUs only
    from ..cuda.program import DeviceProgram, Launcher
    from .device import read_device

    parts = read_device(archive)
    check_host(parts.native, archive.path)
    kernels = (kernel for each in parts.code for kernel in each.kernels)
    check_image(parts.native, archive.path, (parts.device, *kernels))
    text = "\n".join(each.source for each in parts.code)
    launcher = Launcher(parts.device, parts.code)
    return lambda symbols: DeviceProgram(parts.native, launcher, {"cuda": lambda: text}, parts.usage, symbols)


LOADERS: Mapping[str, Callable[[Archive], Link]] = {NATIVE_LIBRARY: _load_native, DEVICE_LIBRARY: _load_device}
"""The loader of each kind of archive that holds a program. Loaders raise LoadError if this machine cannot run it."""


def load_program(path: Path, symbols: Mapping[str, int] | None = None) -> Program:
    """Implements `Program.load`."""
    with reading(path):
        archive = Archive(path, LOADERS)
        link = _load(archive, archive.kind)
    return link(symbols or {})


def load_part(archive: Archive) -> Link:
    """Loads the program in an archive of another kind. Raises the errors of a loader."""
    return _load(archive, DEVICE_LIBRARY if "device" in archive.content else NATIVE_LIBRARY)


def _load(archive: Archive, kind: str) -> Link:
    """Loads the program in an archive. The link raises LoadError for object files that lack symbols."""
    link = LOADERS[kind](archive)

    def complete(symbols: Mapping[str, int]) -> Program:
        try:
            return link(symbols)
        except IncompleteCodeError as error:
            raise LoadError(f"{archive.path}: {error}") from error

    return complete
