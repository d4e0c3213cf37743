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

    @property
    def is_fully_unconstrained(self) -> bool:
        """Whether no part is given."""
        return self == VirtualDevice()

    @property
    def is_fully_constrained(self) -> bool:
        """Whether all parts are given."""
        return self.device is not None and self.target is not None and bool(self.memory_scope)

    def join(self, other: VirtualDevice) -> VirtualDevice | None:
        """The device with the parts of both, None if they differ in a part."""
        pairs = (
            (self.device, other.device),
            (self.target, other.target),
            (self.memory_scope or None, other.memory_scope or None),
        )
        if any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return None
        return self.with_defaults(other)

    def with_defaults(self, other: VirtualDevice) -> VirtualDevice:
        """The device with the parts of another one where this one has none. The target of another device is no
        default."""
        place = VirtualDevice(self.device or other.device, self.target, self.memory_scope or other.memory_scope)
        target = other.target
        if self.target is None and target is not None and target.get_target_device_type() == place.device_type_int:
            return VirtualDevice(place.device, target, place.memory_scope)
        return place

    def __str__(self) -> str:
        parts = {
            "device_type": None if self.device is None else self.device_type_int,
            "virtual_device_id": None if self.device is None else self.virtual_device_id,
            "target": self.target,
            "memory_scope": repr(self.memory_scope) if self.memory_scope else None,
        }
        texts = [f"{name}={value}" for name, value in parts.items() if value is not None]
        return f"VirtualDevice({', '.join(texts) or '?'})"
