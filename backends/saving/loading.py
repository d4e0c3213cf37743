"""Loading of saved programs: the loader of each kind of archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from ..cuda.program import DeviceProgram, Launcher
from ..llvm.compile import link_code
from ..llvm.host import check_host, check_image
from ..runtime.program import Program
from . import device, native
from .format import Archive, reading

Link: TypeAlias = Callable[[Mapping[str, int]], Program]
"""Links a program, given the addresses of C symbols."""


def _load_native(archive: Archive) -> Link:
    code = native.read_native(archive)
    check_host(code, archive.path)
    check_image(code, archive.path)
    return lambda symbols: link_code(code, symbols=symbols)


def _load_device(archive: Archive) -> Link:
    parts = device.read_device(archive)
    check_host(parts.native, archive.path)
    kernels = (kernel for each in parts.code for kernel in each.kernels)
    check_image(parts.native, archive.path, (parts.device, *kernels))
    text = "\n".join(each.source for each in parts.code)
    launcher = Launcher(parts.device, parts.code)
    return lambda symbols: DeviceProgram(parts.native, launcher, {"cuda": lambda: text}, parts.usage, symbols)


LOADERS: Mapping[str, Callable[[Archive], Link]] = {native.KIND: _load_native, device.KIND: _load_device}
"""The loader of each kind of archive that holds a program. Loaders raise LoadError if this machine cannot run it."""


def load_program(path: Path, symbols: Mapping[str, int] | None = None) -> Program:
    """Implements `Program.load`."""
    with reading(path):
        archive = Archive(path, LOADERS)
        link = LOADERS[archive.kind](archive)
    return link(symbols or {})


def load_part(archive: Archive) -> Link:
    """Loads the program in an archive of another kind. Raises the errors of a loader."""
    return LOADERS[device.KIND if "device" in archive.content else native.KIND](archive)
