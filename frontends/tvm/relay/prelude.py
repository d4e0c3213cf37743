"""The module `tvm.relay.prelude`: data types and functions of lists, trees and options."""

from __future__ import annotations

from typing import Any

from ...relay.expr import GlobalVar
from ..absent import report_absent
from ..ir.module import IRModule

__getattr__ = report_absent("tvm.relay.prelude")


class Prelude:
    """Adds the programs of `prelude.rly` to a module. Its functions are attributes: `prelude.map`, `prelude.hd`.

    mod: the module, a new one by default.
    """

    def __init__(self, mod: IRModule | None = None):
        self.mod = IRModule() if mod is None else mod
        if "List" not in {each.name_hint for each in self.mod.type_definitions}:
            self.mod.import_from_std("prelude.rly")

    def __getattr__(self, name: str) -> GlobalVar:
        if name == "mod" or name not in self.mod:
            raise AttributeError(f"the prelude has no function {name!r}")
        return GlobalVar(name)

    def get_global_var(self, canonical: str, *args: Any, **kwargs: Any) -> GlobalVar:
        """A function of the module by name."""
        return self.mod.get_global_var(canonical)

    def get_type(self, canonical: str) -> tuple[Any, ...]:
        """The name of a data type, and its constructors."""
        return self.mod.get_type(canonical)


__all__ = ["Prelude"]
