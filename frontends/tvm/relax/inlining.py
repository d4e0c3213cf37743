"""Calls of functions of a module replaced by the operations of the functions: `InlinePrivateFunctions`."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint, Rewriter

from ....core.errors import ArgumentError
from ....core.identifiers import fresh_name
from ....core.walking import find_ops
from ....operators.relax import CallOp, DataflowOp, FuncOp, FuncRefOp, IfOp, MatchCastOp, OutputOp, ReturnOp, YieldOp
from ....operators.relax.functions import sizes_of_call
from ....operators.relax.types import names_in
from ....operators.relay import Size
from ....transforms.relax.functions import insert_before, relax_functions
from ....transforms.relax.inline_dataflow import inline_region
from ....transforms.relay.graphs import erase, replace
from .sizes import bind_sizes


def inline_private_functions(module: ModuleOp) -> None:
    """Replaces the calls of private functions that are not recursive by their operations, in place, and removes the
    functions that nothing uses then."""
    functions = {func.sym_name.data: func for func in relax_functions(module)}
    inlined = {
        name: func for name, func in functions.items() if func.private is not None and not _reaches(functions, name)
    }
    for func in functions.values():
        inline_calls(func, inlined)
    used = {op.callee.string_value() for kind in (CallOp, FuncRefOp) for op in find_ops(module, kind)}
    for name, func in inlined.items():
        if name not in used:
            erase(func)


def callees_of(func: FuncOp) -> list[str]:
    """The names of the functions that a function uses."""
    return [op.callee.string_value() for kind in (CallOp, FuncRefOp) for op in find_ops(func, kind)]


def _reaches(functions: dict[str, FuncOp], name: str) -> bool:
    """Whether a function calls itself, by others or not."""
    pending, seen = callees_of(functions[name]), set[str]()
    while pending:
        callee = pending.pop()
        if callee == name:
            return True
        if callee not in seen and callee in functions:
            seen.add(callee)
            pending += callees_of(functions[callee])
    return False


def inline_calls(func: FuncOp, callees: dict[str, FuncOp]) -> None:
    """Replaces the calls of functions by their operations until none is left, in place. ArgumentError for a function
    that calls itself."""
    for name in callees:
        if _reaches(callees, name):
            raise ArgumentError(f"function {name} calls itself, expected one that can be inlined")
    while calls := [op for op in find_ops(func, CallOp) if op.callee.string_value() in callees]:
        for call in calls:
            _inline(call, callees[call.callee.string_value()], func)


def _inline(call: CallOp, callee: FuncOp, func: FuncOp) -> None:
    copy = callee.clone()
    bind_sizes(copy, _sizes(call, copy, func))
    block = copy.body.block
    is_inside = isinstance(call.parent_op(), DataflowOp)
    if is_inside:
        for region in list(find_ops(copy, DataflowOp)):
            inline_region(region)
        if any(isinstance(op, IfOp) for op in copy.walk()):
            raise ArgumentError(f"function {callee.sym_name.data}: a branch, expected none in a dataflow region")
    last = block.last_op
    assert isinstance(last, ReturnOp)
    value = last.value
    index = next((n for n, arg in enumerate(block.args) if arg is value), None)
    erase(last)
    args = list(call.args)
    detached = copy.body.detach_block(0)
    Rewriter.inline_block(detached, InsertPoint.before(call), args)
    result = value if index is None else args[index]
    if result.type != call.output.type and any(isinstance(u.operation, OutputOp | YieldOp) for u in call.output.uses):
        cast = MatchCastOp(result, call.output.type)  # the region states the type
        insert_before(call, cast)
        result = cast.output
    replace(call, [result])


def _sizes(call: CallOp, callee: FuncOp, func: FuncOp) -> dict[str, Size]:
    """The sizes of the caller for the names of the callee: those of the arguments, and new names for names that the
    callee determines itself."""
    sizes = sizes_of_call([arg.type for arg in call.args], list(callee.body.block.arg_types))
    taken = set(_names(func.body.block))
    for name in dict.fromkeys(_names(callee.body.block)):
        if name not in sizes:
            sizes[name] = fresh_name(name, taken)
    return sizes


def _names(block: Block) -> Iterable[str]:
    for arg in block.args:
        yield from names_in(arg.type)
    for op in block.walk():
        for result in op.results:
            yield from names_in(result.type)
