"""Targets and devices of a program on several devices: `tvm.target.make_compilation_config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....core.errors import OptionError
from ..devices import device
from .target import Target, TargetLike, target_of
from .virtual_device import VirtualDevice

if TYPE_CHECKING:
    from ..transform import PassContext

CPU_TYPE = 1
"""DLPack's type of processors."""


class CompilationConfig:
    """The targets of a program. host_target: of the host.  primitive_targets: of the operators, one for each kind, each
    with the host.  host_virtual_device: the device of the host.  default_primitive_virtual_device: the device of
    operators for which the program states none: that of the option `relay.fallback_device_type` of the context, else
    that of the only target, else the processor.

    OptionError without targets, for two targets of a kind, and for a default device without a target.
    """

    def __init__(self, context: PassContext, targets: Sequence[Target]):
        if not targets:
            raise OptionError("no target, expected one at least")
        kinds = [each.kind.name for each in targets]
        if len(set(kinds)) < len(kinds):
            raise OptionError(f"targets of kinds {', '.join(kinds)}, one of them twice")
        hosts = [each.host for each in targets if each.host is not None]
        processors = [each for each in targets if each.get_target_device_type() == CPU_TYPE]
        self.host_target = _without_host((hosts or processors or [Target("llvm")])[0])
        self.primitive_targets = [each.with_host(self.host_target) for each in targets]
        self.host_virtual_device = VirtualDevice(device(self.host_target.kind.name), self.host_target)
        types = {each.get_target_device_type() for each in targets}
        chosen = context.config.get("relay.fallback_device_type", types.pop() if len(types) == 1 else CPU_TYPE)
        target = self._target_for(int(chosen))
        self.default_primitive_virtual_device = VirtualDevice(device(target.kind.name), target)

    def _target_for(self, device_type: int) -> Target:
        """The first target for a type of devices. OptionError without one."""
        for each in self.primitive_targets:
            if each.get_target_device_type() == device_type:
                return each
        known = ", ".join(f"{each.get_target_device_type()} ({each.kind})" for each in self.primitive_targets)
        raise OptionError(f"devices of type {device_type}: no target, there is {known}")

    def canonical(self, place: VirtualDevice) -> VirtualDevice:
        """A device with the target of its type, if it states none. OptionError if there is none."""
        if place.target is not None or place.device is None:
            return place
        return VirtualDevice(place.device, self._target_for(place.device_type_int), place.memory_scope)


def make_compilation_config(ctxt: PassContext, target: Any, target_host: TargetLike | None = None) -> CompilationConfig:
    """The targets of a program. target: one, several, or a dictionary of them by device.  target_host: of the host."""
    many = list(target.values()) if isinstance(target, Mapping) and "kind" not in target else target
    many = many if isinstance(many, list | tuple) else [many]
    return CompilationConfig(ctxt, [target_of(each, target_host) for each in many])


def _without_host(target: Target) -> Target:
    config = target.export()
    config.pop("host", None)
    return Target(config)
