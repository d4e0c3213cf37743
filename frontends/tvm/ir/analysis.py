"""Facts about modules: `tvm.ir.analysis`."""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr

from ...relay.expr import GlobalVar
from .module import IRModule


def collect_call_map(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """The functions of a module that each of its functions calls, each once, in the order of the calls."""
    called: dict[str, list[str]] = {}
    for name, func in module.function_ops.items():
        symbols = [each for op in func.walk() for each in op.properties.values() if isinstance(each, SymbolRefAttr)]
        names = [each.string_value() for each in symbols]
        called[name] = [each for each in dict.fromkeys(names) if each in module.function_ops]
    return {GlobalVar(name): [GlobalVar(each) for each in names] for name, names in called.items()}


__all__ = ["collect_call_map"]
