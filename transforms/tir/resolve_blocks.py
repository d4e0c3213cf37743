"""The pass `tir-resolve-blocks`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.threads.axes import thread_axis_of
from ...analysis.threads.memories import memory_of
from ...core.walking import find_ops
from ...dialects.attributes import ALIGNED_STRIDES, BLOCK_NAME
from ...dialects.tir import (
    AllocBufferOp,
    AttrOp,
    Axis,
    BlockOp,
    CallExternOp,
    CallIntrinOp,
    EvaluateOp,
    ForOp,
    IfOp,
    InitOp,
    StoreOp,
    TirBuilder,
    WhileOp,
    constant_value,
)

_STATEMENTS = (StoreOp, ForOp, IfOp, WhileOp, AttrOp, EvaluateOp, CallExternOp, CallIntrinOp)


class TirResolveBlocksPass(ModulePass):
    """Replaces each block by its statements: axes by their bindings, predicate and init by `tir.if`.

    The init runs where every reduce axis is at the lower bound of its domain. Allocations of the block move to the
    enclosing region.

    Before
        tir.block "C" (spatial "vi" %vi : i32 in [0 +: 8] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) where %p {
          tir.access reads %A[%vi, %vk] : memref<8x4xf32>
          tir.access writes %C[%vi] : memref<8xf32>
          tir.init {
            tir.store %zero, %C[%vi] : memref<8xf32>
          }
          %a = tir.load %A[%vi, %vk] : memref<8x4xf32>
          ...
        }

    After
        tir.if %p {
          %c0 = arith.constant 0 : i32
          %first = arith.cmpi eq, %k, %c0 : i32
          tir.if %first {
            tir.store %zero, %C[%i] : memref<8xf32>
          }
          %a = tir.load %A[%i, %k] : memref<8x4xf32>
          ...
        }

    In functions with loops bound to a GPU's grid, each statement of a block keeps its name, as the attribute
    `stepwell.block`.

    Must hold before: nothing.

    Gone after: tir.block, tir.init, tir.access.
    """

    name = "tir-resolve-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            # Outer blocks come first, so nested blocks are resolved at their new position.
            blocks = list(find_ops(function, BlockOp))
            if any(thread_axis_of(inner) is not None for inner in function.walk()):
                for block in blocks:
                    _name_statements(block)
            for block in blocks:
                _resolve(block)


def _name_statements(block: BlockOp) -> None:
    """Records the name of a block on its statements, except statements that contain other blocks."""
    for op in block.walk():
        if isinstance(op, _STATEMENTS) and not any(find_ops(op, BlockOp)):
            op.attributes[BLOCK_NAME] = block.block_name


def _resolve(op: BlockOp) -> None:
    axes, body = op.axes, op.body.block
    _record_alignments(op)
    for access in op.accesses:
        access.detach()
        access.erase()
    init = op.init
    for variable, axis in zip(body.args, axes, strict=True):
        variable.replace_all_uses_with(axis.binding)
    if init is not None:
        resolve_init(init, axes, [axis.binding for axis in axes])
    if op.predicate is None:
        _inline_before(body, op)
    else:
        guard = IfOp(op.predicate)
        guard.location = op.location
        _insert_before(guard, op)
        _move_all(body, guard.then.block)
    op.detach()
    op.erase()


def _record_alignments(op: BlockOp) -> None:
    """Records the alignments that a block requires on its allocations (`Schedule.storage_align`)."""
    rows = None if op.annotations is None else op.annotations.data.get("buffer_dim_align")
    buffers = [access.buffer for access in op.accesses if access.kind.data == "writes"]
    alignments_of: dict[AllocBufferOp, list[tuple[int, int, int]]] = {}
    for row in rows.data if isinstance(rows, ArrayAttr) else ():  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        numbers = [n.value.data for n in row.data if isinstance(n, IntegerAttr)] if isinstance(row, ArrayAttr) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if len(numbers) == 4 and 0 <= numbers[0] < len(buffers):
            index, axis, factor, offset = numbers
            memory = memory_of(buffers[index])
            if memory is not None and isinstance(memory.owner, AllocBufferOp) and memory is buffers[index]:
                rank = memory.owner.type.get_num_dims()
                alignments_of.setdefault(memory.owner, []).append((rank - axis, factor, offset))
    for alloc, alignments in alignments_of.items():
        alloc.attributes[ALIGNED_STRIDES] = ArrayAttr(
            [ArrayAttr([IntegerAttr(n, i32) for n in row]) for row in alignments]
        )


def resolve_init(init: InitOp, axes: Sequence[Axis], values: Sequence[SSAValue]) -> None:
    """Replaces an init by its statements, where each reduce axis is at its lower bound. values: those of the axes."""
    starts = [
        _at_start(init, axis, value)
        for axis, value in zip(axes, values, strict=True)
        if axis.kind == "reduce" and not _always_at_start(axis)
    ]
    body = init.body.block
    if not starts:
        _inline_before(body, init)
    else:
        builder = TirBuilder(InsertPoint.before(init), init.location)
        then = Region(Block())
        builder.insert(IfOp(builder.conjunction(starts), then))
        _move_all(body, then.block)
    init.detach()
    init.erase()


def _always_at_start(axis: Axis) -> bool:
    """Whether an axis has one value only, or is bound to a constant equal to its lower bound."""
    known = constant_value(axis.binding)
    low = axis.low if isinstance(axis.low, int) else constant_value(axis.low)
    return axis.extent == 1 or axis.low is axis.binding or (known is not None and known == low)


def _at_start(init: InitOp, axis: Axis, value: SSAValue) -> SSAValue:
    builder = TirBuilder(InsertPoint.before(init), init.location)
    return builder.binary("eq", value, axis.low)


def _insert_before(new: IfOp, op: BlockOp) -> None:
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)


def _inline_before(source: Block, op: BlockOp | InitOp) -> None:
    block = op.parent_block()
    assert block is not None
    for inner in list(source.ops):
        inner.detach()
        block.insert_op_before(inner, op)


def _move_all(source: Block, target: Block) -> None:
    for inner in list(source.ops):
        inner.detach()
        target.add_op(inner)
