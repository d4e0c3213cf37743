"""Implementations of ops that compute values: numbers of exact data types, and vectors as lists of lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation

from ...core.dtypes import dtype_of, parse_dtype, wrap_int
from ...core.errors import UnsupportedError
from ...dialects.tir import CallLlvmOp, ConstOp, HandleType, LetOp, RampOp, ReinterpretOp, ShuffleOp, constant_value
from ..oracle import numerics
from ..oracle.checks import address, fault, pointer
from ..oracle.context import unsupported
from ..oracle.expressions import EXCLUDED_OPERANDS, RULES, Lane, PythonExpr, constant_text, scalar_dtype

Compiled = Callable[..., Any]


class _Values(InterpreterFunctions):
    """The base of the implementations: ops are compiled to Python functions once per kind, types and properties.

    The rules are the oracle's: every op has a single definition.
    """

    def __init__(self) -> None:
        self._compiled: dict[tuple[Any, ...], Compiled] = {}

    def compute(self, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        """Runs a pure op with a rule, lane by lane."""
        key = (type(op), *op.operand_types, *op.result_types, frozenset(op.properties.items()))
        if key not in self._compiled:
            self._compiled[key] = _compile(op)
        types = op.operand_types
        args = tuple(pointer(a) if isinstance(t, HandleType) else a for a, t in zip(args, types, strict=True))
        return (by_lane(op, self._compiled[key], args),)


def by_lane(op: Operation, function: Compiled, args: PythonValues) -> Any:
    """The number of an op, or the list of its lanes. function: computes one lane from the lanes of the operands."""
    if not isinstance(op.results[0].type, VectorType):
        return function(*args)
    lanes = dtype_of(op.results[0].type).lanes
    columns = [a if isinstance(t, VectorType) else [a] * lanes for a, t in zip(args, op.operand_types, strict=True)]
    return [function(*lane) for lane in zip(*columns, strict=True)]


def _compile(op: Operation) -> Compiled:
    """The rule of an op for one lane, as a function of its operands."""
    names = [f"x{n}" for n in range(len(op.operands))]
    args = [PythonExpr(name) for name in names]
    try:
        sources = [scalar_dtype(type) for type in op.operand_types]
        text = RULES[type(op)](Lane(op, args, sources, scalar_dtype(op.result_types[0]))).text
    except (UnsupportedError, ValueError) as error:
        raise unsupported(op, str(error)) from None
    if type(op) in EXCLUDED_OPERANDS:
        test, what = EXCLUDED_OPERANDS[type(op)]
        text = f"fault({what!r}) if {test(args[1], sources[1])} else {text}"
    return eval(f"lambda {', '.join(names)}: {text}", {**vars(numerics), "fault": fault})


_RULES: dict[str, Any] = {f"run_{n}": impl(kind)(_Values.compute) for n, kind in enumerate(RULES)}


@register_impls
class ValueFunctions(type("RuleFunctions", (_Values,), _RULES)):
    """Constants, arithmetic, comparisons, conversions, and ops that build or decompose vectors."""

    @impl(arith.ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues) -> PythonValues:
        return (_literal(op),)

    @impl(ConstOp)
    def run_const(self, interpreter: Interpreter, op: ConstOp, args: PythonValues) -> PythonValues:
        return (_literal(op),)

    @impl(LetOp)
    def run_let(self, interpreter: Interpreter, op: LetOp, args: PythonValues) -> PythonValues:
        return args

    @impl(RampOp)
    def run_ramp(self, interpreter: Interpreter, op: RampOp, args: PythonValues) -> PythonValues:
        base, stride = args
        dtype = scalar_dtype(op.result.type)
        return ([wrap_int(base + n * stride, dtype) for n in range(op.lanes)],)

    @impl(vector.BroadcastOp)
    def run_broadcast(self, interpreter: Interpreter, op: vector.BroadcastOp, args: PythonValues) -> PythonValues:
        if isinstance(op.source.type, VectorType):
            raise unsupported(op, f"broadcast of {op.source.type}, expected a scalar")
        return ([args[0]] * dtype_of(op.vector.type).lanes,)

    @impl(ShuffleOp)
    def run_shuffle(self, interpreter: Interpreter, op: ShuffleOp, args: PythonValues) -> PythonValues:
        lanes = [lane for arg in args for lane in (arg if isinstance(arg, list) else [arg])]  # pyright: ignore[reportUnknownVariableType]
        selected = [lanes[n] for n in op.lane_indices]  # pyright: ignore[reportUnknownVariableType]
        return (selected if isinstance(op.result.type, VectorType) else selected[0],)

    @impl(CallLlvmOp)
    def run_call_llvm(self, interpreter: Interpreter, op: CallLlvmOp, args: PythonValues) -> PythonValues:
        given = [scalar_dtype(arg.type).name for arg in op.args]
        expected = [parse_dtype(kind).scalar.name for kind in op.definition.operands]
        lanes = [numerics.reinterpret(*each) for each in zip(args, given, expected, strict=True)]
        return (op.definition.meaning(*lanes),)

    @impl(ReinterpretOp)
    def run_reinterpret(self, interpreter: Interpreter, op: ReinterpretOp, args: PythonValues) -> PythonValues:
        return (_reinterpret(op, args[0]),)

    @impl(arith.BitcastOp)
    def run_bitcast(self, interpreter: Interpreter, op: arith.BitcastOp, args: PythonValues) -> PythonValues:
        return (_reinterpret(op, args[0]),)

    @impl(vector.BitcastOp)
    def run_vector_bitcast(self, interpreter: Interpreter, op: vector.BitcastOp, args: PythonValues) -> PythonValues:
        return (_reinterpret(op, args[0]),)


def _literal(op: arith.ConstantOp | ConstOp) -> Any:
    try:
        return eval(constant_text(op).text, {"inf": numerics.inf, "nan": numerics.nan})
    except (UnsupportedError, ValueError) as error:
        raise unsupported(op, str(error)) from None


def _reinterpret(op: Operation, value: Any) -> Any:
    """The bits of a value as a value of another type."""
    source, target = op.operand_types[0], op.result_types[0]
    if isinstance(target, HandleType):
        if isinstance(source, HandleType):
            return value
        if constant_value(op.operands[0]) == 0:
            return None
        raise unsupported(op, "a number as a pointer")
    if isinstance(source, HandleType):
        return wrap_int(address(pointer(value)), scalar_dtype(target))
    _check_bits(op, source, target)
    lanes = value if isinstance(source, VectorType) else [value]
    results = numerics.reinterpret(lanes, scalar_dtype(source).name, scalar_dtype(target).name)
    return results if isinstance(target, VectorType) else results[0]


def _check_bits(op: Operation, *types: Attribute) -> None:
    if any(dtype_of(type).is_bool for type in types):
        raise unsupported(op, " as ".join(str(dtype_of(type)) for type in types))
