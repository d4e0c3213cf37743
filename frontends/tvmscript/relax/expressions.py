"""Expressions of functions of `relax`, where they differ from those of `tir`: sizes, fields of tuples, calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TupleType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....core.diagnostics import Span
from ....core.dtypes import mlir_type, parse_dtype
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, binary_expr
from ....operators.relax import CallOp, MatchCastOp, PartialTensorType, PrimValueOp, ShapeType
from ....operators.relax.functions import sizes_of_call
from ....operators.relax.types import accepts, known_shape, may_match, prim, substitute
from .. import syntax
from ..dispatch import RELAX, calls, evaluate, evaluate_as_python, evaluates
from ..values import (
    FunctionRef,
    Metadata,
    Method,
    RelaxValue,
    Value,
    Variable,
    VirtualDevice,
    Word,
    describe_value,
    python_number,
)
from ..vocabulary import RELAX_WORDS, WORDS, call_reader, is_dtype, path_of, unknown_word
from .context import RelaxContext
from .memory import call_kernel
from .operators import call_operator

_SIZES = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "floormod"}
_TENSORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "floor_mod",
    "**": "power",
    "@": "matmul",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
_FUNCTIONS = {"max": "max", "min": "min", "floordiv": "floordiv", "floormod": "floormod"}
"""The words of `T` for sizes, and their operators."""


@evaluates(syntax.Binary, dialect=RELAX)
def _binary(context: RelaxContext, node: syntax.Binary) -> Value:
    lhs, rhs = python_number(evaluate(context, node.lhs)), python_number(evaluate(context, node.rhs))
    if isinstance(lhs, RelaxValue) or isinstance(rhs, RelaxValue):
        return call_operator(context, _word_of(node.op, node.op_span), node.op_span, [lhs, rhs], {})
    if isinstance(lhs, PrimExpr) or isinstance(rhs, PrimExpr):
        if node.op not in _SIZES:
            raise node.op_span.error(f"operator {node.op!r} is not supported on sizes")
        return _operate(_SIZES[node.op], lhs, rhs, node.op_span)
    left, right = syntax.EvaluatedExpr(node.lhs.span, lhs), syntax.EvaluatedExpr(node.rhs.span, rhs)
    return evaluate_as_python(context, syntax.Binary(node.span, node.op, left, right, node.op_span))


def _word_of(op: str, span: Span) -> str:
    if op not in _TENSORS:
        raise span.error(f"operator {op!r} is not supported on values of relax")
    return _TENSORS[op]


def _operate(operator: str, lhs: Value, rhs: Value, span: Span) -> Value:
    for value in (lhs, rhs):
        if not isinstance(value, int | PrimExpr) or isinstance(value, bool):
            raise span.error(f"expected a size, got {describe_value(value)}")
    try:
        return binary_expr(operator, lhs, rhs)
    except TeError as error:
        raise span.error(error.what) from None


@evaluates(syntax.Unary, dialect=RELAX)
def _unary(context: RelaxContext, node: syntax.Unary) -> Value:
    value = python_number(evaluate(context, node.operand))
    if isinstance(value, RelaxValue):
        if node.op not in ("-", "~"):
            raise node.span.error(f"operator {node.op!r} is not supported on values of relax")
        return call_operator(context, "negative" if node.op == "-" else "bitwise_not", node.span, [value], {})
    if isinstance(value, PrimExpr):
        if node.op != "-":
            raise node.span.error(f"operator {node.op!r} is not supported on sizes")
        return _operate("sub", 0, value, node.span)
    return evaluate_as_python(context, syntax.Unary(node.span, node.op, syntax.EvaluatedExpr(node.operand.span, value)))


@evaluates(syntax.Compare, dialect=RELAX)
def _compare(context: RelaxContext, node: syntax.Compare) -> Value:
    values = [evaluate(context, part) for part in (node.first, *node.rest)]
    if len(values) == 2 and any(isinstance(value, RelaxValue) for value in values):
        return call_operator(context, _word_of(node.ops[0], node.span), node.span, values, {})
    spans = [part.span for part in (node.first, *node.rest)]
    first, *rest = (syntax.EvaluatedExpr(*pair) for pair in zip(spans, values, strict=True))
    return evaluate_as_python(context, syntax.Compare(node.span, first, node.ops, tuple(rest)))


@evaluates(syntax.Attribute, dialect=RELAX)
def _attribute(context: RelaxContext, node: syntax.Attribute) -> Value:
    value = evaluate(context, node.value)
    if isinstance(value, RelaxValue) and node.attr == "astype":
        return Method(partial(_astype, context, node.attr_span, value))
    if isinstance(value, RelaxValue | PrimExpr | Metadata):
        raise node.attr_span.error(f"{describe_value(value)} has no attribute {node.attr!r}")
    held = syntax.EvaluatedExpr(node.value.span, value)
    return evaluate_as_python(context, syntax.Attribute(node.span, held, node.attr, node.attr_span))


def _astype(context: RelaxContext, span: Span, value: RelaxValue, dtype: Value) -> Value:
    """A tensor in another data type: `x.astype("float32")`."""
    return call_operator(context, "astype", span, [value, dtype], {})


@evaluates(syntax.Subscript, dialect=RELAX)
def _subscript(context: RelaxContext, node: syntax.Subscript) -> Value:
    value = evaluate(context, node.value)
    match value:
        case RelaxValue():
            return _field(context, value, node)
        case Metadata() if len(value.path) < 2:
            return Metadata((*value.path, _key(evaluate(context, node.index), node.index.span)))
        case Word():
            raise node.span.error(f"{value} takes its arguments in parentheses")
        case _:
            held = syntax.EvaluatedExpr(node.value.span, value)
            return evaluate_as_python(context, syntax.Subscript(node.span, held, node.index))


def _key(value: Value, span: Span) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise span.error(f"expected the name or the number of a constant, got {describe_value(value)}")
    return str(value)


def _field(context: RelaxContext, value: RelaxValue, node: syntax.Subscript) -> Value:
    index = python_number(evaluate(context, node.index))
    type = value.value.type
    if isinstance(index, bool) or not isinstance(index, int):
        raise node.index.span.error(f"expected the index of a field, got {describe_value(index)}")
    if isinstance(type, TupleType):
        return RelaxValue(context.field(value.value, index, node.span))
    sizes = known_shape(type) if isinstance(type, ShapeType) else None
    if sizes is None:
        raise node.span.error("only tuples and shapes of known sizes have items")
    if not -len(sizes) <= index < len(sizes):
        raise node.span.error(f"size {index} of a shape of {len(sizes)}")
    return RelaxValue(context.insert(PrimValueOp(prim(sizes[index])), node.span).output)


# ---- calls


@calls(Word, dialect=RELAX)
def _call_word(context: RelaxContext, word: Word, span: Span, args: list[Value], keywords: dict[str, Value]) -> Value:
    path = path_of(word)
    if word.namespace == "tvm" and path.startswith("relax."):  # `tvm.relax.op.add`, in full
        path = path.removeprefix("relax.").removeprefix("op.")
        word = Word("R", path)
    if word.namespace in ("R", "tvm") and path in ("cpu", "cuda") and len(args) < 2 and not keywords:
        return _device(path, [python_number(arg) for arg in args], span)
    if word.namespace == "R":
        if path not in RELAX_WORDS:
            raise unknown_word(word, span)
        return call_reader(RELAX_WORDS[path], str(word), context, span, args, keywords)
    if word.namespace in ("T", "tvm") and is_dtype(path) and not keywords:
        return _number(context, path, args, span)
    if word.namespace in ("T", "tvm") and path in _FUNCTIONS and len(args) == 2 and not keywords:
        return _operate(_FUNCTIONS[path], python_number(args[0]), python_number(args[1]), span)
    if word.namespace == "T" and path == "index_map":
        return call_reader(WORDS[path], str(word), context, span, args, keywords)
    raise span.error(f"{word} has no place in a function of relax")


def _device(kind: str, args: Sequence[Value], span: Span) -> VirtualDevice:
    """The device `tvm.cuda(0)`, by default the first one of the kind."""
    (index,) = args or [0]
    if not isinstance(index, int):
        raise span.error(f"expected the number of a device, got {describe_value(index)}")
    return VirtualDevice({"cpu": "llvm"}.get(kind, kind), index)


def _number(context: RelaxContext, dtype: str, args: Sequence[Value], span: Span) -> Value:
    """`T.int64()`, a size; `T.int64(4)`, a number."""
    if dtype == "handle" or len(args) > 1:
        raise span.error(f"T.{dtype} has no place in a function of relax")
    kind = parse_dtype(dtype)
    type = mlir_type(kind)
    if not args:
        return Variable(type, span)
    value = python_number(args[0])
    if isinstance(value, PrimExpr) and kind.is_int:
        return value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise span.error(f"T.{dtype}: expected a number, got {value!r}") from None
    if not isinstance(value, int | float):
        raise span.error(f"T.{dtype}: expected a number, got {describe_value(value)}")
    try:
        return FloatAttr(float(value), type) if kind.is_float else IntegerAttr(int(value), type)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (VerifyException, ValueError, OverflowError) as error:
        raise span.error(f"T.{dtype}: {error}") from None


@calls(FunctionRef, dialect=RELAX)
def _call_function(
    context: RelaxContext, function: FunctionRef, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A call of a function of the module: `cls.block(x, w)`."""
    if keywords:
        raise span.error(f"{function.name} takes its arguments by position")
    operands = [context.relax_value(arg, span) for arg in args]
    if context.is_kernel(function):
        return call_kernel(context, function, operands, span)
    callee = context.callee(function, span)
    expected = [value.type for _, value in callee.params]
    if len(operands) != len(expected):
        raise span.error(f"{function.name} takes {len(expected)} arguments, got {len(operands)}")
    sizes = sizes_of_call([operand.type for operand in operands], expected)
    types = [substitute(type, sizes) for type in expected]
    operands = [_argument_as(context, each, type, span) for each, type in zip(operands, types, strict=True)]
    result = substitute(callee.result_type, sizes)
    return RelaxValue(context.insert(CallOp(function.name, operands, result), span).output)


def _argument_as(context: RelaxContext, value: SSAValue, type: Attribute, span: Span) -> SSAValue:
    """An argument of a function; of a type of which the parameter states more, by a cast."""
    is_partial = isinstance(value.type, PartialTensorType) and not accepts(type, value.type)
    return (
        context.insert(MatchCastOp(value, type), span).output if is_partial and may_match(type, value.type) else value
    )
