"""Functions in functions of `relax`, and calls of values that are functions.

A local function becomes a private function of the module, whose first parameters are the values of the outer function
that it uses; as a value it is a closure of these. A local function that states its result type may call itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import NoneAttr, SymbolRefAttr
from xdsl.ir import Attribute, SSAValue

from ....analysis.lanes import free_values
from ....core.diagnostics import Span
from ....core.identifiers import fresh_name
from ....core.xdsl_compat import set_name_hint
from ....operators.relax import CallableType, CallOp, CallPackedOp, CallPurePackedOp, FuncOp, FuncRefOp, ObjectType
from ....operators.relax.functions import reference_type, sizes_of_call
from ....operators.relax.types import names_in, substitute
from .. import syntax
from ..dispatch import RELAX, calls, evaluate, runs
from ..values import LocalFunction, RelaxValue, Value, Word
from .context import RelaxContext
from .functions import RelaxFunctionReader, check_decorator


@runs(syntax.FunctionDef, dialect=RELAX)
def _define(context: RelaxContext, node: syntax.FunctionDef) -> None:
    arguments = _decorator(context, node)
    module = context.module
    name = fresh_name(f"{context.node_name}_{node.name}", {*module.nodes, *module.finished})
    inner = RelaxContext(module, context.scope, node)
    reader = RelaxFunctionReader(inner, node, {**arguments, "private": True}, name)
    func = reader.read()
    captured = list(dict.fromkeys(free_values(func)))
    module.finished[name] = _with_parameters(func, captured)
    context.scope.names[node.name] = LocalFunction(name, tuple(captured))


def _decorator(context: RelaxContext, node: syntax.FunctionDef) -> dict[str, Value]:
    """The arguments of the decorator of a local function."""
    if len(node.decorators) != 1:
        raise node.name_span.error(f"the local function {node.name!r} needs the decorator @R.function")
    (decorator,) = node.decorators
    call = decorator if isinstance(decorator, syntax.Call) else None
    if evaluate(context, decorator if call is None else call.func) != Word("R", "function"):
        raise decorator.span.error("expected @R.function: functions in functions are functions of relax")
    keywords = () if call is None else call.keywords
    arguments = {str(keyword.name): evaluate(context, keyword.value) for keyword in keywords}
    check_decorator(arguments, decorator.span)
    return arguments


def _with_parameters(func: FuncOp, captured: Sequence[SSAValue]) -> FuncOp:
    """A function with further parameters before its own, in place of values of an outer function; its calls of itself
    pass them on."""
    old = [(name, value.type) for name, value in func.params]
    taken, params = {name for name, _ in old}, list[tuple[str, Attribute]]()
    for index, value in enumerate(captured):
        argument = func.body.block.insert_arg(value.type, index)
        name = fresh_name(value.name_hint or "captured", taken)
        set_name_hint(argument, name)
        params.append((name, value.type))
        value.replace_uses_with_if(argument, lambda use: func.is_ancestor(use.operation))
    for call in [op for op in func.walk() if isinstance(op, CallOp) and op.callee == SymbolRefAttr(func.sym_name)]:
        call.operands = [*func.body.block.args[: len(captured)], *call.args]
    result = FuncOp(
        func.sym_name.data,
        [*params, *old],
        func.result_type,
        private=True,
        impure=func.impure is not None,
        attrs={} if func.func_attrs is None else dict(func.func_attrs.data),
        body=func.detach_region(0),
    )
    result.location = func.location
    return result


# Calls


@calls(LocalFunction, dialect=RELAX)
def _call_local(
    context: RelaxContext, function: LocalFunction, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    callee = _function(context, function, span)
    if keywords:
        raise span.error(f"{function.name} takes its arguments by position")
    operands = [*function.captured, *(context.relax_value(arg, span) for arg in args)]
    expected = [value.type for _, value in callee.params]
    if len(operands) != len(expected):
        count = len(function.captured)
        raise span.error(f"{function.name} takes {len(expected) - count} arguments, got {len(operands) - count}")
    result = substitute(callee.result_type, sizes_of_call([operand.type for operand in operands], expected))
    return RelaxValue(context.insert(CallOp(function.name, operands, result), span).output)


def _function(context: RelaxContext, function: LocalFunction, span: Span) -> FuncOp:
    """The function of the module; in itself a function with its own parameters alone."""
    callee = context.module.finished.get(function.name) or context.module.declared.get(function.name)
    if callee is None:
        raise span.error(f"the result type of {function.name} must be written (-> R.Tensor(...)), as it calls itself")
    assert isinstance(callee, FuncOp)
    return callee


def closure_of(context: RelaxContext, function: LocalFunction, span: Span) -> SSAValue:
    """A local function as a value."""
    if function.name not in context.module.finished:
        raise span.error(f"{function.name} is a value in itself, expected a call of it")
    callee = _function(context, function, span)
    reference = context.insert(FuncRefOp(function.name, reference_type(callee)), span).output
    if not function.captured:
        return reference
    operands = [reference, *function.captured]
    return context.insert(CallPurePackedOp("vm.builtin.make_closure", operands, ObjectType()), span).output


@calls(RelaxValue, dialect=RELAX)
def _call_value(
    context: RelaxContext, function: RelaxValue, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A call of a value: of a parameter, or of the result of a call."""
    type = function.value.type
    if not isinstance(type, CallableType | ObjectType) or keywords:
        raise span.error(f"a value of type {type} cannot be called, expected a function with arguments by position")
    known = isinstance(type, CallableType) and not isinstance(type.result, NoneAttr) and not names_in(type.result)
    result = cast(CallableType, type).result if known else ObjectType()
    is_pure = not isinstance(type, CallableType) or isinstance(type.impure, NoneAttr)
    operands = [function.value, *(context.relax_value(arg, span) for arg in args)]
    op = CallPurePackedOp if is_pure else CallPackedOp
    return RelaxValue(context.insert(op("vm.builtin.invoke_closure", operands, result), span).output)
