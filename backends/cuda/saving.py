"""Saving and loading of device programs: native host code, and kernels as source and as compiled images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import LoadError
from ..devices.driver import DeviceCode, KernelCode
from ..llvm.saving import IMAGE, code_of, describe_code, read_code
from ..runtime.archive import Archive, Chunks, reading, write_archive
from .nvrtc import KernelUsage
from .program import DeviceProgram, Launcher

KIND = "library for devices"
_DEVICES = ("cuda", "cuda_emulated")


def save_device_library(library: DeviceProgram, path: Path) -> None:
    """Implements `DeviceProgram.export`."""
    write_archive(path, KIND, *describe_device_library(library))


def describe_device_library(library: DeviceProgram) -> tuple[dict[str, Any], dict[str, Chunks]]:
    """The archive content of a library, as JSON values, and its files."""
    native, launcher = code_of(library), library.launcher
    files: dict[str, Chunks] = {IMAGE: [native.image]}
    for n, each in enumerate(launcher.code):
        files[f"kernels{n}.cu"] = [each.source.encode()]
        files[f"kernels{n}.bin"] = [each.image]
    content = {
        "code": describe_code(native),
        "device": launcher.kind,
        "kernels": [_describe(each) for each in launcher.code],
        "usage": {name: vars(used) for name, used in library.usage.items()},
    }
    return content, files


def _describe(code: DeviceCode) -> dict[str, Any]:
    return {"architecture": code.architecture, "kernels": [vars(kernel) for kernel in code.kernels]}


def load_device_library(path: Path) -> DeviceProgram:
    """Loads a library that `save_device_library` saved. No device is required. Raises LoadError if the
    files are broken.
    """
    with reading(path):
        parts = read_device_library(Archive(path, KIND))
    return DeviceProgram(**parts)


def read_device_library(archive: Archive) -> dict[str, Any]:
    """The constructor arguments of a `DeviceProgram`, from an archive with the content of `describe_device_library`.
    Raises the errors of `reading`, and LoadError for an unknown device.
    """
    content = archive.content
    if content["device"] not in _DEVICES:
        raise LoadError(f"{archive.path}: for a device {content['device']!r}, expected one of {', '.join(_DEVICES)}")
    code = [
        DeviceCode(
            archive.read(f"kernels{n}.cu").decode(),
            tuple(KernelCode(**kernel) for kernel in each["kernels"]),
            each["architecture"],
            archive.read(f"kernels{n}.bin"),
        )
        for n, each in enumerate(content["kernels"])
    ]
    text = "\n".join(each.source for each in code)
    return {
        "native": read_code(archive),
        "launcher": Launcher(content["device"], code),
        "sources": {"cuda": lambda: text},
        "usage": {name: KernelUsage(**used) for name, used in content["usage"].items()},
    }
