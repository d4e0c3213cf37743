"""Conversion of a function of the `tir` dialect to nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.regions.access_regions import buffer_shape
from ....core.dtypes import dtype_of
from ....core.walking import find_ops
from ....dialects.text.names import source_name
from ....dialects.tir import (
    BINARY_NAMES,
    UNARY_NAMES,
    AccessOp,
    AllocateOp,
    AllocBufferOp,
    AssertOp,
    AttrOp,
    BlockOp,
    BufferOp,
    CallExternOp,
    CastOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    IfThenElseOp,
    IntrinsicOp,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    RampOp,
    ShuffleOp,
    StoreOp,
    SymbolOp,
    WhileOp,
    YieldOp,
    comparison_name,
    constant_value,
    scope_of,
)
from ....dialects.tir.tree import is_expression_op
from ....expressions.axes import IterVar, Range
from ....expressions.expr import (
    OPERATORS,
    Call,
    Cast,
    FloatImm,
    IfThenElse,
    IntImm,
    Not,
    PrimExpr,
    PureExternCall,
    Select,
    Var,
    const,
)
from . import blocks
from . import stmt as nodes
from .attributes import python_value
from .expr import Broadcast, Buffer, BufferArg, BufferLoad, BufferRegion, OtherExpr, PointerVar, Ramp, Shuffle

PROLOGUE = (SymbolOp, MatchBufferOp)
"""Operations before the body of a function: its sizes and its buffer parameters."""


class NodeReader:
    """Converts one function in statement-tree form to nodes. A value always converts to the same `Var`.

    vars: the variables of values.  handles: those of parameters that are buffers.
    """

    def __init__(self, func: FuncOp):
        self.func = func
        self.vars: dict[SSAValue, Var] = {}
        self.handles: dict[SSAValue, Var] = {}
        self._buffers: dict[SSAValue, Buffer] = {}

    def body(self) -> nodes.Stmt:
        """The statements of the function; in a function with blocks they are those of a root block."""
        ops = [op for op in self.func.body.block.ops if not self._is_prologue(op)]
        statements = self._block(self.func.body.block, ops)
        has_blocks = next(find_ops(self.func, BlockOp), None) is not None
        if not has_blocks or _is_root(statements):
            return statements
        memory = [self.buffer(op.buffer) for op in _allocations(ops)]
        block = blocks.Block.of_contents((), (), (), "root", statements, memory)
        root = blocks.BlockRealize.of_op(self.func, (), ((),), block)
        block.underneath = root.underneath = self.func
        return root

    def _is_prologue(self, op: Operation) -> bool:
        if isinstance(op, PROLOGUE):
            return True
        users = [use.operation for result in op.results for use in result.uses]
        return is_expression_op(op) and bool(users) and all(self._is_prologue(user) for user in users)

    def prologue(self) -> list[Operation]:
        """The ops before the body."""
        return [op for op in self.func.body.block.ops if self._is_prologue(op)]

    # Statements

    def _block(self, block: Block, ops: Sequence[Operation] | None = None) -> nodes.Stmt:
        statements = [op for op in (block.ops if ops is None else ops) if not is_expression_op(op)]
        return self._sequence(statements)

    def _sequence(self, ops: Sequence[Operation]) -> nodes.Stmt:
        """The statement of a sequence of ops; a declaration encloses the statements that follow it."""
        statements: list[nodes.Stmt] = []
        for n, op in enumerate(ops):
            if isinstance(op, LetOp) or (op.results and not op.regions):
                body = self._sequence(ops[n + 1 :])
                statements.append(self._declaration(op, body))
                break
            statements.append(self._statement(op))
        result = nodes.seq(*statements)
        return result

    def _declaration(self, op: Operation, body: nodes.Stmt) -> nodes.Stmt:
        if isinstance(op, LetOp) and not isinstance(op.result.type, HandleType):
            node: nodes.Stmt = nodes.LetStmt(self.var(op.result), self.expr(op.value), body)
        else:
            node = self._memory(op, [self.expr(value) for value in op.operands], body)
        node.underneath = op
        return node

    def _memory(self, op: Operation, args: Sequence[PrimExpr], body: nodes.Stmt) -> nodes.Declaration:
        """The declaration of memory, or of a buffer or another value."""
        match op:
            case AllocBufferOp():
                buffer = self.buffer(op.buffer)
                return nodes.Allocate.of_op(
                    op, args, body, buffer, self.var(op.buffer), buffer.dtype, buffer.shape, buffer.scope()
                )
            case AllocateOp():
                extents = [self.number(extent, "int32") for extent in op.mixed_extents]
                element, scope = dtype_of(op.pointer.type.element).name, op.pointer.type.scope.data
                return nodes.Allocate.of_op(op, args, body, None, self.var(op.pointer), element, extents, scope)
            case DeclBufferOp():
                return nodes.DeclBuffer.of_op(op, args, body, self.buffer(op.buffer))
            case _:
                return nodes.Declaration(op, args, body)

    def _statement(self, op: Operation) -> nodes.Stmt:
        node = self._specific_statement(op)
        if node is None:
            variables = [[self.var(a) for a in region.block.args] for region in op.regions]
            bodies = [self._block(region.block) for region in op.regions]
            node = self._other(op, [self.expr(value) for value in op.operands], variables, bodies)
        node.underneath = op
        return node

    def _other(
        self, op: Operation, args: Sequence[PrimExpr], variables: Sequence[Sequence[Var]], bodies: Sequence[nodes.Stmt]
    ) -> nodes.Stmt:
        """The node of an operation that writing copies, with its operands and bodies."""
        match op:
            case BlockOp():
                return blocks.BlockRealize.of_op(op, args, variables, self._block_node(op, variables[0], bodies[0]))
            case AttrOp():
                node, value = (None if each is None else python_value(each) for each in (op.node_attr, op.value_attr))
                return nodes.AttrStmt.of_op(op, args, variables, bodies, node, value)
            case LaunchThreadOp():
                ((variable,),) = variables
                extent = self.number(op.mixed_extent, variable.dtype)
                axis = IterVar(Range(const(0, variable.dtype), extent), variable, "thread", op.thread.data)
                return nodes.AttrStmt.of_op(op, args, variables, bodies, axis, extent)
            case AssertOp():
                return nodes.AssertStmt.of_op(op, args)
            case WhileOp():
                return nodes.While.of_op(op, bodies)
            case _:
                return nodes.OtherStmt(op, args, variables, bodies)

    def _block_node(self, op: BlockOp, variables: Sequence[Var], contents: nodes.Stmt) -> blocks.Block:
        axes = [
            IterVar(Range(self.number(axis.low, var.dtype), self.number(axis.extent, var.dtype)), var, axis.kind)
            for axis, var in zip(op.axes, variables, strict=True)
        ]
        reads, writes = ([self.region(each) for each in op.accesses if each.is_write is kind] for kind in (False, True))
        memory = [self.buffer(each.buffer) for each in _allocations(op.body.block.ops)]
        annotations = _annotations(op.annotations)
        block = blocks.Block.of_contents(axes, reads, writes, op.block_name.data, contents, memory, annotations)
        views = [each for each in op.body.block.ops if isinstance(each, MatchRegionOp)]
        block.match_buffers = tuple(
            blocks.MatchBufferRegion(self.buffer(each.buffer), self.region(each)) for each in views
        )
        block.reader, block.underneath = self, op
        return block

    def region(self, op: AccessOp | MatchRegionOp) -> BufferRegion:
        """The region of a buffer that an op states."""
        ranges: list[Range] = []
        for low, extent in op.region:
            first = self.number(low, "int32")
            ranges.append(Range(first, self.number(extent, first.dtype)))
        buffer = op.buffer if isinstance(op, AccessOp) else op.source
        return BufferRegion(self.buffer(buffer), tuple(ranges))

    def _specific_statement(self, op: Operation) -> nodes.Stmt | None:
        match op:
            case ForOp() if op.mixed_bounds[2] == 1:
                low, extent, _ = op.mixed_bounds
                variable = self.var(op.variable)
                kind = nodes.ForKind[_KINDS.get(op.kind.data, op.kind.data.upper())]
                first, count = self.number(low, variable.dtype), self.number(extent, variable.dtype)
                thread = None if op.thread is None else op.thread.data
                annotations = _annotations(op.annotations)
                return nodes.For(variable, first, count, kind, self._block(op.body.block), thread, annotations)
            case StoreOp() if op.predicate is None:
                indices = [self.expr(index) for index in op.indices]
                return nodes.BufferStore(self.buffer(op.buffer), self.expr(op.value), indices)
            case IfOp():
                orelse = self._block(op.orelse.block) if op.orelse.block.first_op is not None else None
                return nodes.IfThenElse(self.expr(op.condition), self._block(op.then.block), orelse)
            case EvaluateOp():
                return nodes.Evaluate(self.expr(op.value))
            case _:
                return None

    # Values

    def var(self, value: SSAValue) -> Var:
        """The variable of a value."""
        if value not in self.vars:
            self.vars[value] = _variable(value, source_name(value) or value.name_hint or "v")
        return self.vars[value]

    def parameter(self, value: SSAValue) -> Var:
        """The variable of a parameter: a number, or the handle of a buffer."""
        if not isinstance(value.type, MemRefType):
            return self.var(value)
        if value not in self.handles:
            self.handles[value] = PointerVar(f"{source_name(value) or value.name_hint or 'buffer'}_handle")
        return self.handles[value]

    def number(self, value: Mixed, dtype: str) -> PrimExpr:
        return IntImm(dtype, value) if isinstance(value, int) else self.expr(value)

    def buffer(self, value: SSAValue) -> Buffer:
        if value not in self._buffers:
            shape = [self.number(extent, "int32") for extent in buffer_shape(value)]
            name = value.owner.buffer_name.data if isinstance(value.owner, BufferOp) else source_name(value)
            self._buffers[value] = Buffer(value, name or "buffer", shape, *self._layout(value))
        return self._buffers[value]

    def adopt(self, buffers: Mapping[SSAValue, Buffer]) -> None:
        """Makes values the buffers of another reader."""
        self._buffers.update(buffers)

    def buffer_of_parameter(self, value: SSAValue) -> Buffer | None:
        """The buffer of a parameter: itself, or that of its address; None for a number."""
        if isinstance(value.type, MemRefType):
            return self.buffer(value)
        users = [use.operation for use in value.uses]
        matches = [user for user in users if isinstance(user, MatchBufferOp) and user.source is value]
        return self.buffer(matches[0].buffer) if matches else None

    def _layout(self, value: SSAValue) -> tuple[list[PrimExpr], PrimExpr | None]:
        """The strides of a buffer, none where it is row-major and compact, and its offset."""
        op = value.owner
        if not isinstance(op, BufferOp) or not isinstance(op.type.layout, StridedLayoutAttr):
            return [], None
        strides = [self.number(stride, "int32") for stride in op.mixed_strides or ()]
        return strides, self.number(op.mixed_offset, "int32")

    def expr(self, value: SSAValue) -> PrimExpr:
        """The expression that computes a value."""
        op = value.owner
        if isinstance(value.type, MemRefType):
            return BufferArg(value)
        if isinstance(op, Block) or not is_expression_op(op):
            return BufferArg(value) if isinstance(value.type, HandleType) else self.var(value)
        expr = None if isinstance(value.type, HandleType) else self._expression(op, value)
        if expr is None:
            index = list(op.results).index(value)  # pyright: ignore[reportArgumentType]
            return OtherExpr(op, index, [self.expr(operand) for operand in op.operands])
        return expr

    def _expression(self, op: Operation, value: SSAValue) -> PrimExpr | None:
        dtype = dtype_of(value.type)
        known = constant_value(value) if dtype.lanes == 1 else None
        if known is not None:
            return FloatImm(dtype.name, known) if dtype.is_float else IntImm(dtype.name, int(known))
        match op:
            case LoadOp() if op.predicate is None:
                return BufferLoad(self.buffer(op.buffer), [self.expr(index) for index in op.indices])
            case CastOp():
                return Cast(dtype.name, self.expr(op.value))
            case arith.SelectOp():
                return Select(self.expr(op.cond), self.expr(op.lhs), self.expr(op.rhs))
            case IfThenElseOp():
                values = [self._yield_value(region.block) for region in op.regions]
                return IfThenElse(self.expr(op.condition), values[0], values[1])
            case RampOp():
                return Ramp(self.expr(op.base), self.expr(op.stride), dtype.lanes)
            case ShuffleOp():
                return Shuffle([self.expr(each) for each in op.vectors], op.lane_indices)
            case vector.BroadcastOp():
                return Broadcast(self.expr(op.source), dtype.lanes)
            case arith.CmpiOp() | arith.CmpfOp():
                name = comparison_name(op)
                return None if name is None else OPERATORS[name](self.expr(op.lhs), self.expr(op.rhs))
            case arith.XOrIOp() if dtype.is_bool and constant_value(op.rhs) == 1:
                return Not(self.expr(op.lhs))
            case IntrinsicOp():
                return Call(dtype.name, op.intrinsic.data, [self.expr(arg) for arg in op.args])
            case CallExternOp() if op.pure is not None:
                return PureExternCall(dtype.name, op.callee.data, [self.expr(arg) for arg in op.args])
            case _:
                return self._operator(op, dtype.name)

    def _operator(self, op: Operation, dtype: str) -> PrimExpr | None:
        args = [self.expr(operand) for operand in op.operands]
        name = BINARY_NAMES.get(type(op))
        if name is not None:
            return OPERATORS[name](*args) if name in OPERATORS else Call(dtype, name, args)
        if type(op) in UNARY_NAMES and len(args) == 1:
            return Call(dtype, UNARY_NAMES[type(op)], args)
        return None

    def _yield_value(self, block: Block) -> PrimExpr:
        last = block.last_op
        assert isinstance(last, YieldOp)
        return self.expr(last.value)


def _variable(value: SSAValue, name: str) -> Var:
    """A variable of the type of a value: an address, that of a buffer's memory, or a number."""
    match value.type:
        case HandleType(element=element, scope=scope):
            is_known = not isinstance(element, NoneAttr)
            return PointerVar(name, dtype_of(element).name if is_known else None, scope.data if is_known else "")
        case MemRefType():
            return PointerVar(name, dtype_of(value.type.element_type).name, scope_of(value.type))
        case _:
            return Var(name, dtype_of(value.type).name)


def _allocations(ops: Iterable[Operation]) -> Iterator[AllocBufferOp]:
    """The allocations among the operations of a block."""
    return (op for op in ops if isinstance(op, AllocBufferOp))


def _is_root(statements: nodes.Stmt) -> bool:
    """Whether the statements of a function are one block without axes, its root."""
    return isinstance(statements, blocks.BlockRealize) and not statements.iter_values


_KINDS = {"vectorized": "VECTORIZED", "unrolled": "UNROLLED", "thread_binding": "THREAD_BINDING"}


def _annotations(attributes: DictionaryAttr | None) -> dict[str, Any]:
    return {} if attributes is None else {name: python_value(each) for name, each in attributes.data.items()}
