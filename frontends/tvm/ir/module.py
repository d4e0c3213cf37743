"""Modules of functions, as `tvm.ir.module` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from ....core.errors import OptionError
from ....dialects.text.functions import print_function
from ....dialects.tir import FuncOp
from ....module import Module


class PrimFunc(Module):
    """One function on the `tir` landing, not in a module yet."""

    def script(self, style: str = "classic") -> str:
        (func,) = (op for op in self.op.body.block.ops if isinstance(op, FuncOp))
        return print_function(func, style)


class IRModule(Module):
    """Functions by name. `IRModule({"main": func})` is a module of copies of functions."""

    def __init__(
        self,
        functions: Mapping[str, Module] | ModuleOp | None = None,
        constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ):
        if isinstance(functions, ModuleOp):
            super().__init__(functions, constants)
            return
        ops = [_named(name, func) for name, func in (functions or {}).items()]
        super().__init__(ModuleOp(ops), constants)


def _named(name: str, mod: Module) -> FuncOp:
    """A copy of the only function of a module, under another name."""
    found = [op for op in mod.op.body.block.ops if isinstance(op, FuncOp)]
    if len(found) != 1:
        raise OptionError(f"function {name!r}: a module of {len(found)} functions, expected one")
    copy = found[0].clone()
    copy.sym_name = StringAttr(name)
    return copy
