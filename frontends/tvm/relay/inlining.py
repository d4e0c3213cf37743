"""Calls of functions of a module replaced by the functions: `relay.transform.Inline`."""

from __future__ import annotations

from collections.abc import Mapping

from ....module import Module
from ....operators.relay import FuncOp
from ...relay.expr import Call, Expr, Function, FunctionCall, GlobalVar
from ...relay.functor import ExprMutator, TypedMutator, bind, post_order
from ..ir.module import IRModule
from .call_graph import CallGraph


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


class _BodyInliner(ExprMutator):
    """Replaces calls of functions by their bodies; uses as values, and the callees of calls of functions of other
    compilers, by the functions. functions: by name."""

    def __init__(self, functions: Mapping[str, Function]):
        super().__init__()
        self.functions = functions

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if not isinstance(call.op, GlobalVar) or call.op.name_hint not in self.functions:
            return new
        callee = new.op  # pyright: ignore[reportAttributeAccessIssue]
        if "Compiler" in callee.attrs:
            return new
        return bind(callee.body, dict(zip(callee.params, new.args, strict=True)))  # pyright: ignore[reportAttributeAccessIssue]

    def visit_global_var(self, gvar: GlobalVar) -> Expr:
        func = self.functions.get(gvar.name_hint)
        return gvar if func is None else self.visit(func)


def inline_functions(mod: IRModule) -> IRModule:
    """A module without the functions that have the attribute `Inline`, whose uses are replaced. Functions without uses
    stay, as do those that call themselves."""
    graphs = {name: func for name, func in mod.items() if isinstance(func, Function)}
    used = {each.name_hint for func in graphs.values() for each in post_order(func) if isinstance(each, GlobalVar)}
    calls = CallGraph(mod)
    inlined = {
        name: func
        for name, func in graphs.items()
        if func.attrs.get("Inline") and name in used and not calls.is_recursive(name)
    }
    kept = {name: _BodyInliner(inlined).visit(func) for name, func in graphs.items() if name not in inlined}
    result = IRModule({name: func for name, func in mod.items() if name not in graphs})
    result.type_definitions |= mod.type_definitions
    result.add_graphs(kept)
    return result


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
