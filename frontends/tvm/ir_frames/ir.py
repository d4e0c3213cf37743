"""The module `tvm.script.ir_builder.ir`: frames of modules."""

from __future__ import annotations

from typing import Any

from ....module import Module
from ...relay.expr import GlobalVar
from ..absent import report_absent
from ..ir.module import IRModule
from .base import BuilderError, Frame, IRBuilder, innermost


class IRModuleFrame(Frame):
    """The functions of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[str, Any] = {}
        self.attrs: dict[str, Any] = {}

    def add(self, made: Any) -> None:
        raise BuilderError(f"{made!r} in a module, expected a function with a name")

    def close(self, builder: IRBuilder) -> None:
        undefined = [name for name, function in self.functions.items() if function is None]
        if undefined:
            raise BuilderError(f"functions {', '.join(undefined)} are declared and not defined")
        mod = IRModule(self.functions)
        builder.add(mod.with_attrs(self.attrs) if self.attrs else mod)


def ir_module() -> IRModuleFrame:
    """The frame of a module."""
    return IRModuleFrame()


def decl_function(func_name: str, func_signature: Any = None) -> GlobalVar:
    """Declares a function that `def_function` defines. BuilderError for a second one of the name."""
    frame = innermost(IRModuleFrame, f"decl_function {func_name}")
    if func_name in frame.functions:
        raise BuilderError(f"decl_function {func_name}: a second function of this name")
    frame.functions[func_name] = None
    return GlobalVar(func_name)


def def_function(func_name: str, func: Module) -> None:
    """Defines a function of the module."""
    innermost(IRModuleFrame, f"def_function {func_name}").functions[func_name] = func


def module_attrs(attrs: dict[str, Any]) -> None:
    """The attributes of the module."""
    innermost(IRModuleFrame, "module_attrs").attrs.update(attrs)


__getattr__ = report_absent("tvm.script.ir_builder.ir")

__all__ = ["IRModuleFrame", "decl_function", "def_function", "ir_module", "module_attrs"]
