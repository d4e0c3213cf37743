"""Analyses of the calls and the parameters of functions of programs, for `tvm.relax.analysis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ....core.errors import ArgumentError
from ....module import Module
from ....operators.relax import CallPackedOp, DataflowOp, FuncOp, IfOp, MatchCastOp
from ....operators.relax.types import names_bound_by, names_in
from ...relay.expr import GlobalVar, SymbolVar
from .expr import Var
from .function import Function


def _references(op: Operation) -> Iterator[str]:
    """The names of the functions that an operation calls, or has as a value."""
    for each in op.walk():
        callee = each.properties.get("callee")
        if isinstance(callee, SymbolRefAttr):
            yield callee.string_value()


def detect_recursion(mod: Module) -> list[list[GlobalVar]]:
    """The groups of functions of relax that refer to themselves, directly or through the others of their group, by name
    in each group."""
    functions = {name: func for name, func in mod.function_ops.items() if isinstance(func, FuncOp)}
    direct = {name: {each for each in _references(func) if each in functions} for name, func in functions.items()}
    reached = {name: _reachable(name, direct) for name in functions}
    groups: dict[str, list[str]] = {}
    for name in sorted(functions):
        if name in reached[name]:
            first = next((each for each in groups if each in reached[name] and name in reached[each]), name)
            groups.setdefault(first, []).append(name)
    return [[SymbolVar(name) for name in group] for group in groups.values()]


def _reachable(name: str, direct: Mapping[str, set[str]]) -> set[str]:
    """The functions to which a function refers, directly or through others."""
    found: set[str] = set()
    left = [name]
    while left:
        new = direct[left.pop()] - found
        found |= new
        left += new
    return found


def contains_impure_call(expr: Function, own_name: Var | GlobalVar | None = None) -> bool:
    """Whether a function calls a packed function that may have side effects, or an impure function of its module.

    own_name: the name of the function in itself, whose calls are not counted. ArgumentError for another object.
    """
    if not isinstance(expr, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"contains_impure_call of {type(expr).__name__}, expected a function of relax")
    own = None if own_name is None else own_name.name_hint
    called = [each for each in _references(expr.func) if each != own]
    callees = [expr.callees[each].function_ops[each] for each in called if each in expr.callees]
    is_impure = any(isinstance(each, FuncOp) and each.impure is not None for each in callees)
    return is_impure or any(isinstance(op, CallPackedOp) for op in expr.func.walk())


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend on the parameters after the first `num_input` alone, in the order of the function; none
    without this attribute. Sizes are known if the type of such a value has them."""
    count = func.attrs.get("num_input")
    if count is None:
        return []
    block = func.func.body.block
    known = _Known(block.args[int(count) :])
    known.visit(list(block.ops))
    names = [name for value in known.values if (name := value.name_hint) is not None]
    params = func.params[int(count) :]
    bound = {binding.var.name_hint: binding.var for each in func.body.blocks for binding in each.bindings}
    return [*params, *(bound[name] for name in names if name in bound)]


class _Known:
    """The values and the names of sizes that are known at compile time. values: the results of operations."""

    def __init__(self, params: Sequence[SSAValue]):
        self.values: list[SSAValue] = []
        self._all = set(params)
        self._sizes = {name for value in params for name in names_bound_by(value.type)}

    def visit(self, ops: Sequence[Operation]) -> None:
        """Adds the results of operations on known values."""
        for op in ops:
            if isinstance(op, DataflowOp):
                inside = list(op.body.block.ops)
                self.visit(inside)
                outputs = zip(op.outputs, inside[-1].operands, strict=True)
                self._all |= {output for output, value in outputs if value in self._all}
            elif self._is_known(op):
                self._all |= set(op.results)
                self.values += op.results
                if isinstance(op, MatchCastOp):
                    self._sizes |= set(names_bound_by(op.output.type))

    def _is_known(self, op: Operation) -> bool:
        if isinstance(op, CallPackedOp | IfOp) or not self._all.issuperset(op.operands):
            return False
        named = {name for result in op.results for name in names_in(result.type)}
        return isinstance(op, MatchCastOp) or named <= self._sizes


__all__ = ["computable_at_compile_time", "contains_impure_call", "detect_recursion"]
