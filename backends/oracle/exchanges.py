"""Shuffles as exchanges through memory shared by the block, for targets that run threads one after the other."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.scopes import ancestors
from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, BoundLoop, is_thread_loop, thread_axis_of
from ...analysis.threads.shuffles import Shuffle, check_convergence, is_active_mask, is_shuffle, shuffle_of
from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...dialects.tir import AllocBufferOp, CallIntrinOp, ForOp, FuncOp, LetOp, TirBuilder, memory_space
from ...dialects.tir.tree import has_effect, is_expression_op
from ...transforms.tir.launch_ops import launch_extents


def exchange_in_memory(function: FuncOp) -> None:
    """Replaces shuffles by a store to memory, in separate loops over threads, and a load of the source lane's value, in
    place.

    Each statement has its own loops over threads (`tir-distribute-threads`). Raises UnsupportedError where not all
    threads of a block reach a shuffle, and where an effect precedes it in the same statement.
    """
    for op in list(function.walk()):
        if isinstance(op, CallIntrinOp) and is_shuffle(op):
            _exchange(op, shuffle_of(op))


def _exchange(op: CallIntrinOp, shuffle: Shuffle) -> None:
    kernel = [outer for outer in ancestors(op) if thread_axis_of(outer) in BLOCK_AXES] or list(ancestors(op))
    loops = [loop for loop in kernel[-1].walk() if is_thread_loop(loop)]
    extents = {axis: _constant_extent(op, extent) for axis, extent in launch_extents(loops, kernel[-1]).items()}
    check_convergence(op, extents)
    threads = [outer for outer in ancestors(op) if is_thread_loop(outer)]
    total = prod(extents.values())
    front = threads[-1] if threads else op
    builder = TirBuilder(InsertPoint.before(front), op.location)
    cells = builder.insert(AllocBufferOp("exchanged", shuffle.value.type, [total], space=memory_space("shared"))).buffer
    _store_operands(op, shuffle, threads, cells, extents)
    builder = TirBuilder(InsertPoint.before(op), op.location)
    mine = _number(builder, {thread_axis_of(loop) or "": loop.variable for loop in threads}, extents)
    value = builder.load(cells, [_source(builder, shuffle, mine, total)])
    assert op.result is not None
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _constant_extent(op: Operation, extent: int | SSAValue) -> int:
    if not isinstance(extent, int):
        raise UnsupportedError(f"{where(op)}lanes exchange values in a block of threads that nobody can count")
    return extent


def _store_operands(
    op: CallIntrinOp, shuffle: Shuffle, threads: list[BoundLoop], cells: SSAValue, extents: dict[str, int]
) -> None:
    """Emits, before a statement, loops over threads in which each thread stores its operand of a shuffle."""
    values: dict[SSAValue, SSAValue] = {}
    point = InsertPoint.before(threads[-1] if threads else op)
    variables: dict[str, SSAValue] = {}
    for loop in reversed(threads):
        axis = thread_axis_of(loop) or ""
        copy = ForOp("t", 0, extents[axis], loop.variable.type, kind="thread_binding", thread=axis)
        Rewriter.insert_op(copy, point)
        point = InsertPoint.at_end(copy.body.block)
        values[loop.variable] = variables[axis] = copy.variable
    assert op.parent is not None
    for before in op.parent.ops if threads else ():
        if before is op:
            break
        is_harmless = isinstance(before, LetOp) or (is_expression_op(before) and not has_effect(before))
        if not is_harmless and not is_active_mask(before):
            raise UnsupportedError(
                f"{where(op)}lanes exchange values behind {before.name} in the same statement; expected a statement of "
                "its own, which stores what is exchanged"
            )
        Rewriter.insert_op(before.clone(values), point)
    builder = TirBuilder(point, op.location)
    number = _number(builder, variables, extents)
    builder.store(values.get(shuffle.value, shuffle.value), cells, [number])


def _number(builder: TirBuilder, variables: dict[str, SSAValue], extents: dict[str, int]) -> SSAValue:
    """The linear index of a thread in its block, with x fastest."""
    number, stride = builder.const(0, "int32"), 1
    for axis in THREAD_AXES:
        if axis in variables:
            number = builder.add(number, builder.mul(builder.cast(variables[axis], "int32"), stride))
        stride *= extents.get(axis, 1)
    return number


def _source(builder: TirBuilder, shuffle: Shuffle, mine: SSAValue, total: int) -> SSAValue:
    """The index of the thread whose value thread `mine` receives; `mine` itself if the source lane does not exist."""
    width = shuffle.width
    lane = builder.cast(shuffle.lane, "int32")
    first = builder.sub(mine, builder.binary("floormod", builder.binary("floormod", mine, WARP_SIZE), width))
    match shuffle.mode:
        case "idx":
            source = builder.add(first, builder.binary("floormod", lane, width))
        case "up":
            source = builder.sub(mine, lane)
        case _:
            source = builder.add(mine, lane)
    inside = builder.binary(
        "and", builder.binary("ge", source, first), builder.binary("lt", source, builder.add(first, width))
    )
    exists = builder.binary("and", inside, builder.binary("lt", source, total))
    return builder.select(exists, source, mine)
