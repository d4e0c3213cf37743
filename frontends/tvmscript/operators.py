"""Words of the vocabulary that compute values: types, operators, math, vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...core import dtypes
from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype
from ...dialects.tir import (
    FLOAT_UNARY,
    INT_UNARY,
    INTRINSICS,
    CommReducerOp,
    HandleType,
    Operand,
    ShuffleOp,
    TargetAttr,
    YieldOp,
)
from . import pytime, syntax
from .arithmetic import binary, cast_to, common_dtype, logical
from .context import ElaborationContext
from .dispatch import apply, evaluate
from .expressions import check_dtype, conditional_expression
from .quoting import quote
from .statements import let_frame
from .values import IntegerRange, Meta, TypeAnnotation, Value, Variable, Word
from .vocabulary import bind_arguments, call_reader, form, path_of, word

# ---- types


@word("<dtype>")
def _dtype(
    context: ElaborationContext, span: Span, name: str, value: Value = None, scope: Value = None, **keywords: Value
) -> Value:
    """A data type as a function: `T.float32(x)` converts, `T.int32()` creates a variable, `T.handle("float32",
    "shared")` a pointer.
    """
    if name == "handle":
        arguments = [argument for argument in (value, scope) if argument is not None]
        return call_reader(_handle, "T.handle", context, span, arguments, keywords)
    if extra := set(keywords) - {"is_size_var"}:
        raise span.error(f"T.{name} has no parameter {min(extra)!r}")
    if scope not in (None, True, False):
        raise span.error(f"T.{name} takes at most 1 argument, got 2")
    dtype = parse_dtype(name)
    if value is None:
        return Variable(mlir_type(dtype), span)
    if isinstance(value, str):
        return _float_from_text(context, span, dtype, value)
    return cast_to(context, _fit_literal(value, dtype, span), dtype, span)


def _fit_literal(value: Value, dtype: DType, span: Span) -> Value:
    """A literal converted to a data type: an integer must be in its range; bools and floats are converted."""
    if isinstance(value, float) and not dtype.is_float:
        if not value.is_integer():
            raise span.error(f"{value} is not of type {dtype.scalar}")
        value = int(value)
    if dtype.is_bool and isinstance(value, int):
        return bool(value)
    if isinstance(value, bool) and not dtype.is_bool:
        return int(value)
    if isinstance(value, int) and dtype.is_int and not dtypes.int_fits(value, dtype):
        raise span.error(f"{value} does not fit {dtype.scalar}")
    return value


def _float_from_text(context: ElaborationContext, span: Span, dtype: DType, text: str) -> SSAValue:
    """The constant of `T.float32("inf")`, `T.float32("nan")`."""
    try:
        return context.locate(span).const(float(text), dtype)
    except (ValueError, OverflowError):
        raise span.error(f"{text!r} is not a number of type {dtype}") from None


def _handle(
    context: ElaborationContext,
    span: Span,
    dtype: Value = None,
    storage_scope: Value = "global",
    is_size_var: Value = False,
) -> Value:
    memory_scope = context.string(storage_scope, span, "the scope")
    if pytime.is_symbolic(dtype):
        return dtype
    element = None if dtype is None or dtype in ("void", "handle") else mlir_type(context.dtype(dtype, span))
    return Variable(HandleType(element, memory_scope), span)


@word("var")
def _var(context: ElaborationContext, span: Span, dtype: Value = "int32", name: Value = "") -> Value:
    """A variable: `T.var("int32")` of v0.8-0.11."""
    return Variable(context.type(dtype, span), span)


@word("te.var", "te.size_var", "Var", "SizeVar")
def _named_var(context: ElaborationContext, span: Span, name: Value, dtype: Value = "int32") -> Value:
    """A variable: `tvm.te.var("n", "int32")`, in the argument order of functions on expressions."""
    return Variable(context.type(dtype, span), span)


@word("type_annotation")
def _type_annotation(context: ElaborationContext, span: Span, dtype: Value) -> Value:
    return TypeAnnotation(context.type(dtype, span))


@word("Ptr")
def _ptr(context: ElaborationContext, span: Span, dtype: Value, scope: Value = "global") -> Value:
    """A pointer type: `T.Ptr[T.float32]` of v0.9-0.11."""
    return TypeAnnotation(HandleType(mlir_type(context.dtype(dtype, span)), context.string(scope, span, "the scope")))


@word("const")
def _const(context: ElaborationContext, span: Span, value: Value, dtype: Value = None) -> Value:
    return context.expr(value, span) if dtype is None else cast_to(context, value, dtype, span)


@word("Cast")
def _cast_dtype_first(context: ElaborationContext, span: Span, dtype: Value, value: Value) -> Value:
    return cast_to(context, value, dtype, span)


@word("cast")
def _cast(context: ElaborationContext, span: Span, value: Value, dtype: Value) -> Value:
    if isinstance(value, str) and not isinstance(dtype, str):  # in the argument order of T.Cast
        value, dtype = dtype, value
    return cast_to(context, value, dtype, span)


@word("reinterpret")
def _reinterpret(context: ElaborationContext, span: Span, *args: Value, dtype: Value = None) -> Value:
    """`T.reinterpret("int32", x)`, and `T.reinterpret(x, dtype="int32")` of v0.8-0.11."""
    if len(args) != (2 if dtype is None else 1):
        raise span.error("T.reinterpret takes a type and a value")
    if dtype is None:
        dtype, value = args if isinstance(args[0], str | Word | DType | TypeAnnotation) else reversed(args)
    else:
        value = args[0]
    operand = context.expr(value, span)
    return context.locate(span).reinterpret(operand, context.type(dtype, span))


@word("target", "target.Target")
def _target(context: ElaborationContext, span: Span, config: Value, host: Value = None) -> Value:
    """`T.target(config, host)`; a host is an entry of the configuration, as TVM prints it."""
    attr = _configuration(context, config, span)
    if host is None:
        return TargetAttr(attr)
    entries = attr.data if isinstance(attr, DictionaryAttr) else _options(attr, span)
    if "host" in entries:
        raise span.error("T.target: the host is given twice")
    return TargetAttr(DictionaryAttr({**entries, "host": _configuration(context, host, span)}))


def _configuration(context: ElaborationContext, config: Value, span: Span) -> StringAttr | DictionaryAttr:
    if isinstance(config, TargetAttr) and isinstance(config.config, StringAttr | DictionaryAttr):
        return config.config
    return StringAttr(config) if isinstance(config, str) else context.attributes(config, span)


def _options(text: StringAttr, span: Span) -> dict[str, Attribute]:
    """The entries of a target written as `kind -name=value ...`."""
    kind, *words = text.data.split() or [""]
    if any(not word.startswith("-") or "=" not in word for word in words):
        raise span.error(f"target {text.data!r}: expected a kind and -name=value")
    pairs = (word.lstrip("-").split("=", 1) for word in words)
    return {"kind": StringAttr(kind), **{name: StringAttr(value) for name, value in pairs}}


@word("comm_reducer")
def _comm_reducer(context: ElaborationContext, span: Span, combiner: Value, identity: Value) -> Value:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`."""
    items = cast("list[Value]", identity) if isinstance(identity, list | tuple) else [identity]
    if len(items) != 1:
        raise span.error("T.comm_reducer of several values is not supported")
    zero = context.number(items[0], span)
    block = Block(arg_types=[zero.type, zero.type])
    with context.builder.at(block):
        value = apply(context, combiner, span, list(block.args), {})
        if isinstance(value, list | tuple) and len(cast("list[Value]", value)) == 1:
            (value,) = cast("list[Value]", value)
        result = context.number(value, span, dtype_of(zero.type))
        context.locate(span).insert(YieldOp(result))
    return context.locate(span).insert(CommReducerOp(zero, Region(block))).result


# ---- parse-time values


@word("meta_var")
def _meta_var(context: ElaborationContext, span: Span, value: Value) -> Value:
    """A marker that binds a name to the value itself: a Python value, or an expression recomputed at each use."""
    return Meta(quote(context, value, span))


@word("Range")
def _range(context: ElaborationContext, span: Span, low: Value, high: Value = None) -> Value:
    if high is None:
        return IntegerRange(0, context.index(low, span))
    first, last = context.index(low, span), context.index(high, span)
    return IntegerRange(first, last if first == 0 else cast(Operand, binary(context, "-", last, first, span)))


# ---- operators

_BINARY_WORDS = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "floordiv": "//", "floormod": "%",
    "indexdiv": "//", "indexmod": "%", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
    "shift_left": "<<", "shift_right": ">>", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_BINARY_FUNCTIONS = {
    "Min": "min", "Max": "max", "min": "min", "max": "max", "truncdiv": "truncdiv", "truncmod": "truncmod",
    "Mod": "truncmod", "pow": "pow", "power": "pow", "atan2": "atan2", "copysign": "copysign",
}  # fmt: skip
_UNARY_FUNCTIONS = {**{name: name for name in (*FLOAT_UNARY, *INT_UNARY)}, "fabs": "abs", "round": "nearbyint"}


def _register_operators() -> None:
    for name, op in _BINARY_WORDS.items():
        word(name)(_operator_reader(op))
    for name, function in _BINARY_FUNCTIONS.items():
        word(name)(_binary_reader(function))
    for name, function in _UNARY_FUNCTIONS.items():
        word(name)(_unary_reader(function))
    for name in INTRINSICS:
        word(name)(_intrinsic_reader(name))


def _operator_reader(op: str) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, a: Value, b: Value) -> Value:
        return binary(context, op, a, b, span)

    return read


def _binary_reader(function: str) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, a: Value, b: Value, *rest: Value) -> Value:
        if rest and function not in ("min", "max"):
            raise span.error("expected two operands")
        result: Operand = _number(context, a, span)
        for value in (b, *rest):
            left, right = result, _number(context, value, span)
            result = context.locate(span).binary(function, *_promote_literals(function, left, right))
        return result

    return read


def _promote_literals(function: str, lhs: Operand, rhs: Operand) -> tuple[Operand, Operand]:
    """Integer literals as floats for the functions defined on floats only."""
    if function not in ("pow", "atan2", "copysign"):
        return lhs, rhs
    if not isinstance(lhs, SSAValue) and not isinstance(rhs, SSAValue):
        return float(lhs), float(rhs)
    return lhs, rhs


def _number(context: ElaborationContext, value: Value, span: Span) -> Operand:
    operand = context.operand(value, span)
    if isinstance(operand, SSAValue) and isinstance(operand.type, HandleType):
        raise span.error("expected a number, got a pointer")
    return operand


def _unary_reader(function: str) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, x: Value) -> Value:
        return context.locate(span).unary(function, _number(context, x, span))

    return read


def _intrinsic_reader(name: str) -> Callable[..., Value]:
    arity, _ = INTRINSICS[name]

    def read(context: ElaborationContext, span: Span, *args: Value) -> Value:
        if len(args) != arity:
            raise span.error(f"T.{name} takes {arity} arguments, got {len(args)}")
        operands = [context.operand(arg, span) for arg in args]
        return context.locate(span).intrinsic(name, *_intrinsic_operands(context, name, operands, span))

    return read


def _intrinsic_operands(
    context: ElaborationContext, name: str, operands: Sequence[Operand], span: Span
) -> Sequence[Operand]:
    """The operands of an intrinsic after promotion: sigmoid and exp10 take floats; hypot and similar functions take two
    operands of one type.
    """
    pointers = [isinstance(x, SSAValue) and isinstance(x.type, HandleType) for x in operands]
    if name == "isnullptr":
        if not all(pointers):
            raise span.error("T.isnullptr takes a pointer")
        return operands
    if any(pointers):
        raise span.error("expected a number, got a pointer")
    first = operands[0]
    if name in ("sigmoid", "exp10", "isnan", "isinf", "isfinite"):
        dtype = dtype_of(first.type) if isinstance(first, SSAValue) else None
        if dtype is None or not dtype.is_float:
            return [context.locate(span).cast(first, DType("float", 32, 1 if dtype is None else dtype.lanes))]
    if name in ("hypot", "nextafter", "fmod", "ldexp") and not isinstance(first, SSAValue):
        return [float(first), *operands[1:]]
    return operands


_register_operators()


@word("fma")
def _fma(context: ElaborationContext, span: Span, a: Value, b: Value, c: Value) -> Value:
    return context.locate(span).fma(*(_number(context, x, span) for x in (a, b, c)))


@word("Div", "div")
def _div(context: ElaborationContext, span: Span, a: Value, b: Value) -> Value:
    """TIR's Div: the quotient of floats, or the integer quotient rounded towards zero."""
    left, right = _number(context, a, span), _number(context, b, span)
    floats = [isinstance(x, float) or (isinstance(x, SSAValue) and dtype_of(x.type).is_float) for x in (left, right)]
    return context.locate(span).binary("div" if any(floats) else "truncdiv", left, right)


@word("ceildiv")
def _ceildiv(context: ElaborationContext, span: Span, a: Value, b: Value) -> Value:
    return binary(context, "//", binary(context, "+", a, binary(context, "-", b, 1, span), span), b, span)


@word("q_multiply_shift_per_axis")
def _q_multiply_shift_per_axis(
    context: ElaborationContext,
    span: Span,
    x: Value,
    y: Value,
    left_shift: Value,
    right_shift: Value,
    q: Value,
    is_left_shift_required: Value,
    is_right_shift_required: Value,
) -> Value:
    """`(x << left_shift) * y / 2 ** (q + right_shift)`, rounded half up: a product of fixed-point numbers in 64 bits.

    The left shift is conditional, the right shift is not, as in TVM.
    """
    builder = context.locate(span)
    numbers = [context.number(value, span) for value in (x, y, left_shift, right_shift, q)]
    number, factor, left, right, fraction = (builder.cast(value, "int64") for value in numbers)
    test = context.condition(is_left_shift_required, span)
    shifted = builder.select(test, builder.binary("shl", number, left), number)
    total = builder.add(right, fraction)
    half = builder.binary("shl", builder.const(1, "int64"), builder.sub(total, 1))
    result = builder.binary("shr", builder.add(builder.mul(shifted, factor), half), total)
    return builder.cast(result, dtype_of(numbers[0].type))


@word("Not")
def _not(context: ElaborationContext, span: Span, a: Value) -> Value:
    return context.locate(span).logical_not(context.condition(a, span))


@word("bitwise_not")
def _bitwise_not(context: ElaborationContext, span: Span, x: Value) -> Value:
    operand = context.number(x, span)
    if dtype_of(operand.type).is_float:
        raise span.error("T.bitwise_not needs an integer")
    return context.locate(span).bitwise_not(operand)


@form("And", "Or")
def _and_or(context: ElaborationContext, node: syntax.Call) -> Value:
    """`T.And(a, b)`: evaluates b only if a does not decide, as `and` does."""
    name = _word_of(context, node)
    if len(node.args) < 2 or node.keywords:
        raise node.span.error(f"T.{name} takes two arguments")
    result = evaluate(context, node.args[0])
    if isinstance(result, bool):
        result = context.expr(result, node.span)
    for part in node.args[1:]:
        result = logical(context, name.lower(), result, lambda part=part: evaluate(context, part), part.span)
    return result


def _word_of(context: ElaborationContext, node: syntax.Call) -> str:
    return path_of(cast(Word, evaluate(context, node.func)))


@word("Select")
def _select(context: ElaborationContext, span: Span, condition: Value, true_value: Value, false_value: Value) -> Value:
    test = context.condition(condition, span)
    then, orelse = context.operand(true_value, span), context.operand(false_value, span)
    if common_dtype(then, orelse, span) is None:
        raise span.error("T.Select cannot choose between pointers")
    return context.locate(span).select(test, then, orelse)


@form("if_then_else")
def _if_then_else(context: ElaborationContext, node: syntax.Call) -> Value:
    bound = bind_arguments(_if_then_else_parameters, "T.if_then_else", node.span, node.args, _nodes(node))
    condition, then, orelse = bound.args[:3]
    test = evaluate(context, condition)
    result = conditional_expression(context, context.condition(test, condition.span), then, orelse, node.span)
    if "dtype" in bound.arguments:
        return check_dtype(context, result, evaluate(context, bound.arguments["dtype"]), node.span)
    return result


def _if_then_else_parameters(context: Any, span: Any, cond: Any, t: Any, f: Any, dtype: Any = None) -> None:
    """The signature of `T.if_then_else`."""


def _nodes(node: syntax.Call) -> dict[str, syntax.Expr]:
    if any(keyword.name is None for keyword in node.keywords):
        raise node.span.error("** is not supported here")
    return {keyword.name or "": keyword.value for keyword in node.keywords}


@form("Let", "let")
def _let(context: ElaborationContext, node: syntax.Call) -> Value:
    """`T.Let(x + 1, where={x: 3})`, and v0.8's `T.let(x, 3, x + 1)`; with two arguments the statement `T.let(x, 3)`."""
    keywords = _nodes(node)
    if "where" in keywords:
        where = keywords["where"]
        if len(node.args) != 1 or not isinstance(where, syntax.Dict):
            raise node.span.error("expected T.Let(body, where={variable: value})")
        pairs = [(item.key, item.value) for item in where.items]
        return _let_in(context, node, pairs, node.args[0])
    if len(node.args) == 3:
        return _let_in(context, node, [(node.args[0], node.args[1])], node.args[2])
    if len(node.args) == 2:
        return let_frame(context, node.span, node.args[0], node.args[1])
    raise node.span.error("expected T.Let(body, where={variable: value})")


def _let_in(
    context: ElaborationContext,
    node: syntax.Call,
    pairs: Sequence[tuple[syntax.Expr | None, syntax.Expr]],
    body: syntax.Expr,
) -> Value:
    with context.emit_into():
        for key, value in pairs:
            if not isinstance(key, syntax.Name):
                raise node.span.error("expected the name of a variable in T.Let")
            bound = context.expr(evaluate(context, value), value.span)
            context.scope.names[key.id] = context.locate(node.span).let(key.id, bound)
        return context.operand(evaluate(context, body), body.span)


# ---- vectors


@word("Ramp", "ramp")
def _ramp(context: ElaborationContext, span: Span, base: Value, stride: Value, lanes: Value) -> Value:
    low, step = context.index(base, span), context.index(stride, span)
    return context.locate(span).ramp(low, step, context.lanes(lanes, span))


@word("Broadcast", "broadcast")
def _broadcast(context: ElaborationContext, span: Span, value: Value, lanes: Value) -> Value:
    scalar = context.number(value, span)
    if dtype_of(scalar.type).lanes != 1:
        raise span.error("T.Broadcast takes a scalar")
    return context.locate(span).broadcast(scalar, context.lanes(lanes, span))


@word("Shuffle")
def _shuffle(context: ElaborationContext, span: Span, vectors: Value, indices: Value) -> Value:
    if not isinstance(vectors, list | tuple) or not isinstance(indices, list | tuple) or not vectors or not indices:
        raise span.error("T.Shuffle takes a list of vectors and a list of lanes")
    parts = [context.number(vector, span) for vector in cast("list[Value]", vectors)]
    lanes = [context.integer(index, span, "a lane") for index in cast("list[Value]", indices)]
    if len({dtype_of(part.type).scalar for part in parts}) != 1:
        raise span.error("T.Shuffle: the vectors have different element types")
    total = sum(dtype_of(part.type).lanes for part in parts)
    if not all(0 <= lane < total for lane in lanes):
        raise span.error(f"T.Shuffle: a lane is not in [0, {total})")
    return context.locate(span).insert(ShuffleOp(parts, lanes)).result


# ---- limits of data types


@word("min_value")
def _min_value(context: ElaborationContext, span: Span, dtype: Value) -> Value:
    type = context.dtype(dtype, span)
    return context.locate(span).const(dtypes.min_value(type.scalar), type)


@word("max_value")
def _max_value(context: ElaborationContext, span: Span, dtype: Value) -> Value:
    type = context.dtype(dtype, span)
    return context.locate(span).const(dtypes.max_value(type.scalar), type)


@word("infinity")
def _infinity(context: ElaborationContext, span: Span, dtype: Value) -> Value:
    type = context.dtype(dtype, span)
    if not type.is_float:
        raise span.error(f"there is no infinity of type {type}")
    return context.locate(span).const(float("inf"), type)
