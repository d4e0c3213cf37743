"""Conversion of nodes to a function of the `tir` dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ....core.dtypes import mlir_type
from ....dialects.text.names import source_name
from ....dialects.tir import (
    BufferOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    ReturnOp,
    TirBuilder,
    memory_space,
)
from ....dialects.tir.annotations import annotation_key
from ....dialects.tir.tree import treeify
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import ExternCall
from ....expressions.errors import TeError
from ....expressions.expr import Call, IntImm, PrimExpr, Var
from ....expressions.statements import BufferElement
from ....expressions.write_expressions import ExpressionEmitter
from ....expressions.write_statements import write_call
from . import blocks
from . import stmt as nodes
from .attributes import attribute_of
from .expr import (
    Broadcast,
    Buffer,
    BufferArg,
    BufferLoad,
    BufferOperand,
    ExternCallExpr,
    OtherExpr,
    PointedBuffer,
    Ramp,
    Shuffle,
)
from .functor import accessed_buffers
from .reading import NodeReader


def write_function(reader: NodeReader, body: nodes.Stmt) -> FuncOp:
    """A copy of the function that was read, with another body. TeError for an undeclared variable."""
    source = reader.func
    func = source.clone()
    values: dict[SSAValue, SSAValue] = dict(zip(source.body.block.args, func.body.block.args, strict=True))
    prologue, kept = reader.prologue(), set[Operation]()
    for old, new in zip(list(source.body.block.ops), list(func.body.block.ops), strict=True):
        if old in prologue:
            kept.add(new)
            values |= zip(old.results, new.results, strict=True)
    for op in reversed(list(func.body.block.ops)):
        if op not in kept:
            op.detach()
            op.erase(safe_erase=False)
    variables = reader.vars | reader.handles
    known: dict[PrimExpr, SSAValue] = {var: values[value] for value, var in variables.items() if value in values}
    write_statements(func, values, known, {}, body)
    return func


def write_statements(
    func: FuncOp,
    values: dict[SSAValue, SSAValue],
    known: dict[PrimExpr, SSAValue],
    memory: dict[DeclaredBuffer, SSAValue],
    body: nodes.Stmt,
) -> None:
    """Writes the statements of a node to the end of a function.

    values: the new value of each value of another function from which nodes were read.  known: the values of variables.
    memory: the values of buffers.
    """
    builder = TirBuilder(func.body.block, func.location)
    writer = _StatementWriter(values, known, memory)
    writer.declare_views(builder, body, list(known))
    writer.write(builder, body)
    _check_values(func)
    treeify(func)


def _check_values(func: FuncOp) -> None:
    """TeError for an op that uses a value of another function."""
    for op in func.body.walk():
        for operand in op.operands:
            if not func.is_ancestor(operand.owner):
                raise TeError(f"{_description(operand)} is neither a parameter nor allocated around its use")


def _description(value: SSAValue) -> str:
    """A buffer, an address or a number by its name."""
    if isinstance(value.type, MemRefType):
        name = value.owner.buffer_name.data if isinstance(value.owner, BufferOp) else source_name(value)
        return f"buffer {name or value.name_hint}"
    return f"{'address' if isinstance(value.type, HandleType) else 'variable'} {source_name(value) or value.name_hint}"


class _ExpressionWriter(ExpressionEmitter):
    """Emits the expressions of one statement. values: the new value of each value of the original function.  memory:
    the values of buffers."""

    def __init__(
        self,
        builder: TirBuilder,
        known: Mapping[PrimExpr, SSAValue],
        values: Mapping[SSAValue, SSAValue],
        memory: Mapping[DeclaredBuffer, SSAValue],
    ):
        super().__init__(builder, known, {})
        self.values = values
        self.memory = memory

    def buffer(self, buffer: DeclaredBuffer) -> SSAValue:
        """The value of a buffer. TeError for one that is neither a parameter, allocated, nor on known memory."""
        if buffer in self.memory:
            return self.memory[buffer]
        if isinstance(buffer, Buffer):
            return self.values.get(buffer.value, buffer.value)
        if isinstance(buffer, PointedBuffer) and buffer.pointer in self.known:
            return self.view(buffer)
        raise TeError(f"buffer {buffer.name} is neither a parameter nor allocated around its use")

    def view(self, buffer: PointedBuffer) -> SSAValue:
        """Declares a buffer on the memory of its pointer."""
        shape, strides = ([self.number(each) for each in part] for part in (buffer.shape, buffer.strides))
        view = DeclBufferOp(
            buffer.name,
            self.known[buffer.pointer],
            mlir_type(buffer.data_type),
            shape,
            strides=strides or None,
            offset=self.number(buffer.elem_offset),
            space=memory_space(buffer.memory),
            axis_separators=buffer.axis_separators,
        )
        return self.builder.insert(view).buffer

    def call(self, call: ExternCall) -> None:
        """Emits a call of an external function, for its effect."""
        write_call(self, {buffer: self.buffer(buffer) for buffer in call.buffers}, call)

    def _emit(self, expr: PrimExpr) -> SSAValue:
        match expr:
            case BufferLoad():
                return self.builder.load(self.buffer(expr.buffer), [self.known[index] for index in expr.indices])
            case Ramp():
                return self.builder.ramp(self.known[expr.base], self.known[expr.stride], expr.lanes)
            case Broadcast():
                return self.builder.broadcast(self.known[expr.value], expr.lanes)
            case Shuffle():
                return self.builder.shuffle([self.known[vector] for vector in expr.vectors], expr.lanes)
            case BufferElement():
                *outer, last = (self.known[index] for index in expr.indices)
                place = last if expr.lanes == 1 else self.builder.ramp(last, 1, expr.lanes)
                return self.builder.load(self.buffer(expr.buffer), [*outer, place])
            case BufferOperand():
                return self.buffer(expr.buffer)
            case BufferArg():
                return self._memory_of(expr.value)
            case OtherExpr():
                return self.copy(expr.operation, expr.args).results[expr.index]
            case Var():
                raise TeError(f"variable {expr.name} is declared by no loop, let or parameter around its use")
            case _:
                return super()._emit(expr)

    def _memory_of(self, value: SSAValue) -> SSAValue:
        """The value of a buffer of the original function."""
        known = (new for buffer, new in self.memory.items() if isinstance(buffer, Buffer) and buffer.value is value)
        return self.values[value] if value in self.values else next(known, value)

    def copy(self, op: Operation, args: tuple[PrimExpr, ...]) -> Operation:
        """A copy of an op with these operands and empty regions."""
        operands = [self.write(arg) for arg in args]
        new = op.clone_without_regions()
        new.operands = operands
        return self.builder.insert(new)


class _StatementWriter:
    def __init__(
        self,
        values: dict[SSAValue, SSAValue],
        known: dict[PrimExpr, SSAValue],
        memory: dict[DeclaredBuffer, SSAValue],
    ):
        self.values = values
        self.known = known
        self.memory = memory

    def _expressions(self, builder: TirBuilder) -> _ExpressionWriter:
        return _ExpressionWriter(builder, self.known, self.values, self.memory)

    def declare_views(self, builder: TirBuilder, body: nodes.Stmt, pointers: Sequence[PrimExpr]) -> None:
        """Declares the buffers of static shape on the memory of some pointers that statements use."""
        read, written = accessed_buffers(body)
        for buffer in sorted(read | written, key=lambda each: each.name):
            sizes = (*buffer.shape, *buffer.strides, buffer.elem_offset)
            if isinstance(buffer, PointedBuffer) and buffer.pointer in pointers and buffer not in self.memory:
                if all(isinstance(size, IntImm) for size in sizes):
                    self.memory[buffer] = self._expressions(builder).view(buffer)

    def _bounds(self, builder: TirBuilder, loop: nodes.For) -> list[int | SSAValue]:
        writer = self._expressions(builder)
        return [writer.number(bound) for bound in (loop.min, loop.extent)]

    def write(self, builder: TirBuilder, node: nodes.Stmt) -> None:
        if node.underneath is not None:
            builder.location = node.underneath.location
        writer = self._expressions(builder)
        match node:
            case nodes.SeqStmt():
                for inner in node.seq:
                    self.write(builder, inner)
            case nodes.For():
                self._loop(builder, node)
            case nodes.BufferStore():
                indices = [writer.write(index) for index in node.indices]
                builder.store(writer.write(node.value), writer.buffer(node.buffer), indices)
            case nodes.IfThenElse():
                branch = builder.insert(IfOp(writer.write(node.condition)))
                self.write(TirBuilder(branch.then.block, builder.location), node.then_case)
                if node.else_case is not None:
                    self.write(TirBuilder(branch.orelse.block, builder.location), node.else_case)
            case nodes.LetStmt():
                self.known[node.var] = builder.let(node.var.name, writer.write(node.value))
                self.write(builder, node.body)
            case nodes.Evaluate(value=ExternCallExpr() as called):
                writer.call(called.call)
            case nodes.Evaluate(value=Call(op="ret") as called):
                builder.insert(ReturnOp(writer.write(called.args[0])))
            case nodes.Evaluate():
                builder.insert(EvaluateOp(writer.write(node.value)))
            case nodes.Declaration():
                copy = writer.copy(node.op, node.args)
                self.values |= zip(node.op.results, copy.results, strict=True)
                declared = getattr(node, "buffer", None)
                if isinstance(declared, DeclaredBuffer) and not isinstance(declared, Buffer):
                    self.memory[declared] = copy.results[0]
                is_pointer = isinstance(copy.results[0].type, HandleType)
                if isinstance(node, nodes.Allocate | nodes.AllocateConst) and is_pointer:
                    self.known[node.buffer_var] = copy.results[0]
                    self.declare_views(builder, node.body, [node.buffer_var])
                self.write(builder, node.body)
            case nodes.AssertStmt(body=nodes.Stmt() as body):
                self._other(builder, writer.copy(node.op, node.args), node)
                self.write(builder, body)
            case blocks.Block():
                self.write(builder, node.contents)
            case blocks.BlockRealize() if isinstance(node.op, FuncOp):
                self.write(builder, node.block)
            case nodes.OtherStmt():
                self._other(builder, writer.copy(node.op, node.args), node)
            case _:
                raise TeError(f"{node!r}, expected a statement")

    def _loop(self, builder: TirBuilder, node: nodes.For) -> None:
        low, extent = self._bounds(builder, node)
        named = {annotation_key(key): attribute_of(value) for key, value in node.annotations.items()}
        loop = ForOp(
            node.loop_var.name,
            low,
            extent,
            mlir_type(node.loop_var.data_type),
            kind=node.kind.name.lower(),
            thread=node.thread_tag,
            annotations=named or None,
        )
        self.known[node.loop_var] = builder.insert(loop).variable
        self.write(TirBuilder(loop.body.block, builder.location), node.body)

    def _other(self, builder: TirBuilder, copy: Operation, node: nodes.OtherStmt) -> None:
        for region, old, variables, body in zip(
            copy.regions, node.op.regions, node.variables, node.bodies, strict=True
        ):
            region.add_block(Block(arg_types=[argument.type for argument in old.block.args]))
            for argument, value, variable in zip(region.block.args, old.block.args, variables, strict=True):
                argument.name_hint = value.name_hint
                self.known[variable] = argument
                self.values[value] = argument
            self.write(TirBuilder(region.block, builder.location), body)
