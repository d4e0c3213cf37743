"""Devices by name, where the GPU may be an emulated one: `python -m stepwell.frontends.tvm --emulate-gpu PROGRAM`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...backends import devices
from ...backends.devices import Device
from ...backends.devices.driver import Driver
from ...core.errors import DeviceError, OptionError
from ...core.target import Target
from .former_names import former_names

_emulated = False
_checked = False
_FOREIGN = {
    "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "ext_dev": 12, "hexagon": 16, "webgpu": 15,
}  # fmt: skip
"""DLPack's device type of each kind of TVM's devices without a driver here."""
EMULATED = ("opencl", "vulkan", "metal", "rocm", "webgpu")
"""The kinds of GPUs, other than CUDA's, that the emulated GPU stands for."""
_SHORT = {
    "cl": "opencl", "mtl": "metal", "sdaccel": "opencl", "aocl": "opencl", "aocl_sw_emu": "opencl", "nvptx": "cuda",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class ForeignDevice(Device):
    """A device of a kind of TVM's that no driver here supports: it does not exist, and holds no arrays."""

    def __post_init__(self) -> None:
        if self.kind not in _FOREIGN or self.index < 0:
            raise OptionError(f"device {self.kind!r} {self.index}, expected one of {', '.join(_FOREIGN)}")

    @property
    def device_type(self) -> int:
        """DLPack's device type of the kind."""
        return _FOREIGN[self.kind]

    @property
    def driver(self) -> Driver:
        """The driver, of which there is none: always DeviceError."""
        raise DeviceError(f"device {self}: there is no driver for {self.kind}, expected tvm.cpu or tvm.cuda")

    def sync(self) -> None:
        """Waits for the device, always with a DeviceError."""
        self.driver.wait_for_device(self.index)


def emulate_gpu(checks: bool = False) -> None:
    """Makes the devices and the targets `cuda`, `opencl`, `vulkan`, `metal`, `rocm` and `webgpu` mean the emulated GPU,
    in the whole process, from now on.

    checks: whether kernels report data races, accesses out of bounds and reads of uninitialized memory, up to 80 times
    slower.
    """
    global _emulated, _checked
    _emulated, _checked = True, checks


def is_gpu_emulated() -> bool:
    """Whether `cuda`, and the other kinds of GPUs, mean the emulated GPU."""
    return _emulated


def emulated_target(options: Mapping[str, Any]) -> Target:
    """The target of the emulated GPU with other options, with the checks that `emulate_gpu` requested."""
    return Target.from_value({"kind": "cuda-emulated", "checks": _checked, **options})


@former_names(index="dev_id")
def cuda(index: int = 0) -> Device:
    """A GPU: NVIDIA's, or the emulated one after `emulate_gpu`."""
    return devices.cuda_emulated(index) if _emulated else devices.cuda(index)


def cpu(dev_id: int = 0) -> Device:
    """This machine, whose number may be any. OptionError for a negative number."""
    return devices.cpu(min(int(dev_id), 0))


@former_names(name="dev_type", index="dev_id")
def device(name: str, index: int = 0) -> Device:
    """A device by the name of its kind, or by the text of a target: one that does not exist for a kind of TVM's without
    a driver here. The name may end in an index, `cuda:1`. The number of the processor may be any. OptionError for other
    names."""
    kind = (str(name).split() or [""])[0]
    kind, _, suffix = kind.partition(":")
    if suffix:
        if index or not suffix.isdigit():
            raise OptionError(f"device {name!r} with index {index}, expected one index, as in cuda:1")
        index = int(suffix)
    kind = _SHORT.get(kind, kind)
    if kind in _FOREIGN:
        return _foreign(kind, index)
    if devices.device(kind).kind == "cpu":
        return cpu(index)
    found = devices.device(kind, index)
    return cuda(index) if found.kind == "cuda" else found


def _foreign(kind: str, index: int) -> Device:
    """A device of a kind of TVM's without a driver here: the emulated GPU, or one that does not exist."""
    return devices.cuda_emulated(index) if _emulated and kind in EMULATED else ForeignDevice(kind, index)


def _of_kind(kind: str) -> Callable[..., Device]:
    def create(dev_id: int = 0) -> Device:
        return _foreign(kind, dev_id)

    create.__name__ = kind
    create.__doc__ = f"A device of the kind {kind}: the emulated GPU after `emulate_gpu`, else one that does not exist."
    return create


opencl, vulkan, metal, vpi, rocm, ext_dev, hexagon, webgpu = (_of_kind(kind) for kind in _FOREIGN)
cl, mtl = opencl, metal

__all__ = [
    "EMULATED", "Device", "ForeignDevice", "cl", "cpu", "cuda", "device", "emulate_gpu", "emulated_target",
    "ext_dev", "hexagon", "is_gpu_emulated", "metal", "mtl", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
