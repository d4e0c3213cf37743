"""Devices of modules: `tvm.ir.VDevice`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....core.errors import UnsupportedError
from ....core.target import Target
from ...tvmscript.values import VirtualDevice


@dataclass(frozen=True)
class VDevice:
    """A device of a module. target: for which its code is compiled.  vdevice_id: among the devices of its kind."""

    target: Any = "llvm"
    vdevice_id: int = 0
    memory_scope: str = "global"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Target.from_value(self.target))
        if self.memory_scope != "global":
            raise UnsupportedError(f"VDevice: memory scope {self.memory_scope!r}, expected 'global'")

    @property
    def __tvmscript__(self) -> VirtualDevice:
        """The meaning of the device in a TVMScript program."""
        return VirtualDevice(str(self.target), self.vdevice_id)
