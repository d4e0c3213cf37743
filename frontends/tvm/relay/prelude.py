"""The module `tvm.relay.prelude`: data types and functions of lists, trees and options."""

from __future__ import annotations

from typing import Any

from ...relay.expr import GlobalVar
from ..absent import report_absent
from ..ir.module import IRModule

__getattr__ = report_absent("tvm.relay.prelude")


# the names of v0.6: of data types, of constructors (data type, name), and of functions of `nat.rly`
_TYPES = {"l": "List", "optional": "Option", "tree": "Tree", "nat": "nat"}
_CONSTRUCTORS = {
    "cons": ("List", "Cons"),
    "nil": ("List", "Nil"),
    "some": ("Option", "Some"),
    "none": ("Option", "None"),
    "rose": ("Tree", "Rose"),
    "z": ("nat", "zero"),
    "s": ("nat", "succ"),
}
_FUNCTIONS = {"double": "nat_double", "add": "nat_add"}


class Prelude:
    """Adds the programs of `prelude.rly` to a module. Its functions are attributes: `prelude.map`, `prelude.hd`, and so
    are its data types and constructors under the names of v0.6: `prelude.l`, `prelude.cons`.

    mod: the module, a new one by default.
    """

    def __init__(self, mod: IRModule | None = None):
        self.mod = IRModule() if mod is None else mod
        if "List" not in {each.name_hint for each in self.mod.type_definitions}:
            self.mod.import_from_std("prelude.rly")

    def __getattr__(self, name: str) -> Any:
        if name == "mod":  # of an object that is copied, before it has fields
            raise AttributeError(name)
        defined = {each.name_hint for each in self.mod.type_definitions}
        if name in _TYPES and _TYPES[name] in defined:
            return self.mod.get_global_type_var(_TYPES[name])
        if name in _CONSTRUCTORS and _CONSTRUCTORS[name][0] in defined:
            kind, constructor = _CONSTRUCTORS[name]
            return next(each for each in self.mod.get_type(kind)[1:] if each.name_hint == constructor)
        for each in (name, _FUNCTIONS.get(name, name)):
            if each in self.mod:
                return GlobalVar(each)
        raise AttributeError(f"the prelude has no function {name!r}")

    def get_global_var(self, canonical: str, *args: Any, **kwargs: Any) -> GlobalVar:
        """A function of the module by name."""
        return self.mod.get_global_var(canonical)

    def get_type(self, canonical: str) -> tuple[Any, ...]:
        """The name of a data type, and its constructors."""
        return self.mod.get_type(canonical)


__all__ = ["Prelude"]
