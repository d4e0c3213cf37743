"""Implementations of `relay`: graphs, operator by operator, in numpy. They define the semantics of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.interpreter import Interpreter, PythonValues, impl, impl_callable, register_impls
from xdsl.ir import Attribute

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError
from ...expressions.sizes import evaluate_size
from ...module import constants_of
from ...operators.relay import (
    OPERATIONS,
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    OperatorOp,
    constant_array,
    dtype_of_tensor,
    free_sizes,
    shape_of,
)
from ..oracle.context import location_of
from ..runtime.arguments import describe_argument
from ..runtime.dlpack import from_dlpack
from .elements import array_of
from .regions import run_region
from .state import StatefulFunctions

Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = dict[str, int]
"""The values of size names in a call."""


class RelayFunctions(StatefulFunctions):
    """Operators on tensors, which are immutable arrays. Arrays of constants are stored beside the module."""

    @impl_callable(FuncOp)
    def call_func(self, interpreter: Interpreter, op: FuncOp, args: PythonValues) -> PythonValues:
        self.begin_call(interpreter)
        arrays = [_array(arg) for arg in args]
        around: Sizes = interpreter.get_data(RelayFunctions, "sizes", Sizes)
        interpreter.set_data(RelayFunctions, "sizes", {**around, **_bind_sizes(op, arrays)})
        try:
            return run_region(interpreter, op.body, arrays, op.sym_name.data)
        finally:
            interpreter.set_data(RelayFunctions, "sizes", around)

    @impl(CallOp)
    def run_call(self, interpreter: Interpreter, op: CallOp, args: PythonValues) -> PythonValues:
        return tuple(run_kernel(interpreter, op.callee, args, [output.type for output in op.outputs], op.size_texts))

    @impl(IfOp)
    def run_if(self, interpreter: Interpreter, op: IfOp, args: PythonValues) -> PythonValues:
        return run_region(interpreter, op.then if args[0] else op.orelse, ())

    @impl(ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: ConstantOp, args: PythonValues) -> PythonValues:
        assert isinstance(interpreter.module, ModuleOp)
        array = constant_array(op, constants_of(interpreter.module))
        if array is None:
            raise ArgumentError(f"{location_of(op)}{op.name}: no array {op.array_name} stands beside the module")
        return (array,)


def run_kernel(
    interpreter: Interpreter, name: SymbolRefAttr, args: Sequence[Any], types: Sequence[Attribute], texts: Sequence[str]
) -> Sequence[Array]:
    """The results of a call of a graph, or of a function in destination-passing style. types: of the results.  texts:
    the sizes that follow the tensors."""
    callee = interpreter.get_op_for_symbol(name)
    if isinstance(callee, FuncOp):
        return interpreter.call_op(callee, tuple(args))
    return run_kernel_in_place(interpreter, name, list(map(np.copy, args)), types, texts)


def run_kernel_in_place(
    interpreter: Interpreter, name: SymbolRefAttr, args: Sequence[Any], types: Sequence[Attribute], texts: Sequence[str]
) -> Sequence[Array]:
    """The results of a call of a function in destination-passing style, which may write its arguments. types, texts: as
    of `run_kernel`."""
    sizes: Sizes = interpreter.get_data(RelayFunctions, "sizes", Sizes)
    numbers = [evaluate_size(text, sizes) for text in texts]
    outputs = [np.zeros(known_shape_of(type, sizes), numpy_dtype(dtype_of_tensor(type))) for type in types]
    interpreter.call_op(interpreter.get_op_for_symbol(name), (*args, *outputs, *numbers))
    return outputs


def _run_operator(self: RelayFunctions, interpreter: Interpreter, op: OperatorOp, args: PythonValues) -> PythonValues:
    with np.errstate(all="ignore"):
        return op.operator.arrays(args, _attributes(op))


def _attributes(op: OperatorOp) -> dict[str, Any]:
    """The attributes of an operator: `squeeze` removes the extents that are 1 in the type, not those that
    happen to be 1.
    """
    if op.operator.name == "squeeze" and op.attribute_value("axis") is None:
        return {"axis": [d for d, size in enumerate(shape_of(op.args[0])) if size == 1]}
    return op.explicit_attributes


for _name, _operation in OPERATIONS.items():
    setattr(RelayFunctions, f"run_{_name.replace('.', '_')}", impl(_operation)(_run_operator))
register_impls(RelayFunctions)


def _array(value: Any) -> Array:
    array = array_of(value)
    return np.asarray(array) if isinstance(array, np.ndarray | np.generic) else from_dlpack(array)


def known_shape_of(type: Attribute, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor type, given the values of size names."""
    return tuple(size if isinstance(size, int) else evaluate_size(size, sizes) for size in shape_of(type))


def _bind_sizes(op: FuncOp, arrays: Sequence[Array]) -> Sizes:
    """The values of the size names in the types of parameters. Raises ArgumentError for mismatched arrays."""
    name, sizes = op.sym_name.data, Sizes()
    if len(arrays) != len(op.params):
        names = ", ".join(param for param, _ in op.params)
        raise ArgumentError(f"{name}: expected {len(op.params)} arguments ({names}), got {len(arrays)}")
    for (param, value), array in zip(op.params, arrays, strict=True):
        shape, dtype = shape_of(value), dtype_of_tensor(value)
        if array.dtype != numpy_dtype(dtype) or array.ndim != len(shape):
            expected = f"{dtype}[{', '.join(map(str, shape))}]"
            raise ArgumentError(f"{name}: argument {param}: expected {expected}, got {describe_argument(array)}")
        sizes |= {str(size): n for size, n in zip(shape, array.shape, strict=True) if str(size).isidentifier()}
    for (param, value), array in zip(op.params, arrays, strict=True):
        _check_shape(f"{name}: argument {param}", value.type, array, sizes)
    return sizes


def _check_shape(where: str, type: Attribute, array: Array, sizes: Mapping[str, int]) -> None:
    for d, (size, got) in enumerate(zip(shape_of(type), array.shape, strict=True)):
        if isinstance(size, str) and any(name not in sizes for name in free_sizes([], [type])):
            continue
        expected = size if isinstance(size, int) else evaluate_size(size, sizes)
        if expected != got:
            source = "" if isinstance(size, int) else f" ({size})"
            raise ArgumentError(f"{where}: expected extent {expected}{source} of dimension {d}, got {got}")
