"""Handlers for ops that compute values: lane by lane, and those that build or decompose vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...core.dtypes import dtype_of, parse_dtype
from ...core.errors import UnsupportedError
from ...dialects.extensions import scalar_operation
from ...dialects.tir import (
    BufferOp,
    CallLlvmOp,
    ConstOp,
    HandleType,
    LetOp,
    RampOp,
    ReinterpretOp,
    ShuffleOp,
    SymbolOp,
    YieldOp,
    constant_value,
)
from .accesses import add_text, multiply_text
from .context import unsupported
from .expressions import (
    EXCLUDED_OPERANDS,
    REPEATS,
    RULES,
    Lane,
    PythonExpr,
    Rule,
    call_text,
    constant_text,
    number_text,
    scalar_dtype,
    wrap_text,
)
from .extensions import add_function, number_function

if TYPE_CHECKING:
    from .functions import FunctionCompiler


def emit_computation(f: FunctionCompiler, op: Operation) -> None:
    """Emits a pure op with a rule, or a meaning."""
    _check_exclusion(f, op)
    args = [f.writer.value(v) for v in op.operands]
    if isinstance(op.results[0].type, VectorType):
        f.writer.define(op, _by_lane(f, op, args, _rule_of(f, op)))
        return
    if isinstance(op, REPEATS):
        args = [f.writer.as_simple(a) for a in args]
    f.writer.define(op, _scalar(f, op, args, _rule_of(f, op)))


def _rule_of(f: FunctionCompiler, op: Operation) -> Rule:
    definition = scalar_operation(op)
    if definition is None:
        return RULES[type(op)]
    name = add_function(f, op, number_function(definition, op))
    return lambda lane: call_text(name, *lane.args)


def _scalar(f: FunctionCompiler, op: Operation, args: list[PythonExpr], rule: Rule) -> PythonExpr:
    dtype = scalar_dtype(op.results[0].type)
    fits = not dtype.is_float and not isinstance(op.results[0].type, HandleType) and f.ranges.fits(op)
    try:
        return rule(Lane(op, args, [scalar_dtype(v.type) for v in op.operands], dtype, fits))
    except UnsupportedError as error:
        raise unsupported(op, str(error)) from None


def _by_lane(f: FunctionCompiler, op: Operation, args: list[PythonExpr], rule: Rule) -> PythonExpr:
    names = ["a", "b", "c", "d", *(f"operand_{i}" for i in range(4, len(args)))]
    columns: dict[str, str] = {}
    for i, (value, arg) in enumerate(zip(op.operands, args, strict=True)):
        if isinstance(value.type, VectorType):
            columns[names[i]] = arg.text
            args[i] = PythonExpr(names[i])
        else:
            args[i] = f.writer.as_simple(arg)
    rows = ", ".join(columns.values())
    lanes = rows if len(columns) == 1 else f"zip({rows})"
    return PythonExpr(f"[{_scalar(f, op, args, rule).text} for {', '.join(columns)} in {lanes}]")


def _check_exclusion(f: FunctionCompiler, op: Operation) -> None:
    if not f.context.check or type(op) not in EXCLUDED_OPERANDS:
        return
    test, what = EXCLUDED_OPERANDS[type(op)]
    dtype = dtype_of(op.operands[1].type).scalar
    low, high = f.ranges.interval_of(op.operands[1])
    if (low > 0 or high < 0) if what == "division by zero" else (0 <= low and high < dtype.bits):
        return
    operand = f.writer.as_simple(f.writer.value(op.operands[1]))
    f.writer.set(op.operands[1], operand)
    if isinstance(op.operands[1].type, VectorType):
        condition = f"any({test(PythonExpr('b'), dtype)} for b in {operand.text})"
    else:
        condition = test(operand, dtype)
    with f.writer.block(f"if {condition}:"):
        f.writer.line(f"fault({what!r})")


def _constant(f: FunctionCompiler, op: arith.ConstantOp | ConstOp) -> None:
    try:
        f.writer.set(op.results[0], constant_text(op))
    except UnsupportedError as error:
        raise unsupported(op, str(error)) from None


def _let(f: FunctionCompiler, op: LetOp) -> None:
    if isinstance(op.result.type, HandleType):
        f.writer.set(op.result, f.writer.value(op.value))
    else:
        f.writer.bind(op.result, f.writer.value(op.value), op.var_name.data)


def _ramp(f: FunctionCompiler, op: RampOp) -> None:
    base, stride = (f.writer.as_simple(f.writer.value(v)) for v in (op.base, op.stride))
    dtype = scalar_dtype(op.result.type)
    fits = f.ranges.fits(op)
    lanes = [add_text(base, multiply_text(number_text(i, dtype), stride)) for i in range(op.lanes)]
    texts = [(lane if fits else wrap_text(lane, dtype)).text for lane in lanes]
    f.writer.define(op, PythonExpr(f"[{', '.join(texts)}]"))


def _broadcast(f: FunctionCompiler, op: vector.BroadcastOp) -> None:
    source = f.writer.value(op.source)
    lanes = dtype_of(op.vector.type).lanes
    if isinstance(op.source.type, VectorType):
        raise unsupported(op, f"broadcast of {op.source.type}, expected a scalar")
    f.writer.define(op, PythonExpr(f"[{source.text}] * {lanes}"))


def _shuffle(f: FunctionCompiler, op: ShuffleOp) -> None:
    lanes: list[str] = []
    for value in op.vectors:
        source = f.writer.as_simple(f.writer.value(value))
        count = dtype_of(value.type).lanes
        lanes += [source.text] if count == 1 else [f"{source.text}[{i}]" for i in range(count)]
    selected = [lanes[i] for i in op.lane_indices]
    f.writer.define(op, PythonExpr(selected[0] if len(selected) == 1 else f"[{', '.join(selected)}]"))


def _call_llvm(f: FunctionCompiler, op: CallLlvmOp) -> None:
    args: list[PythonExpr] = []
    for arg, kind in zip(op.args, op.definition.operands, strict=True):
        value, given, expected = f.writer.value(arg), scalar_dtype(arg.type).name, parse_dtype(kind).scalar.name
        args.append(value if given == expected else call_text("reinterpret", value.text, repr(given), repr(expected)))
    f.writer.define(op, call_text(add_function(f, op, op.definition.meaning), *args))


def _reinterpret(f: FunctionCompiler, op: ReinterpretOp | arith.BitcastOp) -> None:
    source, result = op.operands[0], op.results[0]
    value = f.writer.value(source)
    if isinstance(source.type, HandleType) or isinstance(result.type, HandleType):
        f.writer.set(result, _reinterpret_handle(op, source, value))
        return
    dtypes = dtype_of(source.type), dtype_of(result.type)
    if any(d.is_bool for d in dtypes):
        raise unsupported(op, f"{dtypes[0]} as {dtypes[1]}")
    lanes = value.text if dtypes[0].lanes != 1 else f"[{value.text}]"
    whole = call_text("reinterpret", lanes, repr(dtypes[0].scalar.name), repr(dtypes[1].scalar.name))
    f.writer.bind(result, whole if dtypes[1].lanes != 1 else PythonExpr(f"{whole.text}[0]"))


def _reinterpret_handle(op: Operation, source: SSAValue, value: PythonExpr) -> PythonExpr:
    if isinstance(op.results[0].type, HandleType):
        if isinstance(source.type, HandleType):
            return value
        if constant_value(source) == 0:
            return PythonExpr("None")
        raise unsupported(op, "a number as a pointer")
    dtype = scalar_dtype(op.results[0].type)
    return wrap_text(call_text("address", value), dtype)


def _symbol(f: FunctionCompiler, op: SymbolOp) -> None:
    """Emits nothing: the symbol is bound already, or by a `tir.match_region` with this operand, or has no uses.
    UnsupportedError for another symbol."""
    users = [use.operation for use in op.result.uses]
    if users and not f.writer.has_text(op.result) and not any(isinstance(user, BufferOp) for user in users):
        raise unsupported(op, f"symbol {op.var_name.data} is not the extent, stride or offset of any parameter")


def _yield(f: FunctionCompiler, op: YieldOp) -> None:
    """Emits nothing: the op with the region reads the operand."""


HANDLERS: dict[type[Operation], Callable[[FunctionCompiler, Any], None]] = {
    **dict.fromkeys(RULES, emit_computation),
    arith.ConstantOp: _constant,
    ConstOp: _constant,
    LetOp: _let,
    RampOp: _ramp,
    vector.BroadcastOp: _broadcast,
    ShuffleOp: _shuffle,
    CallLlvmOp: _call_llvm,
    ReinterpretOp: _reinterpret,
    arith.BitcastOp: _reinterpret,
    vector.BitcastOp: _reinterpret,
    SymbolOp: _symbol,
    YieldOp: _yield,
}
