"""Programs for a device as the content of an archive: native host code, kernels as source and as compiled images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import LoadError
from ..cuda.nvrtc import KernelUsage
from ..devices.driver import DeviceCode, KernelCode
from ..runtime.code import NativeCode
from .format import DEVICE_LIBRARY, Archive, Chunks, Contents
from .native import native_contents, read_native

_DEVICES = ("cuda", "cuda_emulated")


@dataclass(frozen=True)
class DeviceParts:
    """The parts of a program for a device. native: the host code.  device: the kind of device.  code: its kernels.
    usage: the resources that each kernel uses.
    """

    native: NativeCode
    device: str
    code: tuple[DeviceCode, ...]
    usage: Mapping[str, KernelUsage]


def device_contents(parts: DeviceParts) -> Contents:
    """The contents of an archive of a program for a device."""
    host = native_contents(parts.native)
    files: dict[str, Chunks] = dict(host.files)
    for n, each in enumerate(parts.code):
        files[f"kernels{n}.cu"] = [each.source.encode()]
        files[f"kernels{n}.bin"] = [each.image]
    content = {
        **host.content,
        "device": parts.device,
        "kernels": [_describe(each) for each in parts.code],
        "usage": {name: vars(used) for name, used in parts.usage.items()},
    }
    return Contents(DEVICE_LIBRARY, content, files)


def _describe(code: DeviceCode) -> dict[str, Any]:
    return {
        "architecture": code.architecture,
        "checks": code.checks,
        "kernels": [vars(kernel) for kernel in code.kernels],
    }


def read_device(archive: Archive) -> DeviceParts:
    """The program of an archive with the contents of `device_contents`, perhaps among others. Raises the errors of
    `reading`, and LoadError for an unknown device.
    """
    content = archive.content
    if content["device"] not in _DEVICES:
        raise LoadError(f"{archive.path}: for a device {content['device']!r}, expected one of {', '.join(_DEVICES)}")
    code = tuple(
        DeviceCode(
            archive.read(f"kernels{n}.cu").decode(),
            tuple(KernelCode(**kernel) for kernel in each["kernels"]),
            each["architecture"],
            archive.read(f"kernels{n}.bin"),
            each.get("checks", True),  # absent from archives of earlier versions
        )
        for n, each in enumerate(content["kernels"])
    )
    usage = {name: KernelUsage(**used) for name, used in content["usage"].items()}
    return DeviceParts(read_native(archive), content["device"], code, usage)
