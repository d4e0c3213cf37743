"""Loops bound to the axes of a GPU's grid: axis, first value, extent."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, Operation, SSAValue

from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AllocateConstOp,
    AllocateOp,
    BlockOp,
    BufferOp,
    CallExternOp,
    ForOp,
    HandleType,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    Mixed,
    StoreOp,
    SymbolOp,
)
from ...dialects.tir.tree import captured_operands, is_pure_expression
from ..scopes import ancestors, depends_on
from .memories import has_copy_for_each_warp, is_local, is_shared, memory_of

BLOCK_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
THREAD_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
"""The axes of the threads in a thread block."""

BoundLoop: TypeAlias = ForOp | LaunchThreadOp


def thread_axis_of(op: Operation) -> str | None:
    """The axis that a loop is bound to; None for any other op."""
    if type(op) is LaunchThreadOp:
        return op.thread.data
    thread = op.thread if type(op) is ForOp else None
    return None if thread is None else thread.data


def is_thread_loop(op: Operation) -> TypeGuard[BoundLoop]:
    """Whether the iterations of a loop are threads of one thread block."""
    return thread_axis_of(op) in THREAD_AXES


def is_block_loop(op: Operation) -> TypeGuard[BoundLoop]:
    """Whether the iterations of a loop are thread blocks."""
    return thread_axis_of(op) in BLOCK_AXES


def is_virtual_thread_loop(op: Operation) -> bool:
    """Whether the iterations of a loop are virtual threads, which one thread runs."""
    return (thread_axis_of(op) or "").startswith(("vthread", "cthread"))


def bound_loop_range(op: BoundLoop) -> tuple[Mixed, Mixed]:
    """The first value and the extent of a bound loop."""
    return (0, op.mixed_extent) if isinstance(op, LaunchThreadOp) else op.mixed_bounds[:2]


def is_in_kernel(block: BlockOp) -> bool:
    """Whether a block is nested in a loop bound to blocks or threads of a GPU."""
    return any(thread_axis_of(op) is not None for op in ancestors(block))


def outermost_bound_loops(root: Operation, axes: tuple[str, ...]) -> Iterator[BoundLoop]:
    """The outermost loops below `root` bound to one of `axes`."""
    for op in [op for region in root.regions for block in region.blocks for op in block.ops]:
        if thread_axis_of(op) in axes:
            assert isinstance(op, ForOp | LaunchThreadOp)
            yield op
        else:
            yield from outermost_bound_loops(op, axes)


def outer_loop_of_axis(op: Operation) -> BoundLoop | None:
    """The outermost loop around a loop over threads that is bound to the same axis, or None; both have the same thread
    index."""
    axis, outermost_loop = thread_axis_of(op), None
    if axis is None:
        return None
    while (op := op.parent_op()) is not None:  # pyright: ignore[reportAssignmentType]
        if thread_axis_of(op) == axis:
            outermost_loop = op
    return outermost_loop  # pyright: ignore[reportReturnType]


def team_of(op: Operation) -> BoundLoop | None:
    """The outermost loop over threads that is or encloses an op."""
    team = None
    current: Operation | None = op
    while current is not None:
        if is_thread_loop(current):
            team = current
        current = current.parent_op()
    return team


def divides_among_threads(team: BoundLoop) -> bool:
    """Whether loops over threads divide some statement among threads that already run: a nested loop is bound to the
    axis of an enclosing loop."""
    return any(is_thread_loop(op) and outer_loop_of_axis(op) is not None for op in team.walk())


def thread_axes_of(memory: SSAValue | None) -> tuple[str, ...]:
    """The thread axes along which each thread has a copy of some memory.

    The memory is of scope `local`, or without a scope, used inside one loop over threads only, not just by a
    reduction of these threads. The axes are those around every use, or around the allocation of a pointer; without
    `threadIdx.x` for memory of scope `warp`, and for fragments.
    """
    if memory is None or isinstance(memory.owner, Block):
        return ()
    if isinstance(memory.owner, AllocateOp):
        return () if is_shared(memory) else tuple(axis for axis in THREAD_AXES if axis in _axes_around(memory.owner))
    if not isinstance(memory.type, MemRefType):
        return ()
    users = [use.operation for use in memory.uses if not isinstance(use.operation, AccessOp)]
    is_own = is_local(memory) or has_copy_for_each_warp(memory)
    if not is_own and (memory.type.memory_space != NoneAttr() or len({team_of(u) for u in users}) != 1):
        return ()
    if not is_own and all(_is_reduced_by_threads(u) for u in users):
        return ()
    around = [_axes_around(user) for user in users]
    own = THREAD_AXES[1:] if has_copy_for_each_warp(memory) else THREAD_AXES
    return tuple(axis for axis in own if users and all(axis in axes for axes in around))


def _is_reduced_by_threads(op: Operation) -> bool:
    """Whether an op is in a reduction block whose steps the threads of a thread block divide among themselves."""
    around = [op, *ancestors(op)]
    threads = [loop.variable for loop in around if is_thread_loop(loop)]
    steps = [
        axis.binding
        for block in around
        if isinstance(block, BlockOp) and block.init is not None
        for axis in block.axes
        if axis.kind == "reduce"
    ]
    return any(depends_on(steps, variable) for variable in threads)


def _axes_around(op: Operation | None) -> set[str]:
    axes: set[str] = set()
    while op is not None:
        if is_thread_loop(op):
            axes.add(thread_axis_of(op) or "")
        op = op.parent_op()
    return axes


def is_uniform_across_threads(value: SSAValue, written: Container[SSAValue | None]) -> bool:
    """Whether a value is the same for all threads of a thread block.

    written: the memory that may change in the meantime; values loaded from it are not known to be the same, nor are
    values loaded from memory of which each thread has a copy.
    """
    op = value.owner
    if isinstance(op, Block):
        parent = op.parent_op()
        return parent is None or not (is_thread_loop(parent) or isinstance(parent, BlockOp))
    if isinstance(op, LoadOp) and ((memory := memory_of(op.buffer)) in written or thread_axes_of(memory)):
        return False
    if not isinstance(
        op, LoadOp | LetOp | SymbolOp | BufferOp | AllocateOp | AllocateConstOp
    ) and not is_pure_expression(op):
        return False
    return all(is_uniform_across_threads(v, written) for v in captured_operands(op))


def written_memory(root: Operation) -> set[SSAValue | None]:
    """The memory written below an op; contains None if some memory is unknown."""
    stores = {memory_of(op.buffer) for op in find_ops(root, StoreOp)}
    calls = list(find_ops(root, CallExternOp))
    pointers = {memory_of(v) for op in calls for v in op.args if isinstance(v.type, MemRefType | HandleType)}
    return stores | pointers
