"""The pass that inlines private functions: `tvm.tir.transform.InlinePrivateFunctions`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....core.walking import find_ops
from ....dialects.tir import BlockOp, CallOp, FuncOp, LetOp, ReturnOp, TirBuilder
from ....dialects.tir.tree import erase_statement, treeify
from ....schedule.rewriting.nest import function_of


class InlineFunctionsPass(ModulePass):
    """Replaces calls of private functions by their statements, in which lets bind the parameters to the operands.

    A private function without other calls is removed. Functions that call themselves, return values or have blocks, and
    those of another target than the caller's, stay.
    """

    name = "tvm-inline-private-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {func.sym_name.data: func for func in find_ops(op, FuncOp)}
        while call := next((each for each in find_ops(op, CallOp) if _is_inlined(each, functions)), None):
            _inline(call, functions[call.callee.string_value()])
        called = {call.callee.string_value() for call in find_ops(op, CallOp)}
        for name, func in functions.items():
            if name not in called and _is_inlinable(func, functions):
                func.detach()
                func.erase()


def _is_inlined(call: CallOp, functions: dict[str, FuncOp]) -> bool:
    callee = functions.get(call.callee.string_value())
    if callee is None or call.result is not None or not _is_inlinable(callee, functions):
        return False
    return function_of(call).attr("target") == callee.attr("target")


def _is_inlinable(func: FuncOp, functions: dict[str, FuncOp]) -> bool:
    if func.private is None or func.sym_name.data in _reached(func, functions):
        return False
    return not any(isinstance(op, BlockOp | ReturnOp) for op in func.walk())


def _reached(func: FuncOp, functions: dict[str, FuncOp]) -> set[str]:
    """The names of the functions that a function calls, directly or by others."""
    found: set[str] = set()
    todo = [func]
    while todo:
        for call in find_ops(todo.pop(), CallOp):
            name = call.callee.string_value()
            if name not in found and name in functions:
                found.add(name)
                todo.append(functions[name])
    return found


def _inline(call: CallOp, callee: FuncOp) -> None:
    builder = TirBuilder(InsertPoint.before(call), call.location)
    values: dict[SSAValue, SSAValue] = {}
    for (name, parameter), operand in zip(callee.params, call.args, strict=True):
        values[parameter] = builder.insert(LetOp(name, operand)).result
    for op in callee.body.block.ops:
        builder.insert(op.clone(value_mapper=values))
    caller = function_of(call)
    erase_statement(call)
    treeify(caller)
