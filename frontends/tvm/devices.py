"""Devices by name, where the GPU may be an emulated one: `python -m stepwell.frontends.tvm --emulate-gpu PROGRAM`."""

from __future__ import annotations

from ...backends import devices
from ...backends.devices import Device, cpu

_emulated = False


def emulate_gpu() -> None:
    """Makes the device and the target `cuda` mean the emulated GPU, in the whole process, from now on."""
    global _emulated
    _emulated = True


def is_gpu_emulated() -> bool:
    """Whether `cuda` means the emulated GPU."""
    return _emulated


def cuda(index: int = 0) -> Device:
    """A GPU: NVIDIA's, or the emulated one after `emulate_gpu`."""
    return devices.cuda_emulated(index) if _emulated else devices.cuda(index)


def device(name: str, index: int = 0) -> Device:
    """A device by the name of its kind, or by the text of a target. OptionError for other names."""
    found = devices.device(str(name), index)
    return cuda(index) if found.kind == "cuda" else found


__all__ = ["Device", "cpu", "cuda", "device", "emulate_gpu", "is_gpu_emulated"]
