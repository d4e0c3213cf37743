"""The record of the passes of a context: `tvm.relax.transform.tuning_api`, as of 2023."""

from __future__ import annotations

from ..absent import report_absent
from ..ir.module import IRModule
from ..transform import PassInfo

__getattr__ = report_absent("tvm.relax.transform.tuning_api")


class Trace:
    """The passes that have run in a context: `PassContext(trace=Trace(mod))`.

    in_mod: the module before the passes.  out_mod: the module after the last of them.  names: of the passes.
    """

    def __init__(self, in_mod: IRModule):
        self.in_mod = self.out_mod = in_mod
        self.names: list[str] = []

    def __call__(self, mod: IRModule, info: PassInfo, is_before: bool) -> None:
        if not is_before:
            self.names.append(info.name)
            self.out_mod = mod

    @property
    def size(self) -> int:
        """The number of passes."""
        return len(self.names)


__all__ = ["Trace"]
