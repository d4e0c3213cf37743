"""The module `tvm.relay.testing.py_converter`: programs run by Python."""

from __future__ import annotations

from typing import Any

from ....relay.expr import Expr, Function
from ...devices import Device
from ...ir.module import IRModule
from ..interpreter import Interpreter


def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm", device: Device | None = None) -> Any:
    """The value of an expression, with the functions of a module. TVM generates Python; here the interpreter of
    programs evaluates the expression."""
    functions = {name: each for name, each in (mod.items() if mod is not None else ()) if isinstance(each, Function)}
    return Interpreter(functions, target, device).evaluate(expr)


__all__ = ["run_as_python"]
