"""Programs for devices in files: native code of the host, and kernels as text and as what that is compiled to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import LoadError
from ..devices.driver import DeviceCode, KernelCode
from ..llvm.saving import IMAGE, code_of, describe_code, read_code
from ..runtime.archive import Archive, reading, write_archive
from .library import DeviceLibrary, Launcher
from .nvrtc import KernelUsage

KIND = "library for devices"
_DEVICES = ("cuda", "cuda_emulated")


def save_device_library(library: DeviceLibrary, path: Path) -> None:
    """`DeviceLibrary.export`."""
    native, launcher = code_of(library), library.launcher
    files: dict[str, list[bytes | memoryview]] = {IMAGE: [native.image]}
    for n, each in enumerate(launcher.code):
        files[f"kernels{n}.cu"] = [each.source.encode()]
        files[f"kernels{n}.bin"] = [each.image]
    content = {
        "code": describe_code(native),
        "device": launcher.kind,
        "kernels": [_describe(each) for each in launcher.code],
        "usage": {name: vars(used) for name, used in library.usage.items()},
    }
    write_archive(path, KIND, content, files)


def _describe(code: DeviceCode) -> dict[str, Any]:
    return {"architecture": code.architecture, "kernels": [vars(kernel) for kernel in code.kernels]}


def load_device_library(path: Path) -> DeviceLibrary:
    """What `save_device_library` has saved. No device needs to be there. LoadError if it is broken."""
    with reading(path):
        archive = Archive(path, KIND)
        said = archive.content
        if said["device"] not in _DEVICES:
            raise LoadError(f"{path}: for a device {said['device']!r}, expected one of {', '.join(_DEVICES)}")
        code = [
            DeviceCode(
                archive.read(f"kernels{n}.cu").decode(),
                tuple(KernelCode(**kernel) for kernel in each["kernels"]),
                each["architecture"],
                archive.read(f"kernels{n}.bin"),
            )
            for n, each in enumerate(said["kernels"])
        ]
        usage = {name: KernelUsage(**used) for name, used in said["usage"].items()}
        native = read_code(archive)
    text = "\n".join(each.source for each in code)
    return DeviceLibrary(native, Launcher(said["device"], code), {"cuda": lambda: text}, usage)
