"""Operators on values: computed by Python for Python values, else emitted into the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.ir import SSAValue

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, literal_dtype, promote
from ...dialects.tir import HandleType, Operand, constant_value
from . import pytime
from .context import ElaborationContext
from .values import Element, Quoted, Value, describe_value


def binary(context: ElaborationContext, op: str, lhs: Value, rhs: Value, span: Span) -> Value:
    """The result of `lhs op rhs`; computed by Python if both operands are Python values."""
    if context.is_python(lhs, span) and context.is_python(rhs, span):
        result = pytime.python_binary(op, lhs, rhs, span)
        context.module.budget.charge_items(result, span)
        return result
    if op in ("**", "@", "in", "not in", "is", "is not"):
        if op in ("is", "is not") and not (pytime.is_symbolic(lhs) or pytime.is_symbolic(rhs)):
            return (lhs is rhs) == (op == "is")
        hint = {"**": ", use T.pow", "is": ", use ==", "is not": ", use !="}.get(op, "")
        raise span.error(f"operator {op!r} is not supported on expressions{hint}")
    left, right = _operand(context, lhs, op, span), _operand(context, rhs, op, span)
    try:
        if op == "/":
            return _divide(context, left, right, span)
        return context.locate(span).binary(pytime.OPERATORS[op], left, right)
    except ValueError as error:
        raise span.error(str(error)) from None


def _operand(context: ElaborationContext, value: Value, op: str, span: Span) -> Operand:
    if not isinstance(value, bool | int | float) and not pytime.is_symbolic(value):
        raise span.error(f"operator {op!r} cannot take {describe_value(value)}")
    operand = context.operand(value, span)
    if isinstance(operand, SSAValue) and isinstance(operand.type, HandleType):
        raise span.error(f"operator {op!r} cannot take a pointer")
    return operand


def _divide(context: ElaborationContext, lhs: Operand, rhs: Operand, span: Span) -> SSAValue:
    dtypes = [dtype_of(x.type) for x in (lhs, rhs) if isinstance(x, SSAValue)]
    if not any(dtype.is_float for dtype in dtypes) and not isinstance(lhs, float) and not isinstance(rhs, float):
        raise span.error("'/' on integers: use // (rounds down) or T.truncdiv (rounds towards zero)")
    return context.locate(span).binary("div", lhs, rhs)


def unary(context: ElaborationContext, op: str, value: Value, span: Span) -> Value:
    if context.is_python(value, span):
        return pytime.python_unary(op, value, span)
    operand = _operand(context, value, op, span)
    builder = context.locate(span)
    match op:
        case "+":
            return operand
        case "-":
            return builder.negate(operand)
        case "~":
            if dtype_of(builder.value(operand).type).is_float:
                raise span.error("operator '~' needs an integer")
            return builder.bitwise_not(operand)
        case _:
            return builder.logical_not(context.condition(operand, span))


def operate(context: ElaborationContext, op: str, lhs: Value, rhs: Value, span: Span) -> Value:
    """The result of `lhs op rhs` for operands that are not literals. As in TVM, a neutral element is folded: `A[i + k]`
    with k = 0 is `A[i]`. Literals are kept, since printed programs contain them.
    """
    if _is_neutral(op, lhs, rhs):
        return lhs
    if op in "+*" and _is_neutral(op, rhs, lhs):
        return rhs
    return binary(context, op, lhs, rhs, span)


_NEUTRAL = {"+": 0, "-": 0, "*": 1, "//": 1}


def _is_neutral(op: str, value: Value, number: Value) -> bool:
    """Whether `value op number` equals `value`, up to the sign of zero."""
    if isinstance(number, bool) or not isinstance(number, int | float) or _NEUTRAL.get(op) != number:
        return False
    dtype = _dtype_of_value(value)
    return dtype is not None and (dtype.is_float or (dtype.is_int and isinstance(number, int)))


def _dtype_of_value(value: Value) -> DType | None:
    """The data type of a numeric expression, if known without emitting ops; else None."""
    match value:
        case Element():
            return value.buffer.dtype
        case Quoted():
            return _dtype_of_value(value.value)
        case SSAValue() if not isinstance(value.type, HandleType):
            return dtype_of(value.type)
        case _:
            return None


def logical(context: ElaborationContext, op: str, lhs: Value, rhs: Callable[[], Value], span: Span) -> Value:
    """The result of `and` or `or`; the right operand is evaluated only if the left one does not decide."""
    if context.is_python(lhs, span):
        if bool(lhs) == (op == "or"):
            return lhs
        value = rhs()
        return value if context.is_python(value, span) else context.condition(value, span)
    left = context.condition(lhs, span)
    if dtype_of(left.type).lanes != 1:
        return context.locate(span).binary(op, left, context.condition(rhs(), span))
    return context.locate(span).logical(op, left, lambda: context.condition(rhs(), span))


# ---- operands


def common_dtype(lhs: Operand, rhs: Operand, span: Span) -> DType | None:
    """The common data type of two operands; None for two pointers of the same type."""
    pointers = [isinstance(x, SSAValue) and isinstance(x.type, HandleType) for x in (lhs, rhs)]
    if any(pointers):
        if not all(pointers) or cast(SSAValue, lhs).type != cast(SSAValue, rhs).type:
            raise span.error("cannot combine a pointer and another value")
        return None
    left = dtype_of(lhs.type) if isinstance(lhs, SSAValue) else None
    right = dtype_of(rhs.type) if isinstance(rhs, SSAValue) else None
    try:
        a = left or literal_dtype(cast("int | float", lhs), right)
        return promote(a, right or literal_dtype(cast("int | float", rhs), left or a))
    except ValueError as error:
        raise span.error(str(error)) from None


def cast_to(context: ElaborationContext, value: Value, dtype: Value, span: Span) -> SSAValue:
    """The value of `T.Cast(dtype, value)`."""
    operand = _operand(context, value, "cast", span)
    try:
        return context.locate(span).cast(operand, context.dtype(dtype, span))
    except ValueError as error:
        raise span.error(str(error)) from None


def index_of(context: ElaborationContext, value: Value, span: Span) -> Operand:
    operand = context.operand(value, span)
    if isinstance(operand, SSAValue):
        if isinstance(operand.type, HandleType):
            raise span.error("expected an integer index, got a pointer")
        if dtype_of(operand.type).is_float:
            raise span.error(f"expected an integer index, got {dtype_of(operand.type)}")
        if dtype_of(operand.type).is_bool:
            return context.locate(span).cast(operand, DType("int", 32, dtype_of(operand.type).lanes))
        return operand
    if isinstance(operand, float):
        raise span.error(f"expected an integer index, got {operand}")
    return int(operand)


def is_zero(operand: Operand) -> bool:
    """Whether an operand is the constant 0."""
    return (constant_value(operand) if isinstance(operand, SSAValue) else operand) == 0


def int_if_constant(context: ElaborationContext, operand: Operand, span: Span) -> Operand:
    """A constant 32-bit integer as a Python integer; a constant of another type keeps its type."""
    if isinstance(operand, SSAValue) and dtype_of(operand.type) == DType("int", 32):
        return context.int_or_value(operand, span)
    return operand
