"""Implementations of functions of `tir`: their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, NoneAttr, TensorType
from xdsl.interpreter import Interpreter, PythonValues, impl, impl_attr, impl_callable, register_impls
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import InterpretationError

from ...core.dtypes import dtype_of
from ...core.walking import find_ops
from ...dialects.tir import FuncOp, HandleType, MatchBufferOp, MatchRegionOp, Mixed, ReturnOp, SymbolOp
from ..oracle.aliases import ParameterWrites
from ..oracle.checks import extent, match_buffer, offset_of, outside, stride
from ..oracle.context import unsupported
from ..oracle.program import signature_of, values_inside
from ..oracle.writer import dead_ops
from ..runtime.arguments import ArgumentPacker
from ..runtime.signature import FunctionSignature
from .elements import UNIT, InterpreterBuffer, array_of, element_dtype
from .regions import exclude_ops, run_ops, scope
from .state import StatefulFunctions


class ReturnSignal(Exception):
    """Control flow out of a function. values: its results."""

    def __init__(self, values: PythonValues):
        self.values = values


@register_impls
class TirFunctionFunctions(StatefulFunctions):
    """Functions, called by users with arrays, and by other functions with buffers."""

    @impl_callable(FuncOp)
    def call_func(self, interpreter: Interpreter, op: FuncOp, args: PythonValues) -> PythonValues:
        self.begin_call(interpreter)
        for argument in op.body.block.args:
            if isinstance(argument.type, MemRefType):
                element_dtype(op, argument.type)
        signature = signature_of(op, ParameterWrites({op.sym_name.data: op}))
        values = interpreter_arguments(signature, args, self.uninitialized)
        return tuple(map(outside, call_function(interpreter, op, values)))

    @impl(ReturnOp)
    def run_return(self, interpreter: Interpreter, op: ReturnOp, args: PythonValues) -> PythonValues:
        raise ReturnSignal(args)

    @impl_attr(TensorType)
    def tensor_value(self, interpreter: Interpreter, attr: Attribute, type_attr: TensorType[Attribute]) -> Any:
        return _buffer_value(interpreter, attr)

    @impl_attr(HandleType)
    def handle_value(self, interpreter: Interpreter, attr: Attribute, type_attr: HandleType) -> Any:
        return _buffer_value(interpreter, attr)


def _buffer_value(interpreter: Interpreter, attr: Attribute) -> Any:
    """An argument in the form `dense<...> : tensor<...>`, xDSL's form for a memref."""
    if not isinstance(attr, DenseIntOrFPElementsAttr):
        raise InterpretationError(f"expected dense<...> : tensor<...> for a buffer, got {attr}")
    type = MemRefType(attr.get_element_type(), attr.get_shape())
    return interpreter.value_for_attribute(attr, type)


def interpreter_arguments(signature: FunctionSignature, args: Sequence[Any], uninitialized: Sequence[str]) -> list[Any]:
    """Arguments of a user's call as values of the interpreter. Raises ArgumentError for a wrong argument."""
    arrays = [array_of(arg) for arg in args]
    fresh = [parameter.name in uninitialized for parameter in signature.parameters]
    return values_inside(ArgumentPacker(signature), signature, arrays, [UNIT] * len(fresh), fresh)


def call_function(interpreter: Interpreter, op: FuncOp, args: Sequence[Any]) -> PythonValues:
    """Runs a function and returns its results. args: values of the interpreter."""
    block = op.body.block
    with scope(interpreter, op.sym_name.data):
        interpreter.set_values(zip(block.args, args, strict=True))
        _prepare(interpreter, op)
        _bind_symbols(interpreter, op, args)
        for (name, _), argument, value in zip(op.params, block.args, args, strict=True):
            if isinstance(argument.type, MemRefType):
                interpreter.set_values([(argument, _match_parameter(op, name, argument.type, value))])
        try:
            run_ops(interpreter, block)
        except ReturnSignal as result:
            return result.values
    return ()


def _prepare(interpreter: Interpreter, op: FuncOp) -> None:
    """Excludes declarations of accesses from execution, before the first call of a function."""
    prepared: set[FuncOp] = interpreter.get_data(TirFunctionFunctions, "prepared", set[FuncOp])
    if op not in prepared:
        prepared.add(op)
        exclude_ops(interpreter, dead_ops(op))


def _match_parameter(op: FuncOp, name: str, type: MemRefType[Attribute], value: Any) -> InterpreterBuffer:
    """The buffer argument of a parameter with a type. Raises ArgumentError for a mismatch."""
    strides = None if isinstance(type.layout, NoneAttr) else tuple(s or 0 for s in type.get_strides() or ())
    return InterpreterBuffer.of(match_buffer(value, name, element_dtype(op, type), type.get_shape(), strides), name)


def _bind_symbols(interpreter: Interpreter, op: FuncOp, args: Sequence[Any]) -> None:
    """Binds each symbol to the extent, stride or offset of the first parameter that declares it."""
    order: dict[SSAValue, int] = {value: n for n, value in enumerate(op.body.block.args)}
    matches = [inner for inner in op.body.block.ops if isinstance(inner, MatchBufferOp)]
    bound: set[SSAValue] = set()
    symbols = [inner.result for inner in find_ops(op, SymbolOp)]
    interpreter.set_values((symbol, None) for symbol in symbols)

    def bind(number: Mixed, value: int) -> None:
        if not isinstance(number, int) and isinstance(number.owner, SymbolOp) and number not in bound:
            bound.add(number)
            interpreter.set_values([(number, value)])

    for match in sorted(matches, key=lambda match: order[match.source]):
        passed, name = args[order[match.source]], match.buffer_name.data
        for numbers, of in ((match.mixed_shape, extent), (match.mixed_strides or [], stride)):
            for d, number in enumerate(numbers):
                if not isinstance(number, int) and isinstance(number.owner, SymbolOp) and number not in bound:
                    symbol = number.owner.var_name.data
                    bind(number, of(passed, d, name, symbol, dtype_of(number.type).name))
        bind(match.mixed_offset, offset_of(passed))
    for symbol in symbols:
        users = [use.operation for use in symbol.uses]
        if users and symbol not in bound and not any(isinstance(user, MatchRegionOp) for user in users):
            raise unsupported(symbol.owner, "a symbol that is not the extent, stride or offset of any parameter")
