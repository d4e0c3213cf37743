"""Devices of values of graphs: `tvm.target.VirtualDevice`."""

from __future__ import annotations

from dataclasses import dataclass

from ..devices import Device
from .target import Target

INVALID = -1
"""The type of a device that is not given."""


@dataclass(frozen=True)
class VirtualDevice:
    """The device of a value, as far as a program says it: the device, the target of its code, and the kind of its
    memory. Equal parts make equal devices."""

    device: Device | None = None
    target: Target | None = None
    memory_scope: str = ""

    @property
    def device_type_int(self) -> int:
        """DLPack's type of the device, -1 without a device."""
        return INVALID if self.device is None else self.device.device_type

    @property
    def virtual_device_id(self) -> int:
        """The index among the devices of the kind, -1 without a device."""
        return INVALID if self.device is None else self.device.index

    device_type = device_type_int
