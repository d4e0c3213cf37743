"""Implementations of `relax`: programs, operation by operation, on arrays of numpy. They define the semantics of
programs; packed functions are the registered ones, or those of `register_implementations`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TupleType
from xdsl.interpreter import Interpreter, PythonValues, impl, impl_callable, register_impls
from xdsl.ir import Attribute

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, SizeError
from ...expressions.errors import TeError
from ...expressions.sizes import evaluate_size
from ...operators.relax import (
    AllocTensorOp,
    ApplyOp,
    CallDpsPackedOp,
    CallInplacePackedOp,
    CallOp,
    CallPackedOp,
    CallPurePackedOp,
    CallTirInplaceOp,
    CallTirOp,
    DataflowOp,
    FuncOp,
    FuncRefOp,
    HintOnDeviceOp,
    IfOp,
    MatchCastOp,
    PrimValueOp,
    ShapeOfOp,
    ShapeOp,
    StringOp,
    ToVdeviceOp,
    TupleGetOp,
    TupleOp,
)
from ...operators.relax.calls import result_types
from ...operators.relax.types import known_shape, number_of
from ...operators.relay import dtype_of_tensor
from ..devices.device import cpu
from ..oracle.context import location_of
from ..relax.applications import type_of_value
from ..relax.values import Mismatch, Value, argument_error, type_checker
from ..runtime.packed import call_function, get_global_func
from .regions import run_region
from .relay import RelayFunctions, Sizes, known_shape_of, run_kernel, run_kernel_in_place
from .state import StatefulFunctions


class RelaxFunctions(StatefulFunctions):
    """Values are arrays, tuples, shapes as tuples of integers, numbers, and objects of packed functions."""

    @impl_callable(FuncOp)
    def call_func(self, interpreter: Interpreter, op: FuncOp, args: PythonValues) -> PythonValues:
        name = op.sym_name.data
        if len(args) != len(op.params):
            names = ", ".join(param for param, _ in op.params)
            raise ArgumentError(f"{name}: expected {len(op.params)} arguments ({names}), got {len(args)}")
        sizes = Sizes()
        types = [value.type for _, value in op.params]
        values = _match_all(f"{name}: argument", args, types, sizes)
        around = _sizes(interpreter)
        interpreter.set_data(RelayFunctions, "sizes", sizes)
        try:
            return run_region(interpreter, op.body, values, name)
        finally:
            interpreter.set_data(RelayFunctions, "sizes", around)

    @impl(CallOp)
    def run_call(self, interpreter: Interpreter, op: CallOp, args: PythonValues) -> PythonValues:
        return interpreter.call_op(interpreter.get_op_for_symbol(op.callee), args)

    @impl(CallTirOp)
    def run_call_tir(self, interpreter: Interpreter, op: CallTirOp, args: PythonValues) -> PythonValues:
        results = run_kernel(interpreter, op.callee, args, op.output_types, op.size_texts)
        return (tuple(results) if isinstance(op.output.type, TupleType) else results[0],)

    @impl(CallTirInplaceOp)
    def run_call_tir_inplace(self, interpreter: Interpreter, op: CallTirInplaceOp, args: PythonValues) -> PythonValues:
        values = [np.copy(arg, order="C") for arg in args]
        new = iter(run_kernel_in_place(interpreter, op.callee, values, op.new_types, op.size_texts))
        results = [next(new) if n == -1 else values[n] for n in op.positions]
        return (tuple(results) if isinstance(op.output.type, TupleType) else results[0],)

    @impl(CallInplacePackedOp)
    def run_call_inplace_packed(
        self, interpreter: Interpreter, op: CallInplacePackedOp, args: PythonValues
    ) -> PythonValues:
        values = tuple(np.copy(arg, order="C") if n in op.positions else arg for n, arg in enumerate(args))
        return self._checked(interpreter, op, values)

    @impl(CallDpsPackedOp)
    def run_call_dps_packed(self, interpreter: Interpreter, op: CallDpsPackedOp, args: PythonValues) -> PythonValues:
        sizes, types = _sizes(interpreter), result_types(op.output.type)
        results = [np.zeros(known_shape_of(type, sizes), numpy_dtype(dtype_of_tensor(type))) for type in types]
        self._call(op.func_name.data, (*args, *results))
        return (tuple(results) if isinstance(op.output.type, TupleType) else results[0],)

    @impl(CallPackedOp)
    def run_call_packed(self, interpreter: Interpreter, op: CallPackedOp, args: PythonValues) -> PythonValues:
        return self._checked(interpreter, op, args)

    @impl(CallPurePackedOp)
    def run_call_pure_packed(self, interpreter: Interpreter, op: CallPurePackedOp, args: PythonValues) -> PythonValues:
        return self._checked(interpreter, op, args)

    @impl(ApplyOp)
    def run_apply(self, interpreter: Interpreter, op: ApplyOp, args: PythonValues) -> PythonValues:
        types = [type_of_value(value, arg.type) for value, arg in zip(args, op.args, strict=True)]
        try:
            func, _ = op.template.function(types)
        except (TeError, SizeError) as error:
            raise ArgumentError(f"{location_of(op)}{op.name}: {error}") from None
        (value,) = self.call_func(interpreter, func, args)
        return (_match(f"{location_of(op)}{op.name}", value, op.output.type, _sizes(interpreter)),)

    def _call(self, name: str, args: Sequence[Value]) -> Value:
        function = get_global_func(name) if self.packed is None else self.packed[name]
        return call_function(name, function, args)

    def _checked(
        self, interpreter: Interpreter, op: CallPackedOp | CallPurePackedOp | CallInplacePackedOp, args: PythonValues
    ) -> PythonValues:
        """The checked result of a packed function, which may be None where nothing reads it."""
        name = op.func_name.data
        result = self._call(name, args)
        if result is None and next(iter(op.output.uses), None) is None:
            return (None,)
        return (_match(f"result of packed function {name!r}", result, op.output.type, _sizes(interpreter)),)

    @impl(DataflowOp)
    def run_dataflow(self, interpreter: Interpreter, op: DataflowOp, args: PythonValues) -> PythonValues:
        return run_region(interpreter, op.body, ())

    @impl(IfOp)
    def run_if(self, interpreter: Interpreter, op: IfOp, args: PythonValues) -> PythonValues:
        around = _sizes(interpreter)
        interpreter.set_data(RelayFunctions, "sizes", dict(around))
        try:
            return run_region(interpreter, op.then if args[0] else op.orelse, ())
        finally:
            interpreter.set_data(RelayFunctions, "sizes", around)

    @impl(MatchCastOp)
    def run_match_cast(self, interpreter: Interpreter, op: MatchCastOp, args: PythonValues) -> PythonValues:
        return (_match(f"{location_of(op)}{op.name}", args[0], op.output.type, _sizes(interpreter)),)

    @impl(TupleOp)
    def run_tuple(self, interpreter: Interpreter, op: TupleOp, args: PythonValues) -> PythonValues:
        return (tuple(args),)

    @impl(TupleGetOp)
    def run_tuple_get(self, interpreter: Interpreter, op: TupleGetOp, args: PythonValues) -> PythonValues:
        return (args[0][op.index.value.data],)

    @impl(AllocTensorOp)
    def run_alloc_tensor(self, interpreter: Interpreter, op: AllocTensorOp, args: PythonValues) -> PythonValues:
        shape = known_shape_of(op.output.type, _sizes(interpreter))
        return (np.zeros(shape, numpy_dtype(dtype_of_tensor(op.output))),)

    @impl(ToVdeviceOp)
    def run_to_vdevice(self, interpreter: Interpreter, op: ToVdeviceOp, args: PythonValues) -> PythonValues:
        return (np.copy(args[0], order="C"),)

    @impl(HintOnDeviceOp)
    def run_hint_on_device(self, interpreter: Interpreter, op: HintOnDeviceOp, args: PythonValues) -> PythonValues:
        return args

    @impl(ShapeOp)
    def run_shape(self, interpreter: Interpreter, op: ShapeOp, args: PythonValues) -> PythonValues:
        sizes = _sizes(interpreter)
        return (tuple(_number(size, sizes) for size in known_shape(op.output.type) or ()),)

    @impl(PrimValueOp)
    def run_prim_value(self, interpreter: Interpreter, op: PrimValueOp, args: PythonValues) -> PythonValues:
        return (_number(number_of(op.output.type), _sizes(interpreter)),)  # pyright: ignore[reportArgumentType]

    @impl(StringOp)
    def run_string(self, interpreter: Interpreter, op: StringOp, args: PythonValues) -> PythonValues:
        return (op.text.data,)

    @impl(FuncRefOp)
    def run_func_ref(self, interpreter: Interpreter, op: FuncRefOp, args: PythonValues) -> PythonValues:
        callee = interpreter.get_op_for_symbol(op.callee)
        return (lambda *values: interpreter.call_op(callee, values)[0],)

    @impl(ShapeOfOp)
    def run_shape_of(self, interpreter: Interpreter, op: ShapeOfOp, args: PythonValues) -> PythonValues:
        return (tuple(map(int, np.shape(args[0]))),)


register_impls(RelaxFunctions)


def _sizes(interpreter: Interpreter) -> Sizes:
    return interpreter.get_data(RelayFunctions, "sizes", Sizes)


def _number(value: Any, sizes: Sizes) -> Any:
    return evaluate_size(value, sizes) if isinstance(value, str) else value


def _match(place: str, value: Value, type: Attribute, sizes: Sizes) -> Value:
    return _match_all(place, [value], [type], sizes)[0]


def _match_all(place: str, values: Sequence[Value], types: Sequence[Attribute], sizes: Sizes) -> list[Value]:
    """Values converted to types, whose sizes are bound; raises ArgumentError for a value of another type."""
    checkers = [type_checker(type, cpu()) for type in types]
    try:
        matched = [bind(value, sizes) for (bind, _), value in zip(checkers, values, strict=True)]
        for (_, check), value in zip(checkers, matched, strict=True):
            if check is not None:
                check(value, sizes)
    except Mismatch as error:
        raise argument_error(place, error) from None
    return matched
