"""Conversion of nodes to a function of the `tir` dialect."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Block, Operation, SSAValue

from ....core.dtypes import mlir_type
from ....dialects.tir import EvaluateOp, ForOp, FuncOp, IfOp, TirBuilder
from ....dialects.tir.tree import treeify
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, Var
from ....expressions.write_expressions import ExpressionEmitter
from . import stmt as nodes
from .expr import Broadcast, Buffer, BufferArg, BufferLoad, OtherExpr, Ramp
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
    known: dict[PrimExpr, SSAValue] = {var: values[value] for value, var in reader.vars.items() if value in values}
    _StatementWriter(values, known).write(TirBuilder(func.body.block, func.location), body)
    treeify(func)
    return func


class _ExpressionWriter(ExpressionEmitter):
    """Emits the expressions of one statement. values: the new value of each value of the original function."""

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], values: Mapping[SSAValue, SSAValue]):
        super().__init__(builder, known, {})
        self.values = values

    def buffer(self, buffer: Buffer) -> SSAValue:
        return self.values.get(buffer.value, buffer.value)

    def _emit(self, expr: PrimExpr) -> SSAValue:
        match expr:
            case BufferLoad():
                return self.builder.load(self.buffer(expr.buffer), [self.known[index] for index in expr.indices])
            case Ramp():
                return self.builder.ramp(self.known[expr.base], self.known[expr.stride], expr.lanes)
            case Broadcast():
                return self.builder.broadcast(self.known[expr.value], expr.lanes)
            case BufferArg():
                return self.values.get(expr.value, expr.value)
            case OtherExpr():
                return self.copy(expr.operation, expr.args).results[expr.index]
            case Var():
                raise TeError(f"variable {expr.name} is declared by no loop, let or parameter around its use")
            case _:
                return super()._emit(expr)

    def copy(self, op: Operation, args: tuple[PrimExpr, ...]) -> Operation:
        """A copy of an op with these operands and empty regions."""
        operands = [self.write(arg) for arg in args]
        new = op.clone_without_regions()
        new.operands = operands
        return self.builder.insert(new)


class _StatementWriter:
    def __init__(self, values: dict[SSAValue, SSAValue], known: dict[PrimExpr, SSAValue]):
        self.values = values
        self.known = known

    def _expressions(self, builder: TirBuilder) -> _ExpressionWriter:
        return _ExpressionWriter(builder, self.known, self.values)

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
            case nodes.Evaluate():
                builder.insert(EvaluateOp(writer.write(node.value)))
            case nodes.Declaration():
                copy = writer.copy(node.op, node.args)
                self.values |= zip(node.op.results, copy.results, strict=True)
                self.write(builder, node.body)
            case nodes.Block():
                self.write(builder, node.contents)
            case nodes.BlockRealize() if isinstance(node.op, FuncOp):
                self.write(builder, node.block)
            case nodes.OtherStmt():
                self._other(builder, writer.copy(node.op, node.args), node)
            case _:
                raise TeError(f"{node!r}, expected a statement")

    def _loop(self, builder: TirBuilder, node: nodes.For) -> None:
        low, extent = self._bounds(builder, node)
        annotations = node.annotations if isinstance(node.annotations, DictionaryAttr) else None
        loop = ForOp(
            node.loop_var.name,
            low,
            extent,
            mlir_type(node.loop_var.data_type),
            kind=node.kind.name.lower(),
            thread=node.thread_tag,
            annotations=annotations,
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
