"""Translation of the statements of `te.extern` to ops of `tir`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue

from ..core.dtypes import mlir_type, parse_dtype
from ..dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocBufferOp,
    AssertOp,
    BufferDataOp,
    CallExternOp,
    CallIntrinOp,
    CallPackedOp,
    EvaluateOp,
    ForOp,
    HandleType,
    IfOp,
    TirBuilder,
    WhileOp,
    YieldOp,
    memory_space,
)
from .buffers import Argument, Buffer, BufferPointer, ExternCall
from .errors import TeError
from .expr import IntImm, PrimExpr, as_expr, cast
from .statements import Allocation, Assertion, Branch, BufferElement, Evaluation, Let, Loop, Statement, Store, While
from .write_expressions import ExpressionEmitter


class StatementEmitter:
    """Emits statements at the insertion point of a builder.

    known: the values of variables.  memory: the values of buffers. The expressions of each statement are computed anew:
    the elements of buffers change between statements.
    """

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], memory: Mapping[Buffer, SSAValue]):
        self.builder = builder
        self.known = dict(known)
        self.memory = dict(memory)

    def write(self, statements: Sequence[Statement]) -> None:
        """Emits statements in order."""
        for each in statements:
            self._statement(each)

    def _statement(self, each: Statement) -> None:
        writer = _ElementEmitter(self.builder, self.known, self.memory)
        match each:
            case ExternCall():
                write_call(writer, self.memory, each)
            case Store(target, value):
                indices = _places(self.builder, target, [writer.write(index) for index in target.indices])
                stored = writer.write(value)
                if target.lanes > 1 and value.data_type.lanes == 1:
                    stored = self.builder.broadcast(stored, target.lanes)
                self.builder.store(stored, _memory_of(self.memory, target.buffer), indices)
            case Loop():
                self._loop(writer, each)
            case While(condition, body):
                test = Block()
                inner = TirBuilder(test, self.builder.location)
                inner.insert(YieldOp(_ElementEmitter(inner, self.known, self.memory).write(condition)))
                self.builder.insert(WhileOp(Region(test), self._region(body)))
            case Branch(condition, then, orelse):
                branch = self.builder.insert(IfOp(writer.write(condition)))
                self._inside(branch.then.block).write(then)
                self._inside(branch.orelse.block).write(orelse)
            case Evaluation(value):
                self.builder.insert(EvaluateOp(writer.write(value)))
            case Assertion(condition, message):
                self.builder.insert(AssertOp(writer.write(condition), message))
            case Let(variable, value):
                self.known[variable] = self.builder.let(variable.name, writer.write(value))
            case Allocation(buffer):
                shape = [writer.number(extent) for extent in buffer.shape]
                space = memory_space(buffer.memory)
                kind, separators = mlir_type(buffer.data_type), buffer.axis_separators
                memory = AllocBufferOp(buffer.name, kind, shape, space=space, axis_separators=separators)
                self.memory[buffer] = self.builder.insert(memory).buffer

    def _inside(self, block: Block) -> StatementEmitter:
        return StatementEmitter(TirBuilder(block, self.builder.location), self.known, self.memory)

    def _region(self, body: Sequence[Statement]) -> Region:
        block = Block()
        self._inside(block).write(body)
        return Region(block)

    def _loop(self, writer: ExpressionEmitter, loop: Loop) -> None:
        low, extent = (writer.number(cast(loop.variable.dtype, bound)) for bound in (loop.low, loop.extent))
        counter = mlir_type(loop.variable.data_type)
        op = self.builder.insert(ForOp(loop.variable.name, low, extent, counter, kind=loop.kind, thread=loop.thread))
        inside = self._inside(op.body.block)
        inside.known[loop.variable] = op.variable
        inside.write(loop.body)


class _ElementEmitter(ExpressionEmitter):
    """Emits the expressions of one statement."""

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], memory: Mapping[Buffer, SSAValue]):
        super().__init__(builder, known, {})
        self.memory = memory

    def _emit(self, expr: PrimExpr) -> SSAValue:
        if isinstance(expr, BufferElement):
            indices = _places(self.builder, expr, [self.known[index] for index in expr.indices])
            return self.builder.load(_memory_of(self.memory, expr.buffer), indices)
        return super()._emit(expr)


def _places(builder: TirBuilder, element: BufferElement, indices: Sequence[SSAValue]) -> list[SSAValue]:
    """The indices of an element, or of adjacent elements from it on, row after row. indices: of the element."""
    extents = [extent.value if isinstance(extent, IntImm) else None for extent in element.buffer.shape]
    return [*indices] if element.lanes == 1 else builder.ramp_of_rows(indices, element.lanes, extents)


def _memory_of(memory: Mapping[Buffer, SSAValue], buffer: Buffer) -> SSAValue:
    if buffer not in memory:
        raise TeError(f"buffer {buffer.name} is used outside of the statements around its allocation")
    return memory[buffer]


def write_call(writer: ExpressionEmitter, memory: Mapping[Buffer, SSAValue], call: ExternCall) -> None:
    """Emits a call of an external function. memory: the values of the buffers."""
    args = [_argument(writer, memory, arg) for arg in call.args]
    if call.dtype is None:
        writer.builder.insert(CallPackedOp(call.name, args))
    elif call.is_intrinsic:
        writer.builder.insert(CallIntrinOp(call.name, args))
    else:
        writer.builder.insert(CallExternOp(call.name, args, _result_type(call.dtype)))


def _argument(writer: ExpressionEmitter, memory: Mapping[Buffer, SSAValue], arg: Argument) -> SSAValue:
    """The value of an argument of an external call."""
    match arg:
        case Buffer():
            return _memory_of(memory, arg)
        case BufferPointer() if arg.read is not None:
            return _pointer_for_reads(writer, memory, arg, arg.read)
        case BufferPointer() if arg.indices or not (arg.is_base or arg.buffer.is_compact):
            indices = [writer.write(index) for index in arg.indices or (as_expr(0),) * len(arg.buffer.shape)]
            return writer.builder.insert(AddressOfOp(_memory_of(memory, arg.buffer), indices)).pointer
        case BufferPointer():
            return writer.builder.insert(BufferDataOp(_memory_of(memory, arg.buffer))).pointer
        case _:
            return writer.write(arg)


def _pointer_for_reads(
    writer: ExpressionEmitter, memory: Mapping[Buffer, SSAValue], pointer: BufferPointer, extent: PrimExpr
) -> SSAValue:
    """A pointer through which elements are only read. extent: their number."""
    data = writer.builder.insert(BufferDataOp(_memory_of(memory, pointer.buffer))).pointer
    buffer = pointer.buffer
    offset = buffer.offset_of(pointer.indices)[0] if pointer.indices else buffer.elem_offset
    type = data.type
    assert isinstance(type, HandleType)
    return writer.builder.insert(AccessPtrOp(data, writer.write(offset), writer.write(extent), 1, type)).pointer


def _result_type(dtype: str) -> Attribute | None:
    """The MLIR result type of a C function, or None."""
    if dtype == "handle":
        return HandleType()
    return mlir_type(parse_dtype(dtype)) if dtype else None
