"""The pass `tir-interleave-vthreads`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.lanes import free_values
from ...analysis.names import buffer_name, loop_name
from ...analysis.threads.axes import is_virtual_thread_loop, outer_loop_of_axis, thread_axis_of
from ...analysis.threads.barriers import is_barrier
from ...analysis.threads.fragments import is_fragment_nest
from ...analysis.threads.memories import memory_of
from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, AttrOp, ForOp, IfOp, LaunchThreadOp, LoadOp, StoreOp, TirBuilder
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import has_effect, is_expression_op, treeify
from .launch_ops import replace_loop

_remarks = PassRemarks("tir-interleave-vthreads")

_MOST_COPIES = 16
"""The maximum number of virtual threads for which a statement is replicated; a loop runs more virtual threads."""


@dataclass(frozen=True)
class TirInterleaveVthreadsPass(ModulePass):
    """Interleaves virtual threads in one thread: replicates each statement, in place of a loop over virtual threads.

    Loops and branches that are uniform over the virtual threads stay, once. A statement that is the same for all
    virtual threads is not replicated. Memory that only one loop over virtual threads uses, and in which they store
    different values, gets a leading dimension for the virtual threads. A loop nested in a loop bound to the same axis
    runs for the current virtual thread.

    serial: whether to turn such loops into serial loops, for a processor.

    Before
        tir.for thread_binding "v" %v : i32 in [0 +: 2] thread "vthread.x" {
          tir.for serial "k" %k : i32 in [0 +: 8] {
            tir.store %a, %S[%k] : memref<8xf32, "shared">
            %x = tir.load %S[%v] : memref<8xf32, "shared">
            tir.store %x, %L[%k] : memref<8xf32, "local">
          }
        }

    After
        tir.for serial "k" %k : i32 in [0 +: 8] {
          tir.store %a, %S[%k] : memref<8xf32, "shared">
          %c0 = tir.const 0 : i32
          %x = tir.load %S[%c0] : memref<8xf32, "shared">
          tir.store %x, %L[%c0, %k] : memref<2x8xf32, "local">
          %c1 = tir.const 1 : i32
          %y = tir.load %S[%c1] : memref<8xf32, "shared">
          tir.store %y, %L[%c1, %k] : memref<2x8xf32, "local">
        }

    Must hold before: no tir.block (`tir-resolve-blocks`). A loop of unknown trip count becomes a serial loop, and so
    does a loop with memory that would have to be replicated but has strides, or has uses other than loads and stores.

    Gone after: loops over virtual threads.
    """

    name = "tir-interleave-vthreads"

    serial: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for launch in [o for o in find_ops(op, LaunchThreadOp) if is_virtual_thread_loop(o)]:
            _loop_over(launch)
        loops = [o for o in find_ops(op, ForOp) if is_virtual_thread_loop(o)]
        for loop in reversed(loops):  # inner ones first
            if outer_loop_of_axis(loop) is None:
                divided = _use_outer(loop)
                if self.serial:
                    _serialize(loop)
                    _remarks.applied(loop, lambda: f"virtual threads of loop {loop_name(loop)} run in order")
                else:
                    _interleave(loop, divided)


def _loop_over(launch: LaunchThreadOp) -> None:
    """Replaces a launch of virtual threads by a loop over them."""
    name, extent, axis = launch.var_name.data, launch.mixed_extent, launch.thread.data
    loop = ForOp(name, 0, extent, launch.variable.type, kind="thread_binding", thread=axis)
    loop.location = launch.location
    loop.variable.name_hint = launch.variable.name_hint
    Rewriter.insert_op(loop, InsertPoint.before(launch))
    launch.variable.replace_all_uses_with(loop.variable)
    for op in list(launch.body.block.ops):
        op.detach()
        loop.body.block.add_op(op)
    launch.detach()
    launch.erase()


def _use_outer(loop: ForOp) -> set[SSAValue | None]:
    """Lets nested loops over the same virtual threads run for the current virtual thread only.

    Returns the memory that these loops store to: its elements are divided among the virtual threads.
    """
    inner = [
        op
        for op in loop.walk()
        if op is not loop and isinstance(op, ForOp) and thread_axis_of(op) == thread_axis_of(loop)
    ]
    divided = {memory_of(op.buffer) for each in inner for op in find_ops(each, StoreOp)}
    for each in reversed(inner):
        replace_loop(each, loop.variable, loop.mixed_bounds[1])
    return divided


def _serialize(loop: ForOp) -> None:
    """Lets virtual threads run one after the other."""
    loop.kind, loop.thread = StringAttr("serial"), None


def _interleave(loop: ForOp, divided: set[SSAValue | None]) -> None:
    """Replaces a loop by interleaved statements, or by a serial loop where this is impossible."""
    extent, name = loop.mixed_bounds[1], loop_name(loop)
    if not _has_known_iterations(loop) or not isinstance(extent, int):
        _serialize(loop)
        _remarks.missed(loop, lambda: f"loop {name} becomes serial: its iterations are not 0, 1, ... to a known number")
        return
    treeify(loop)
    allocs = _memory_to_expand(loop, divided)
    fixed = next((alloc for alloc in allocs if not _can_be_several(alloc)), None)
    if fixed is not None:
        _serialize(loop)
        _remarks.missed(
            loop,
            lambda: (
                f"loop {name} becomes serial: buffer {buffer_name(fixed.buffer)}, of which each virtual thread "
                "needs its own, has strides, or uses other than loads and stores"
            ),
        )
        return
    _remarks.applied(loop, lambda: f"{extent} virtual threads of loop {name} are interleaved in one thread")
    for alloc in allocs:
        _expand(alloc, loop.variable, extent)
    body = loop.body.block
    _Writer(loop, extent).block(body)
    for op in list(body.ops):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(loop))
    loop.detach()
    loop.erase()


def _has_known_iterations(loop: ForOp) -> bool:
    """Whether a loop counts from 0 in steps of 1 to a known number."""
    low, extent, step = loop.mixed_bounds
    return low == 0 and step == 1 and isinstance(extent, int) and extent >= 1


# Memory


def _memory_to_expand(loop: ForOp, divided: set[SSAValue | None]) -> list[AllocBufferOp]:
    """The buffers of a loop over virtual threads that receive different values, or values at different indices."""
    mine: dict[SSAValue, list[StoreOp]] = {}
    for op in loop.walk():
        memory = memory_of(op.buffer) if isinstance(op, StoreOp) else None
        if isinstance(op, StoreOp) and memory is not None and isinstance(memory.owner, AllocBufferOp):
            mine.setdefault(memory, []).append(op)
    mine = {
        memory: stores
        for memory, stores in mine.items()
        if memory not in divided and all(loop.is_ancestor(use.operation) for use in memory.uses)
    }
    memories: dict[SSAValue, None] = {}
    while True:
        differs = _Differs(loop, memories)
        new = [m for m, stores in mine.items() if m not in memories and any(differs.of_statement(s) for s in stores)]
        if not new:
            return [memory.owner for memory in memories if isinstance(memory.owner, AllocBufferOp)]
        memories |= dict.fromkeys(new)


@dataclass
class _Differs:
    """The analysis of values that differ between virtual threads. memory: buffers with a copy per virtual thread."""

    loop: ForOp
    memory: dict[SSAValue, None]

    def of_statement(self, op: Operation) -> bool:
        """Whether a statement, or its execution, differs between virtual threads."""
        parent = op.parent_op()
        while parent is not None and parent is not self.loop:
            if any(map(self.value, parent.operands)):
                return True
            parent = parent.parent_op()
        return any(map(self.value, op.operands))

    def value(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, Block) or not self.loop.is_ancestor(owner):
            if isinstance(value, BlockArgument) and value is not self.loop.variable:
                parent = owner.parent_op() if isinstance(owner, Block) else None
                inside = parent is not None and parent is not self.loop and self.loop.is_ancestor(parent)
                return inside and any(map(self.value, parent.operands if parent is not None else ()))
            return value is self.loop.variable
        if isinstance(owner, LoadOp) and memory_of(owner.buffer) in self.memory:
            return True
        return any(map(self.value, free_values(owner))) or any(
            isinstance(inner, LoadOp) and memory_of(inner.buffer) in self.memory for inner in owner.walk()
        )


def _can_be_several(alloc: AllocBufferOp) -> bool:
    users = [use.operation for use in alloc.buffer.uses]
    return alloc.mixed_strides is None and all(isinstance(user, LoadOp | StoreOp) for user in users)


def _expand(alloc: AllocBufferOp, variable: SSAValue, extent: int) -> None:
    """Gives a buffer a leading dimension for virtual threads, and each access the current virtual thread as index."""
    new = alloc.copy_with_shape([extent, *alloc.mixed_shape], alloc.type.memory_space)
    new.memory = alloc.memory
    new.attributes.update(alloc.attributes)
    TirBuilder(InsertPoint.before(alloc), alloc.location).insert(new)
    for user in [use.operation for use in alloc.buffer.uses]:
        assert isinstance(user, LoadOp | StoreOp)  # see `_can_be_several`
        redirect_access(user, new.buffer, [variable, *user.indices])
    alloc.detach()
    alloc.erase()


# Statements


@dataclass
class _Writer:
    """Replicates the statements of a loop that use its variable, in place."""

    loop: ForOp
    extent: int

    def block(self, block: Block) -> None:
        pending: list[Operation] = []
        for op in list(block.ops):
            if is_expression_op(op):
                pending.append(op)
                continue
            if op.results and not isinstance(op, AllocBufferOp) and self._names(pending, op):
                rest = [op]
                while rest[-1].next_op is not None:
                    rest.append(rest[-1].next_op)
                self._replicate([*pending, *rest])
                return
            self._statement(pending, op)
            pending = []

    def _statement(self, pending: Sequence[Operation], op: Operation) -> None:
        is_divided = isinstance(op, ForOp | IfOp | AttrOp | LaunchThreadOp) and not is_fragment_nest(op)
        if is_divided and not self._differs_in(pending, op):
            for region in op.regions:
                self.block(region.block)
        elif self._names(pending, op) or not _is_repeatable(pending, op):
            self._replicate([*pending, op])

    def _differs_in(self, pending: Sequence[Operation], op: Operation) -> bool:
        """Whether the bounds or the condition of a statement differ, or have effects."""
        return (
            self.loop.variable in op.operands
            or any(map(has_effect, pending))
            or any(self.loop.variable in free_values(each) for each in pending)
        )

    def _names(self, pending: Sequence[Operation], op: Operation) -> bool:
        return any(self.loop.variable in free_values(each) for each in (*pending, op))

    def _replicate(self, ops: Sequence[Operation]) -> None:
        """Replicates operations for each virtual thread."""
        loop, first = self.loop, ops[0]
        builder = TirBuilder(InsertPoint.before(first), loop.location)
        if self.extent > _MOST_COPIES:
            around = builder.insert(ForOp(loop.loop_var.data, 0, self.extent, loop.variable.type))
            around.variable.name_hint = loop.variable.name_hint
            _clone(ops, loop.variable, around.variable, InsertPoint.at_end(around.body.block))
        else:
            for index in range(self.extent):
                value = builder.const(index, dtype_of(loop.variable.type))
                _clone(ops, loop.variable, value, InsertPoint.before(first))
        for op in reversed(ops):
            op.detach()
            op.erase()


def _clone(ops: Sequence[Operation], variable: SSAValue, value: SSAValue, point: InsertPoint) -> None:
    values = {variable: value}
    for op in ops:
        Rewriter.insert_op(op.clone(values), point)


def _is_repeatable(pending: Sequence[Operation], op: Operation) -> bool:
    """Whether one execution of a uniform statement is equivalent to an execution by each virtual thread."""
    if any(map(has_effect, pending)):
        return False
    return bool(op.results) or isinstance(op, StoreOp) or is_barrier(op)
