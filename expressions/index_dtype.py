"""Conversion of the sizes and axes of tensors to another integer type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from .axes import IterVar, Range
from .buffers import Argument, Buffer, BufferPointer, ExternCall
from .errors import TeError
from .expr import BITWISE, Call, IfThenElse, IntImm, PrimExpr, SizeVar, Var, binary_expr, cast
from .extern import ExternOp
from .rewrite import ExpressionRewriter
from .scan import ScanOp
from .statements import Allocation, Assertion, Branch, BufferElement, Evaluation, Let, Loop, Statement, Store, While
from .tensor import ComputeOp, Operation, PlaceholderOp, ProducerLoad, Tensor, topological_order

INDEX_DTYPES = ("int32", "int64")


def with_index_dtype(args: Sequence[Tensor | Var], dtype: str) -> list[Tensor | Var]:
    """Copies of the arguments, and of the operations that compute them, with sizes and axes of type `dtype`.

    The element types of tensors do not change. TeError unless `dtype` is in `INDEX_DTYPES`.
    """
    if dtype not in INDEX_DTYPES:
        raise TeError(f"index_dtype_override {dtype!r}, expected {' or '.join(INDEX_DTYPES)}")
    changed = _IndexDtypeRewriting(dtype)
    for op in topological_order([arg for arg in args if isinstance(arg, Tensor)]):
        changed.add(op)
    return [changed.tensors[arg] if isinstance(arg, Tensor) else changed.variable(arg) for arg in args]


def requires_wide_indices(args: Sequence[Tensor | Var]) -> bool:
    """Whether a tensor of a program, unknown extents counted as 1, has so many elements that positions in row-major
    order, which formulas compute, do not fit int32."""
    operations = topological_order([arg for arg in args if isinstance(arg, Tensor)])
    return any(position_dtype(op.shape_of(n)) == "int64" for op in operations for n in range(op.num_outputs))


def position_dtype(shape: Sequence[PrimExpr]) -> str:
    """The data type of positions in row-major order among the elements of a tensor, unknown extents counted as 1: int32
    if it holds all of them, else int64."""
    return "int32" if prod(extent.value for extent in shape if isinstance(extent, IntImm)) <= 2**31 else "int64"


class _IndexDtypeRewriting(ExpressionRewriter):
    """Rewrites variables, expressions, tensors and operations to another index type."""

    def __init__(self, dtype: str):
        super().__init__({})
        self.dtype = dtype
        self.tensors: dict[Tensor, Tensor] = {}
        self.operations: dict[Operation, Any] = {}
        self.buffers: dict[Buffer, Buffer] = {}

    def add(self, op: Operation) -> None:
        if op in self.operations:
            return
        shape = tuple(self.index(extent) for extent in op.shape)
        if isinstance(op, ComputeOp):
            axis, reduced = (tuple(self.axis(a) for a in axes) for axes in (op.axis, op.reduce_axis))
            body = self.body(op.body, reduced)
            new: Operation = replace(op, shape=shape, axis=axis, reduce_axis=reduced, body=body)
        elif isinstance(op, ScanOp):
            for inner in (*(state.op for state in op.state), *op.steps):
                self.add(inner)
            init, state, rows = (tuple(self.tensors[t] for t in each) for each in (op.init, op.state, op.rows))
            steps = tuple(self.operations[step] for step in op.steps)
            time = self.variable(op.time)
            new = replace(op, shape=shape, time=time, init=init, state=state, steps=steps, rows=rows)
        elif isinstance(op, ExternOp):
            shapes = tuple(tuple(self.index(extent) for extent in each) for each in op.shapes)
            buffers, body = tuple(map(self.buffer, op.buffers)), self.statements(op.body)
            inputs = tuple(self.tensors[tensor] for tensor in op.inputs)
            new = replace(op, shape=shape, shapes=shapes, inputs=inputs, buffers=buffers, body=body)
        else:
            assert isinstance(op, PlaceholderOp)
            new = replace(op, shape=shape)
        self.operations[op] = new
        for n in range(op.num_outputs):
            self.tensors[op.output(n)] = new.output(n)

    def statements(self, body: Iterable[Statement]) -> tuple[Statement, ...]:
        """Rewrites statements to use the new buffers."""
        return tuple(map(self.statement, body))

    def statement(self, each: Statement) -> Statement:
        match each:
            case ExternCall():
                return replace(each, args=tuple(map(self.argument, each.args)))
            case Store(target, value):
                new = self.expr(target)
                assert isinstance(new, BufferElement)
                return Store(new, cast(value.dtype, self.expr(value)))
            case Loop(variable, low, extent, body):
                counter = self.variable(variable)
                first, count = (cast(counter.dtype, self.expr(bound)) for bound in (low, extent))
                return replace(each, variable=counter, low=first, extent=count, body=self.statements(body))
            case While(condition, body):
                return While(self.expr(condition), self.statements(body))
            case Branch(condition, then, orelse):
                return Branch(self.expr(condition), self.statements(then), self.statements(orelse))
            case Evaluation(value):
                return Evaluation(self.expr(value))
            case Assertion(condition):
                return replace(each, condition=self.expr(condition))
            case Let(variable, value):
                new = self.expr(value)
                return Let(self._renamed(variable, new.dtype), new)
            case Allocation(buffer):
                return Allocation(self.buffer(buffer))

    def _renamed(self, variable: Var, dtype: str) -> Var:
        """The variable of a value that has the data type `dtype` now."""
        new = variable if variable.dtype == dtype else Var(variable.name, dtype)
        self.known[variable] = new
        return new

    def buffer(self, buffer: Buffer) -> Buffer:
        """The new buffer of a buffer."""
        if buffer not in self.buffers:
            shape = tuple(map(self.index, buffer.shape))
            self.buffers[buffer] = Buffer(
                buffer.name, shape, buffer.data_type, memory=buffer.memory, axis_separators=buffer.axis_separators
            )
        return self.buffers[buffer]

    def argument(self, arg: Argument) -> Argument:
        """Rewrites an argument of a call, which keeps its data type."""
        match arg:
            case Buffer():
                return self.buffer(arg)
            case BufferPointer():
                read = None if arg.read is None else self.index(arg.read)
                return replace(
                    arg, buffer=self.buffer(arg.buffer), indices=tuple(map(self.index, arg.indices)), read=read
                )
            case _:
                return cast(arg.dtype, self.expr(arg))

    def exprs(self, exprs: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Rewrites several expressions, which keep their data types."""
        return tuple(cast(value.dtype, self.expr(value)) for value in exprs)

    def axis(self, axis: IterVar) -> IterVar:
        assert axis.dom is not None
        dom = Range(self.index(axis.dom.min), self.index(axis.dom.extent))
        variable = self.variable(axis.var)
        return IterVar(dom, variable, axis.kind, axis.thread_tag)

    def variable(self, variable: Var) -> Var:
        if variable.dtype not in INDEX_DTYPES:
            return variable
        kind = SizeVar if isinstance(variable, SizeVar) else Var
        replacement = self.known.setdefault(variable, kind(variable.name, self.dtype))
        assert isinstance(replacement, Var)
        return replacement

    def index(self, expr: PrimExpr) -> PrimExpr:
        return cast(self.dtype, self.expr(expr))

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        match expr:
            case Var():
                return self.variable(expr)
            case Call() if expr.op in BITWISE:
                return binary_expr(expr.op, *children)
            case IfThenElse():
                return expr.with_children(children)
            case Call():
                return Call(expr.dtype, expr.op, [cast(a.dtype, b) for a, b in zip(expr.args, children, strict=True)])
            case BufferElement():
                return BufferElement(self.buffer(expr.buffer), children, expr.lanes)
            case ProducerLoad():
                return ProducerLoad(self.tensors[expr.producer], children)
            case _:
                return expr.with_children(children)
