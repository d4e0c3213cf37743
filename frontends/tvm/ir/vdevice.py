"""Devices of modules: `tvm.ir.VDevice`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....backends.devices.device import Device
from ....core.errors import ArgumentError
from ....core.target import Target
from ...tvmscript.values import VirtualDevice, device_name


@dataclass(frozen=True)
class VDevice:
    """A device of a module. target: for which its code is compiled.  vdevice_id: among the devices of its kind.
    memory_scope: of its memory; only `global` can be built for."""

    target: Any = "llvm"
    vdevice_id: int = 0
    memory_scope: str = "global"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Target.from_value(self.target))

    @property
    def __tvmscript__(self) -> VirtualDevice:
        """The meaning of the device in a TVMScript program."""
        return VirtualDevice(str(self.target), self.vdevice_id, self.memory_scope)

    @staticmethod
    def of_name(name: str) -> VDevice:
        """The device of a name, `"cuda:0"`."""
        kind, number, *scope = name.split(":")
        return VDevice(kind, int(number), *scope)


def name_of_device(device: VDevice | Device | str) -> str:
    """The name of a device in a module, `"cuda:0"`. ArgumentError for another value."""
    name = device_name(device.__tvmscript__ if isinstance(device, VDevice) else device)
    if name is None:
        raise ArgumentError(f"{device!r}, expected a device: VDevice('cuda', 0), 'cuda:0' or tvm.cuda(0)")
    return name
