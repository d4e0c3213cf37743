"""Calls of functions of a module replaced by the functions: `relay.transform.Inline`."""

from __future__ import annotations

from collections.abc import Mapping

from ....module import Module
from ....operators.relay import FuncOp
from ...relay.expr import Call, Expr, Function, FunctionCall, GlobalVar
from ...relay.functor import ExprMutator, TypedMutator, bind
from ..ir.module import IRModule
from .call_graph import called_functions


class Inliner(ExprMutator):
    """Replaces calls of functions of the module by calls of the functions themselves. functions: by name."""

    def __init__(self, functions: Mapping[str, Function]):
        super().__init__()
        self.functions = functions

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        callee = getattr(new, "op", None)
        if not isinstance(callee, GlobalVar) or callee.name_hint not in self.functions:
            return new
        return FunctionCall(self.visit(self.functions[callee.name_hint]), new.args)  # pyright: ignore[reportAttributeAccessIssue]


def inline_functions(mod: IRModule) -> IRModule:
    """A module without the functions that have the attribute `Inline`, whose calls are replaced. Functions without
    calls stay."""
    graphs = {name: func for name, func in mod.items() if isinstance(func, Function)}
    called = {callee for func in graphs.values() for callee in called_functions(func)}
    inlined = {name: func for name, func in graphs.items() if func.attrs.get("Inline") and name in called}
    kept = {name: Inliner(inlined).visit(func) for name, func in graphs.items() if name not in inlined}
    others = {name: func for name, func in mod.items() if name not in graphs}
    return IRModule({**kept, **others})


class _Defusion(TypedMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        callee = getattr(new, "op", None)
        if not isinstance(callee, Function) or callee.type_params:
            return new
        assert isinstance(new, Call)
        return bind(callee.body, dict(zip(callee.params, new.args, strict=True)))


def defuse(func: Function) -> Function:
    """A graph in which calls of functions that are written there are the bodies of the functions."""
    return _Defusion().visit(func)


def names_with(mod: Module, attribute: str) -> list[str]:
    """The graphs of a module that have an attribute."""
    ops = [(name, op) for name, op in mod.function_ops.items() if isinstance(op, FuncOp)]
    return [name for name, op in ops if op.func_attrs is not None and attribute in op.func_attrs.data]
