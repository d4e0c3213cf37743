"""Implementations of `te`: tensors element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Block, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...dialects import te
from ...dialects.attributes import TIR_NOALIAS
from ...dialects.te import tensor_type_of
from ...dialects.tir import Mixed, SymbolOp
from ..oracle.calls import promises_noalias
from ..oracle.checks import extent, mark_written, match_buffer
from ..runtime.signature import BufferParameter, FunctionSignature, RuntimeParameter, ScalarParameter
from .elements import InterpreterBuffer, load_element, new_buffer, store_element
from .functions import interpreter_arguments
from .regions import evaluate_all_mixed, evaluate_mixed, run_op, run_ops, run_region, scope
from .state import StatefulFunctions


@register_impls
class TeFunctions(StatefulFunctions):
    """Tensors are buffers, computed at the position of their op."""

    @impl_callable(te.FuncOp)
    def call_func(self, interpreter: Interpreter, op: te.FuncOp, args: PythonValues) -> PythonValues:
        self.begin_call(interpreter)
        passed = dict(zip(op.params, interpreter_arguments(_signature(op), args, self.uninitialized), strict=True))
        with scope(interpreter, op.sym_name.data):
            _bind_sizes(interpreter, passed)
            interpreter.set_data(TeFunctions, "passed", passed)
            run_ops(interpreter, op.body.block)
        return ()

    def _tensor(self, interpreter: Interpreter, tensor: SSAValue, shape: Sequence[Mixed]) -> InterpreterBuffer:
        """The buffer of a tensor: its argument, or new memory for an intermediate tensor."""
        name, dtype = _name(tensor), dtype_of(tensor_type_of(tensor).element_type).name
        passed: dict[SSAValue, Any] = interpreter.get_data(TeFunctions, "passed", dict[SSAValue, Any])
        extents = evaluate_all_mixed(interpreter, shape)
        if tensor in passed:
            return InterpreterBuffer.of(match_buffer(passed[tensor], name, dtype, extents, None), name)
        return new_buffer(name, dtype, extents)

    @impl(te.PlaceholderOp)
    def run_placeholder(self, interpreter: Interpreter, op: te.PlaceholderOp, args: PythonValues) -> PythonValues:
        return (self._tensor(interpreter, op.result, op.mixed_shape),)

    @impl(te.ReadOp)
    def run_read(self, interpreter: Interpreter, op: te.ReadOp, args: PythonValues) -> PythonValues:
        buffer, *index = args
        return (load_element(buffer, index),)

    @impl(te.ComputeOp)
    def run_compute(self, interpreter: Interpreter, op: te.ComputeOp, args: PythonValues) -> PythonValues:
        views = [self._tensor(interpreter, tensor, op.mixed_shape) for tensor in op.tensors]
        bounds = [evaluate_all_mixed(interpreter, (axis.low, axis.extent)) for axis in op.axes[op.rank :]]
        domain = [range(low, low + length) for low, length in bounds]
        for point in _indices([range(n) for n in evaluate_all_mixed(interpreter, op.mixed_shape)]):
            values = _reduction(interpreter, op, point, domain) if op.is_reduction else None
            values = run_region(interpreter, op.body, point, op.op_name.data) if values is None else values
            for view, value in zip(views, values, strict=True):
                store_element(view, point, value)
        return tuple(views)

    @impl(te.ScanOp)
    def run_scan(self, interpreter: Interpreter, op: te.ScanOp, args: PythonValues) -> PythonValues:
        views = [
            self._tensor(interpreter, tensor, shape) for tensor, shape in zip(op.tensors, op.mixed_shapes, strict=True)
        ]
        inits: list[InterpreterBuffer] = list(interpreter.get_values(op.inits))
        for init, view in zip(inits, views, strict=True):
            for index in _indices([range(min(init.shape[0], view.shape[0])), *map(range, view.shape[1:])]):
                store_element(view, index, load_element(init, index))
        for time in range(inits[0].shape[0], views[0].shape[0]):
            rows = run_region(interpreter, op.body, (time, *views), op.op_name.data)
            for row, view in zip(rows, views, strict=True):
                for index in _indices([*map(range, row.shape)]):
                    store_element(view, (time, *index), load_element(row, index))
        return tuple(views)

    @impl(te.ExternOp)
    def run_extern(self, interpreter: Interpreter, op: te.ExternOp, args: PythonValues) -> PythonValues:
        views = [
            self._tensor(interpreter, tensor, shape) for tensor, shape in zip(op.tensors, op.mixed_shapes, strict=True)
        ]
        run_region(interpreter, op.body, (*interpreter.get_values(op.inputs), *views), op.op_name.data)
        for view in views:
            mark_written(view)
        return tuple(views)

    @impl_terminator(te.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: te.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()


def _indices(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """All points, the last dimension fastest; unlike itertools.product it stores no range."""
    if not all(map(len, ranges)):
        return
    index = [each.start for each in ranges]
    while True:
        yield tuple(index)
        for d in reversed(range(len(ranges))):
            index[d] += 1
            if index[d] < ranges[d].stop:
                break
            index[d] = ranges[d].start
        else:
            return


# Reductions


def _reduction(
    interpreter: Interpreter, op: te.ComputeOp, point: Sequence[int], domain: Sequence[range]
) -> PythonValues:
    """The values of one element: the init of a reduction, combined with each active step, in order."""
    values = run_region(interpreter, op.init, point, "init")
    for step in _indices(domain):
        yielded = _step(interpreter, op, (*point, *step))
        if yielded is not None:
            values = run_region(interpreter, op.combine, (*values, *yielded), "combine")
    return values


def _step(interpreter: Interpreter, op: te.ComputeOp, point: Sequence[int]) -> PythonValues | None:
    """The operands of the yield in one step of a reduction, None if its condition is false: then only the
    condition is evaluated.
    """
    block = op.body.block
    last = block.last_op
    assert isinstance(last, te.YieldOp)
    with scope(interpreter, op.op_name.data):
        interpreter.set_values(zip(block.args, point, strict=True))
        first = set(_backward_slice(block, last.condition))
        for inner in block.ops:
            if inner in first:
                run_op(interpreter, inner)
        if last.condition is not None and not evaluate_mixed(interpreter, last.condition):
            return None
        run_ops(interpreter, block, lambda inner: inner not in first)
        return interpreter.get_values(last.values)


def _backward_slice(block: Block, value: SSAValue | None) -> Iterator[Operation]:
    """The ops of a block that compute a value."""
    todo = [] if value is None else [value]
    while todo:
        op = todo.pop().owner
        if isinstance(op, Operation) and op.parent is block:
            yield op
            todo += [operand for inner in op.walk() for operand in inner.operands]


# Parameters


def _name(tensor: SSAValue) -> str:
    """The name of a tensor or a number in messages."""
    match tensor.owner:
        case te.PlaceholderOp() as op:
            return op.tensor_name.data
        case te.ComputeOp() | te.ScanOp() | te.ExternOp() as op:
            return op.op_name.data if len(op.tensors) == 1 else f"{op.op_name.data}.v{list(op.tensors).index(tensor)}"  # pyright: ignore[reportArgumentType]
        case SymbolOp() as op:
            return op.var_name.data
        case _:
            return tensor.name_hint or "parameter"


def _signature(func: te.FuncOp) -> FunctionSignature:
    """The signature of a function."""
    parameters = tuple(map(_parameter, func.params))
    attrs = {} if func.func_attrs is None else func.func_attrs.data
    return FunctionSignature(func.sym_name.data, parameters, None, promises_noalias(attrs.get(TIR_NOALIAS)))


def _parameter(param: SSAValue) -> RuntimeParameter:
    if not isinstance(param.type, TensorType):
        return ScalarParameter(_name(param), dtype_of(param.type).name)
    type = tensor_type_of(param)
    shape = tuple(None if n < 0 else n for n in type.get_shape())
    written = not isinstance(param.owner, te.PlaceholderOp)
    return BufferParameter(_name(param), dtype_of(type.element_type).name, shape, written=written)


def _shape(tensor: SSAValue) -> Sequence[Mixed]:
    """The extents of a tensor, from its op."""
    match tensor.owner:
        case te.PlaceholderOp() | te.ComputeOp() as op:
            return op.mixed_shape
        case te.ScanOp() | te.ExternOp() as op:
            return op.mixed_shapes[list(op.tensors).index(tensor)]  # pyright: ignore[reportArgumentType]
        case _:
            return ()


def _bind_sizes(interpreter: Interpreter, passed: dict[SSAValue, Any]) -> None:
    """Binds each size to its argument, else to an extent of the first tensor of this size."""
    values = {param: value for param, value in passed.items() if isinstance(param.owner, SymbolOp)}
    for tensor, view in passed.items():
        for d, size in enumerate(_shape(tensor)):
            if isinstance(size, SSAValue) and isinstance(size.owner, SymbolOp) and size not in values:
                symbol = size.owner.var_name.data
                values[size] = extent(view, d, _name(tensor), symbol, dtype_of(size.type).name)
    interpreter.set_values(values.items())
