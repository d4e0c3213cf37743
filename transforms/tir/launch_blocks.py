"""The pass `tir-launch-blocks`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import memory_name
from ...analysis.private import uses_of_memory
from ...analysis.threads.atomics import is_atomic
from ...analysis.threads.axes import (
    BLOCK_AXES,
    THREAD_AXES,
    BoundLoop,
    bound_loop_range,
    is_block_loop,
    is_virtual_thread_loop,
    outermost_bound_loops,
    team_of,
    thread_axes_of,
    thread_axis_of,
)
from ...analysis.threads.memories import is_local, is_shared
from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ...dialects.tir import AllocateOp, AllocBufferOp, ForOp, FuncOp, LaunchThreadOp, LoadOp, StoreOp, memory_space
from ...dialects.tir.tree import is_pure_expression
from ...schedule.rewriting.nest import function_of
from .launch_ops import build_launches, launch_extents, replace_loop


class TirLaunchBlocksPass(ModulePass):
    """Converts each outermost loop bound to a GPU's grid to a kernel: launches of blocks around the work of each block.

    All loops of a kernel over one axis of blocks become one launch around it; a kernel without such loops is one block.
    A loop that does not cover its axis becomes a branch. Memory without a scope that is allocated in the kernel for all
    threads of a block becomes shared memory.

    Before
        tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
          tir.for thread_binding "bx" %bx : i32 in [0 +: %n] thread "blockIdx.x" {
            ...
          }
        }

    After
        tir.launch_thread "bx" %bx : i32 in %n thread "blockIdx.x" {
          tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
            ...
          }
        }

    Must hold before: no tir.block (`tir-resolve-blocks`). Raises UnsupportedError for unknown axes, for numbers of
    blocks that the kernel computes, for two numbers of blocks that are not known to be equal, for statements nested in
    only some of the loops over blocks, and for memory of each block with views of another type.

    Gone after: loops over blocks, except launches that are outermost.
    """

    name = "tir-launch-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            _check_axes(function)
            for root in list(outermost_bound_loops(function, (*BLOCK_AXES, *THREAD_AXES))):
                _launch(root)


def _launch(root: BoundLoop) -> None:
    loops = [op for op in root.walk() if is_block_loop(op)]
    for loop in loops:
        for number in bound_loop_range(loop):
            if isinstance(number, SSAValue):
                _hoist(number, root)
    extents = launch_extents(loops, root)
    _check_coverage(root, {axis for axis, extent in extents.items() if extent != 1})
    if any(extent != 1 for extent in extents.values()):
        _check_views(root)
    if not loops:
        one = LaunchThreadOp("bx", BLOCK_AXES[0], 1, i32)
        one.location = root.location
        Rewriter.insert_op(one, InsertPoint.before(root))
        launches = [one]
    else:
        launches = build_launches(tuple(reversed(BLOCK_AXES)), extents, loops, InsertPoint.before(root))
    root.detach()
    launches[-1].body.block.add_op(root)
    variables = {op.thread.data: op.variable for op in launches}
    for loop in loops:
        axis = thread_axis_of(loop) or ""
        replace_loop(loop, variables[axis], extents[axis])
    for alloc in list(find_ops(launches[0], AllocBufferOp)):
        if alloc.type.memory_space == NoneAttr() and team_of(alloc) is None and not thread_axes_of(alloc.buffer):
            _share(alloc)


def _share(alloc: AllocBufferOp) -> None:
    """Changes the scope of memory common to the threads of a block to shared."""
    if not all(isinstance(use.operation, LoadOp | StoreOp) for use in alloc.buffer.uses):
        name = alloc.buffer_name.data
        raise UnsupportedError(f'{where(alloc)}the threads of a block share {name}: expected it in scope "shared"')
    type = alloc.type
    shared = MemRefType(type.element_type, type.shape, type.layout, memory_space("shared"))
    Rewriter.replace_value_with_new_type(alloc.buffer, shared)


def _hoist(value: SSAValue, kernel: Operation) -> bool:
    """Moves the computation of a value before a kernel; False if it is impure or depends on values of the kernel."""
    owner = value.owner
    if not kernel.is_ancestor(owner):
        return True
    if not isinstance(owner, Operation) or not is_pure_expression(owner):
        return False
    if not all([_hoist(operand, kernel) for operand in owner.operands]):
        return False
    owner.detach()
    Rewriter.insert_op(owner, InsertPoint.before(kernel))
    return True


def _check_axes(function: FuncOp) -> None:
    """Raises UnsupportedError for loops bound to an axis that no GPU has."""
    for op in function.walk():
        axis = thread_axis_of(op)
        if axis not in (None, *BLOCK_AXES, *THREAD_AXES) and not is_virtual_thread_loop(op):
            expected = ", ".join((*BLOCK_AXES, *THREAD_AXES, "vthread"))
            raise UnsupportedError(f"{where(op)}no thread axis {axis!r} on a GPU, expected one of {expected}")


def _check_coverage(root: BoundLoop, axes: set[str]) -> None:
    """Raises UnsupportedError for a store outside of a loop over blocks, as every block would execute the store."""
    for op in root.walk():
        if isinstance(op, StoreOp) or is_atomic(op):
            missing = sorted(axes - set(_axes_around(op)))
            if missing:
                raise UnsupportedError(
                    f"{where(op)}a store in a kernel with {', '.join(missing)} is in no loop bound to it"
                )


def _check_views(root: BoundLoop) -> None:
    """Raises UnsupportedError for memory without a scope that only one kernel uses, through pointers: each block would
    need a copy.
    """
    for alloc in find_ops(function_of(root), AllocBufferOp, AllocateOp):
        memory = alloc.results[0]
        if root.is_ancestor(alloc) or is_shared(memory) or is_local(memory):
            continue
        uses = [op for op, _ in uses_of_memory(memory)]
        is_viewed = any(not isinstance(use.operation, LoadOp | StoreOp) for use in memory.uses)
        if is_viewed and uses and all(root.is_ancestor(op) for op in uses):
            name = memory_name(memory)
            raise UnsupportedError(f"{where(alloc)}only one kernel uses {name}, which has views: expected it inside")


def _axes_around(op: Operation) -> Iterator[str]:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp | LaunchThreadOp):
            yield thread_axis_of(parent) or ""
        parent = parent.parent_op()
