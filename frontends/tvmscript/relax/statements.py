"""Statements of functions of `relax`: bindings, dataflow regions, branches, returns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....core.diagnostics import Span
from ....core.xdsl_compat import set_name_hint
from ....expressions.expr import PrimExpr
from ....operators.relax import (
    CallPurePackedOp,
    DataflowOp,
    IfOp,
    MatchCastOp,
    ObjectType,
    OutputOp,
    PartialTensorType,
    ReturnOp,
    YieldOp,
)
from ....operators.relax.types import accepts, known_dtype, may_match, prim, tensor
from ....operators.relax.words import join
from ....operators.relay import ConstantOp
from .. import syntax
from ..dispatch import RELAX, evaluate, run_statements, runs
from ..expressions import split_items
from ..values import (
    DataflowFrame,
    ExternFunction,
    FunctionNamespace,
    FunctionRef,
    LocalFunction,
    Metadata,
    RelaxType,
    RelaxValue,
    Value,
    Variable,
    Word,
    describe_value,
    python_number,
)
from .context import RelaxContext

# ---- bindings


@runs(syntax.Assign, dialect=RELAX)
def _assign(context: RelaxContext, node: syntax.Assign) -> None:
    if len(node.targets) != 1:
        raise node.span.error("a binding has one target")
    _bind(context, node.targets[0], evaluate(context, node.value))


@runs(syntax.AnnAssign, dialect=RELAX)
def _annotated(context: RelaxContext, node: syntax.AnnAssign) -> None:
    if node.value is None:
        raise node.span.error("expected a value")
    annotation = evaluate(context, node.annotation)
    type = context.relax_type(annotation, node.annotation.span)
    value = evaluate(context, node.value)
    if isinstance(value, Metadata):
        value = _constant(context, value, type, node)
    else:
        actual = context.relax_value(value, node.value.span)
        if isinstance(actual.type, ObjectType) and not isinstance(type, ObjectType):
            actual = context.insert(MatchCastOp(actual, type), node.span).output
        if not accepts(type, actual.type):
            raise node.annotation.span.error(f"a value of type {actual.type}, expected {type}")
        context.state_device(actual, annotation, node.annotation.span)
        value = RelaxValue(actual)
    _bind(context, node.target, value)


_TABLES = ("relax.expr.Constant", "ir.GenericConst")
"""The names of the table of constants: until v0.26, and since."""


def _constant(context: RelaxContext, value: Metadata, type: Attribute, node: syntax.AnnAssign) -> Value:
    """A constant array beside the module, whose type is the annotation of the binding."""
    if len(value.path) != 2 or value.path[0] not in _TABLES or not isinstance(type, TensorType):
        raise node.span.error('expected a tensor constant, w: R.Tensor(...) = metadata["relax.expr.Constant"]["w"]')
    return RelaxValue(context.insert(ConstantOp(value.path[1], type), node.span).result)


def _bind(context: RelaxContext, target: syntax.Expr, value: Value) -> None:
    match target:
        case syntax.Name():
            _bind_name(context, target.id, value, target.span)
        case syntax.Tuple() | syntax.List():
            if isinstance(value, RelaxValue):
                value = tuple(RelaxValue(field) for field in context.fields(value, target.span))
            for part, item in split_items(context, target, value):
                _bind(context, part, item)
        case _:
            raise target.span.error("expected a name to bind")


def _bind_name(context: RelaxContext, name: str, value: Value, span: Span) -> None:
    names = context.scope.names
    match value:
        case Variable():
            names[name] = context.size_variable(name)
        case RelaxValue():
            names[name] = value
            _name(value.value, name)
        case tuple() | list() if _holds_values(value):
            _bind_name(context, name, RelaxValue(context.relax_value(value, span)), span)
        case Metadata():
            raise span.error(f"expected the type of the constant, {name}: R.Tensor(...) = ...")
        case RelaxType() | FunctionRef() | LocalFunction() | FunctionNamespace() | Word() | PrimExpr() | np.ndarray():
            names[name] = value
        case ExternFunction():
            names[name] = value
        case _ if context.is_python(value, span):
            names[name] = value
        case Attribute():
            names[name] = python_number(value)
        case _:
            raise span.error(f"expected a value of relax, got {describe_value(value)}")


def _holds_values(value: Any) -> bool:
    """Whether a tuple of Python contains values of the program."""
    items = cast("tuple[Value, ...]", value)
    return any(
        isinstance(item, RelaxValue) or (isinstance(item, tuple | list) and _holds_values(item)) for item in items
    )


def _name(value: SSAValue, name: str) -> None:
    """Names a value that has no name yet."""
    if value.name_hint is None:
        set_name_hint(value, name)


@runs(syntax.ExprStmt, dialect=RELAX)
def _expression(context: RelaxContext, node: syntax.ExprStmt) -> None:
    match node.value:
        case syntax.Call(func=syntax.Attribute(attr="output") as word) if evaluate(context, word) == Word(
            "R", "output"
        ):
            _output(context, node.value)
        case syntax.Constant(value=str()):
            pass
        case _:
            evaluate(context, node.value)


@runs(syntax.Pass, dialect=RELAX)
def _pass(context: RelaxContext, node: syntax.Pass) -> None:
    pass


# ---- dataflow regions


@runs(syntax.With, dialect=RELAX)
def _with(context: RelaxContext, node: syntax.With) -> None:
    frames = [evaluate(context, item.context) for item in node.items]
    if len(frames) != 1 or not isinstance(frames[0], DataflowFrame) or node.items[0].target is not None:
        raise node.span.error("expected with R.dataflow():")
    if context.outputs is not None:
        raise node.span.error("a dataflow region in a dataflow region")
    block = Block()
    context.outputs = []
    with context.emit_at_end(block):
        run_statements(context, node.body)
        names = list(dict.fromkeys(context.outputs))
        values = [_output_value(context, name, node.span) for name in names]
        context.insert(OutputOp(values), node.span)
    context.outputs = None
    op = context.insert(DataflowOp([value.type for value in values], Region(block)), node.span)
    for name, result in zip(names, op.outputs, strict=True):
        set_name_hint(result, name)
        context.scope.names[name] = RelaxValue(result)


def _output(context: RelaxContext, node: syntax.Call) -> None:
    if context.outputs is None:
        raise node.span.error("R.output has its place in a dataflow region")
    if node.keywords:
        raise node.span.error("R.output takes names")
    for arg in node.args:
        if not isinstance(arg, syntax.Name):
            raise arg.span.error("R.output takes names")
        _output_value(context, arg.id, arg.span)
        context.outputs.append(arg.id)


def _output_value(context: RelaxContext, name: str, span: Span) -> SSAValue:
    return context.relax_value(context.lookup(name, span), span)


# ---- branches


@runs(syntax.If, dialect=RELAX)
def _if(context: RelaxContext, node: syntax.If) -> None:
    condition = _condition(context, context.relax_value(evaluate(context, node.test), node.test.span), node.test.span)
    if not node.orelse:
        raise node.span.error("a branch of relax has an else, which binds the same name")
    branches = [_branch(context, body, node.span) for body in (node.body, node.orelse)]
    (then, name, value), (orelse, other, second) = branches
    if name != other:
        raise node.span.error(f"branches bind {name!r} and {other!r} last, expected the same name")
    type = join(value.type, second.type)
    for block in (then, orelse):
        _yield_as(block, type)
    op = context.insert(IfOp(condition, type, Region(then), Region(orelse)), node.span)
    set_name_hint(op.output, name)
    context.scope.names[name] = RelaxValue(op.output)


def _yield_as(block: Block, type: Attribute) -> None:
    """Casts the value of a branch to the type on which both branches agree."""
    last = block.last_op
    assert isinstance(last, YieldOp)
    if last.value.type != type:
        cast = MatchCastOp(last.value, type)
        cast.location = last.location
        block.insert_op_before(cast, last)
        last.operands = [cast.output]


def _condition(context: RelaxContext, value: SSAValue, span: Span) -> SSAValue:
    """A condition, by a cast to one truth value if a part of its type is known. A tensor of another data type is true
    if its only element is not 0."""
    flag = tensor([], "bool")
    single = [tensor(sizes, known_dtype(value.type)) for sizes in ([], [1])]
    if not may_match(flag, value.type) and any(may_match(type, value.type) for type in single):
        call = CallPurePackedOp("vm.builtin.read_if_cond", [value], prim(None, "bool"))
        return context.insert(call, span).output
    is_partial = isinstance(value.type, PartialTensorType | ObjectType) and may_match(flag, value.type)
    return context.insert(MatchCastOp(value, flag), span).output if is_partial else value


def _branch(context: RelaxContext, body: syntax.Body, span: Span) -> tuple[Block, str, SSAValue]:
    """The block of a branch, the name that its last statement binds, and its value."""
    block = Block()
    with context.emit_at_end(block):
        run_statements(context, body)
        match body[-1]:
            case syntax.Assign(targets=(syntax.Name(id=name),)) | syntax.AnnAssign(target=syntax.Name(id=name)):
                pass
            case syntax.If():
                name = _name_of_branch(body[-1])
            case _:
                raise body[-1].span.error("the last statement of a branch binds its value to a name")
        value = context.relax_value(context.lookup(name, span), body[-1].span)
        context.insert(YieldOp(value), body[-1].span)
    return block, name, value


def _name_of_branch(node: syntax.Stmt) -> str:
    """The name that a nested branch binds."""
    while isinstance(node, syntax.If):
        node = node.body[-1]
    match node:
        case syntax.Assign(targets=(syntax.Name(id=name),)) | syntax.AnnAssign(target=syntax.Name(id=name)):
            return name
        case _:
            raise node.span.error("the last statement of a branch binds its value to a name")


# ---- returns


@runs(syntax.Return, dialect=RELAX)
def _return(context: RelaxContext, node: syntax.Return) -> None:
    if context.graph.point.block is not context.block or context.outputs is not None:
        raise node.span.error("a return has its place at the end of a function")
    if node.value is None:
        raise node.span.error("expected a value to return")
    context.insert(ReturnOp(context.relax_value(evaluate(context, node.value), node.value.span)), node.span)
