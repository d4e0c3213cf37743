"""The pass `tir-launch-threads`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, NoneAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import memory_name
from ...analysis.private import uses_of_memory
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import (
    BLOCK_AXES,
    THREAD_AXES,
    is_thread_loop,
    outermost_bound_loops,
    team_of,
    thread_axis_of,
)
from ...analysis.threads.execution import effects_of, has_copy_for_each_thread, statements_of_threads
from ...analysis.threads.fragments import has_fragment_nests, is_in_fragment_nest
from ...analysis.threads.memories import LOCAL, is_fragment, is_shared, memory_of
from ...analysis.threads.registers import is_load_of_matrices
from ...analysis.threads.shuffles import check_convergence, is_exchange, is_reached_together
from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...dialects.attributes import THREAD_AXES_OF_DIMENSIONS
from ...dialects.tir import (
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    FuncOp,
    HandleType,
    IfOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    memory_space,
    scope_of,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import erase_if_dead, expressions_before, insertion_point_before, is_expression_op
from .launch_ops import build_launches, replace_loop, thread_extents


class TirLaunchThreadsPass(ModulePass):
    """Merges the statements of a block of threads into one launch of threads, with a guard around each statement.

    A loop over fewer threads than the launch becomes a branch; a statement without a loop over an axis is executed by
    the first thread of that axis, a matrix operation by all threads of `threadIdx.x`. Private memory of threads loses
    its dimensions for threads, and is allocated inside the launch of threads; shared memory is allocated before it.

    Before
        tir.launch_thread "bx" %bx : i32 in 4 thread "blockIdx.x" {
          tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
            S
          }
          tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
            T
          }
        }

    After
        tir.launch_thread "bx" %bx : i32 in 4 thread "blockIdx.x" {
          tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
            S
            %c = arith.constant 4 : i32
            %p = arith.cmpi slt, %tx, %c : i32
            tir.if %p {
              T
            }
          }
        }

    Must hold before: barriers are explicit (`tir-insert-barriers`). Raises UnsupportedError for numbers of threads that
    the kernel computes, for exchanges between lanes that not all threads reach, and for accesses of single
    elements of fragments.

    Gone after: loops over threads other than launches.
    """

    name = "tir-launch-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            for kernel in list(outermost_bound_loops(function, BLOCK_AXES)):
                _launch(kernel)


def _launch(kernel: Operation) -> None:
    inner = kernel
    while (
        deeper := next((op for op in inner.regions[0].block.ops if thread_axis_of(op) in BLOCK_AXES), None)
    ) is not None:
        inner = deeper
    block = inner.regions[0].block
    loops = [op for op in kernel.walk() if is_thread_loop(op)]
    _check_elements(kernel)
    extents = thread_extents(inner)
    for op in [op for op in kernel.walk() if is_exchange(op)]:
        check_convergence(op, extents)
    for nest in [op for op in kernel.walk() if is_load_of_matrices(op)]:
        if not is_reached_together(nest, extents) or not _is_from_shared_memory(nest):
            _replace_by_body(nest)
    allocations = _allocations(kernel)
    for alloc in allocations:
        if isinstance(alloc, AllocateOp):
            _check_pointer(alloc, kernel, {axis for axis, extent in extents.items() if extent != 1})
    ops = list(block.ops)
    launches = build_launches(tuple(reversed(THREAD_AXES)), extents, loops, InsertPoint.at_end(block))
    body = launches[-1].body.block if launches else block
    for op in ops if launches else ():
        op.detach()
        body.add_op(op)
    variables = {op.thread.data: op.variable for op in launches}
    several = {axis: variable for axis, variable in variables.items() if extents[axis] != 1}
    for leaf in list(statements_of_threads(body)):
        _guard_by_first_threads(leaf, several)
    for loop in loops:
        axis = thread_axis_of(loop) or ""
        replace_loop(loop, variables[axis], extents[axis])
    for alloc in allocations:
        if isinstance(alloc, AllocBufferOp):
            _move_allocation(alloc, kernel, block, body)


def _is_from_shared_memory(nest: AttrOp) -> bool:
    """Whether the loads in a nest read shared memory."""
    return all(is_shared(op.buffer) for op in nest.walk() if isinstance(op, LoadOp))


def _replace_by_body(nest: AttrOp) -> None:
    """Replaces the loads of matrices by the loads in it, which each thread executes by itself."""
    for inner in list(nest.body.block.ops):
        inner.detach()
        Rewriter.insert_op(inner, InsertPoint.before(nest))
    nest.detach()
    nest.erase()


def _check_elements(kernel: Operation) -> None:
    """Raises UnsupportedError for loads and stores of single elements of fragments."""
    for op in kernel.walk():
        if isinstance(op, LoadOp | StoreOp) and is_fragment(op.buffer) and not is_in_fragment_nest(op):
            name, scope = memory_name(op.buffer), scope_of(memref_type(op.buffer))
            raise UnsupportedError(
                f"{where(op)}an element of {name} in memory {scope!r}: the threads of a warp have the elements in an "
                "order that nobody knows; expected matrix operations alone"
            )


# Statements


def _guard_by_first_threads(
    leaf: Operation, variables: Mapping[str, SSAValue], around: frozenset[str] = frozenset()
) -> None:
    """Guards a statement with effects that other threads see, so that the first thread of each axis without a loop
    executes it. Statements inside, next to loops over further axes, are guarded by themselves.

    around: the axes of the loops around the statement.
    """
    outer = around | ({axis} if is_thread_loop(leaf) and (axis := thread_axis_of(leaf)) else set())
    mine = around | {thread_axis_of(op) or "" for op in leaf.walk() if is_thread_loop(op)}
    deeper = {axis: variable for axis, variable in variables.items() if axis in mine - outer}
    for region in leaf.regions if deeper else ():
        for inner in [op for block in region.blocks for op in block.ops if not is_expression_op(op)]:
            _guard_by_first_threads(inner, deeper, frozenset(outer))
    lanes = THREAD_AXES[:1] if has_fragment_nests(leaf) else ()
    missing = {axis: variable for axis, variable in variables.items() if axis not in mine and axis not in lanes}
    effects = effects_of(leaf)
    for alloc in effects.private:
        if alone := (mine & set(variables)) - set(_axes_of(alloc)):
            axes = ", ".join(sorted(alone))
            name = alloc.buffer_name.data
            raise UnsupportedError(
                f"{where(leaf)}each thread has its own {name}, which is used outside of loops over {axes}: "
                'expected it in scope "shared"'
            )
    if not missing or not effects.is_seen:
        return
    if effects.private or leaf.results:
        raise UnsupportedError(
            f"{where(leaf)}one statement for all of {', '.join(missing)} has a value for each thread, and an effect "
            'that the first one alone may have: expected the value in scope "shared"'
        )
    builder = TirBuilder(insertion_point_before(leaf), leaf.location)
    first = [builder.binary("eq", variable, 0) for variable in missing.values()]
    guard = builder.insert(IfOp(builder.conjunction(first)))
    ops = [op for op in expressions_before(leaf) if guard.is_before_in_block(op)] + [leaf]
    for op in ops:
        op.detach()
        guard.then.block.add_op(op)


# Memory


def _allocations(kernel: Operation) -> list[AllocBufferOp | AllocateOp]:
    """The allocations of a kernel: inside the kernel, and outside for its threads or blocks."""
    allocs: dict[AllocBufferOp | AllocateOp, None] = {}
    for op in kernel.walk():
        for value in (*op.operands, *op.results):
            memory = memory_of(value) if isinstance(value.type, MemRefType | HandleType) else None
            alloc = None if memory is None else memory.owner
            if isinstance(alloc, AllocateOp) or (
                isinstance(alloc, AllocBufferOp)
                and (alloc.type.memory_space != NoneAttr() or THREAD_AXES_OF_DIMENSIONS in alloc.attributes)
            ):
                allocs[alloc] = None
    return list(allocs)


def _check_pointer(alloc: AllocateOp, kernel: Operation, axes: set[str]) -> None:
    """Raises UnsupportedError for memory of a pointer that would be memory of each thread, but is not in the program.

    axes: the axes of several threads.
    """
    memory = alloc.pointer
    if kernel.is_ancestor(alloc):
        around = [{thread_axis_of(outer) or "" for outer in ancestors(op)} for op, _ in uses_of_memory(memory)]
        is_own = memory.type.scope.data == LOCAL and all(axes <= each for each in around)
        if is_shared(memory) or is_own or team_of(alloc) is not None:
            return
    elif not is_shared(memory) and memory.type.scope.data != LOCAL:
        return
    raise UnsupportedError(
        f"{where(alloc)}the threads of a block cannot share {memory_name(memory)}, which is a pointer: expected "
        "T.alloc_buffer, or views of its type"
    )


def _axes_of(alloc: AllocBufferOp) -> list[str]:
    axes = alloc.attributes.get(THREAD_AXES_OF_DIMENSIONS, ArrayAttr[StringAttr]([]))
    assert isinstance(axes, ArrayAttr)
    return [axis.data for axis in axes]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportAttributeAccessIssue]


def _move_allocation(alloc: AllocBufferOp, kernel: Operation, block: Block, body: Block) -> None:
    """Moves an allocation into the launch of threads if it is private to a thread, else before it."""
    name = alloc.buffer_name.data
    if not all(kernel.is_ancestor(use.operation) for use in alloc.buffer.uses):
        raise UnsupportedError(
            f"{where(alloc)}{name} is used in several kernels, or outside, which do not see the same memory"
        )
    if any(kernel.is_ancestor(value.owner) for value in alloc.operands):
        raise UnsupportedError(f"{where(alloc)}the kernel computes the size of {name}")
    axes = _axes_of(alloc)
    if not has_copy_for_each_thread(alloc.buffer):
        alloc.detach()
        Rewriter.insert_op(alloc, InsertPoint.at_start(block))
        return
    space = alloc.type.memory_space if is_fragment(alloc.buffer) else memory_space(LOCAL)
    new = alloc.copy_with_shape(alloc.mixed_shape[len(axes) :], space)
    new.location = alloc.location
    Rewriter.insert_op(new, InsertPoint.at_start(body))
    for user in [use.operation for use in alloc.buffer.uses]:
        if not isinstance(user, LoadOp | StoreOp):
            raise UnsupportedError(
                f"{where(user)}{user.name} of memory of a thread, which can only be loaded and stored"
            )
        axis_indices = user.indices[: len(axes)]
        redirect_access(user, new.buffer, user.indices[len(axes) :])
        for value in axis_indices:
            erase_if_dead(value)
    alloc.detach()
    alloc.erase()
