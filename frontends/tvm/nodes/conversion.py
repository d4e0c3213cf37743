"""Statements of `te.extern` as nodes, and nodes as statements of `te.extern`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....dialects.tir import AllocateOp
from ....expressions.axes import IterVar
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import BufferPointer, ExternCall
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, as_expr, const
from ....expressions.rewrite import ExpressionRewriter
from ....expressions.statements import (
    Allocation,
    Assertion,
    Branch,
    BufferElement,
    Evaluation,
    Let,
    Loop,
    Statement,
    Store,
    While,
)
from . import stmt as nodes
from .blocks import allocation_of
from .expr import Broadcast, Buffer, BufferLoad, ExternCallExpr, PointerVar, Ramp

_KINDS = {"vectorized": "VECTORIZED", "unrolled": "UNROLLED", "parallel": "PARALLEL", "serial": "SERIAL"}


def nodes_of(statements: Sequence[Statement], memory: Mapping[DeclaredBuffer, Buffer] | None = None) -> nodes.Stmt:
    """The node of statements. memory: the buffers of the nodes that take the places of allocated buffers."""
    return _NodeBuilder(dict(memory or {})).sequence(statements)


class _NodeBuilder:
    def __init__(self, memory: dict[DeclaredBuffer, Buffer]):
        self.memory = memory
        self.loads = _ElementsAsLoads(memory)

    def sequence(self, statements: Sequence[Statement]) -> nodes.Stmt:
        found: list[nodes.Stmt] = []
        for n, each in enumerate(statements):
            if isinstance(each, Let | Allocation):
                found.append(self._declaration(each, statements[n + 1 :]))
                break
            found.append(self._node(each))
        return nodes.seq(*found)

    def _declaration(self, each: Let | Allocation, rest: Sequence[Statement]) -> nodes.Stmt:
        if isinstance(each, Let):
            return nodes.LetStmt(each.variable, self.loads.expr(each.value), self.sequence(rest))
        declared = each.buffer
        op = allocation_of(declared)
        buffer = Buffer(op.buffer, declared.name, declared.shape)
        self.memory[declared] = buffer
        pointer = PointerVar(declared.name, declared.dtype, declared.memory)
        dims = [size for size in declared.shape if not isinstance(size, IntImm)]
        return nodes.Allocate.of_op(
            op, dims, self.sequence(rest), buffer, pointer, declared.dtype, declared.shape, declared.memory
        )

    def _node(self, each: Statement) -> nodes.Stmt:
        match each:
            case Store(target, value):
                load = self.loads.expr(target)
                assert isinstance(load, BufferLoad)
                stored = self.loads.expr(value)
                if target.lanes > 1 and stored.data_type.lanes == 1:
                    stored = Broadcast(stored, target.lanes)
                return nodes.BufferStore(load.buffer, stored, load.indices)
            case Loop(variable, low, extent, body, "thread_binding", thread):
                axis = IterVar(None, variable, "thread", thread or "")
                key = "virtual_thread" if thread == "vthread" else "thread_extent"
                if not isinstance(low, IntImm) or low.value:
                    raise TeError(f"loop {variable.name} of threads from {low!r}, expected 0")
                return nodes.AttrStmt(axis, key, self.loads.expr(extent), self.sequence(body))
            case Loop(variable, low, extent, body, kind):
                bounds = self.loads.expr(low), self.loads.expr(extent)
                return nodes.For(variable, *bounds, nodes.ForKind[_KINDS[kind]], self.sequence(body))
            case While(condition, body):
                return nodes.While(self.loads.expr(condition), self.sequence(body))
            case Branch(condition, then, orelse):
                other = self.sequence(orelse) if orelse else None
                return nodes.IfThenElse(self.loads.expr(condition), self.sequence(then), other)
            case ExternCall():
                return nodes.Evaluate(replace(each, args=tuple(self._argument(arg) for arg in each.args)))
            case Evaluation(value):
                return nodes.Evaluate(self.loads.expr(value))
            case Assertion(condition, message):
                return nodes.AssertStmt(self.loads.expr(condition), message)
            case Let() | Allocation():
                return self.sequence([each])

    def _argument(self, arg: DeclaredBuffer | BufferPointer | PrimExpr) -> DeclaredBuffer | BufferPointer | PrimExpr:
        match arg:
            case PrimExpr():
                return self.loads.expr(arg)
            case BufferPointer():
                indices = tuple(self.loads.expr(index) for index in arg.indices)
                read = None if arg.read is None else self.loads.expr(arg.read)
                return replace(arg, buffer=self.memory.get(arg.buffer, arg.buffer), indices=indices, read=read)
            case _:
                return self.memory.get(arg, arg)


class _ElementsAsLoads(ExpressionRewriter):
    """Replaces elements of buffers by loads."""

    def __init__(self, memory: Mapping[DeclaredBuffer, Buffer]):
        super().__init__({})
        self._memory = memory

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        if not isinstance(expr, BufferElement):
            return super().rebuild(expr, children)
        indices = [*children]
        if expr.lanes > 1:
            indices[-1] = Ramp(indices[-1], 1, expr.lanes)
        return BufferLoad(self._memory.get(expr.buffer, expr.buffer), indices)


class _LoadsAsElements(ExpressionRewriter):
    """Replaces loads by elements of buffers."""

    def __init__(self) -> None:
        super().__init__({})

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        if not isinstance(expr, BufferLoad):
            return super().rebuild(expr, children)
        return _element(expr.buffer, children)


def _element(buffer: DeclaredBuffer, indices: Sequence[PrimExpr]) -> BufferElement:
    *outer, last = indices or (const(0),)
    if isinstance(last, Ramp) and isinstance(last.stride, IntImm) and last.stride.value == 1:
        return BufferElement(buffer, [*outer, last.base], last.lanes)
    if any(index.data_type.lanes > 1 for index in indices):
        raise TeError(f"elements {list(indices)!r} of {buffer.name}, expected adjacent elements of the last dimension")
    return BufferElement(buffer, indices)


def statements_of(node: nodes.Stmt) -> list[Statement]:
    """The statements of a node. TeError for a node that `te.extern` has no statement for."""
    value = _LoadsAsElements().expr
    match node:
        case nodes.SeqStmt():
            return [each for inner in node.seq for each in statements_of(inner)]
        case nodes.BufferStore():
            indices = [value(index) for index in node.indices]
            return [Store(_element(node.buffer, indices), value(node.value))]
        case nodes.For():
            body = tuple(statements_of(node.body))
            low, extent = value(node.min), value(node.extent)
            return [Loop(node.loop_var, low, extent, body, node.kind.name.lower(), node.thread_tag)]
        case nodes.IfThenElse():
            orelse = () if node.else_case is None else tuple(statements_of(node.else_case))
            return [Branch(value(node.condition), tuple(statements_of(node.then_case)), orelse)]
        case nodes.LetStmt():
            return [Let(node.var, value(node.value)), *statements_of(node.body)]
        case nodes.While():
            return [While(value(node.condition), tuple(statements_of(node.body)))]
        case nodes.Evaluate(value=ExternCallExpr() as called):
            return [called.call]
        case nodes.Evaluate(value=IntImm()):
            return []
        case nodes.Evaluate():
            return [Evaluation(value(node.value))]
        case nodes.AttrStmt() if isinstance(node.node, IterVar) and node.attr_key in nodes.THREAD_KEYS:
            axis, body = node.node, tuple(statements_of(node.body))
            tag = "vthread" if node.attr_key == "virtual_thread" else axis.thread_tag
            return [Loop(axis.var, as_expr(0), value(as_expr(node.value)), body, "thread_binding", tag)]
        case nodes.Allocate(buffer=Buffer() as buffer) if not isinstance(node.op, AllocateOp):
            return [Allocation(buffer), *statements_of(node.body)]
        case _:
            raise TeError(f"{node!r}, expected a statement of te.extern: a loop, a branch, a store, a call")


__all__ = ["nodes_of", "statements_of"]
