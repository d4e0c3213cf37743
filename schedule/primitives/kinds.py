"""The primitives that set the kind of a loop: `parallel`, `vectorize`, `unroll`, `bind`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...analysis.names import loop_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, team_of, thread_axes_of
from ...analysis.threads.copies import divides_copies
from ...analysis.threads.memories import memory_of
from ...core.diagnostics import did_you_mean
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.schedule import BindOp, ParallelOp, UnrollOp, VectorizeOp
from ...dialects.tir import ForOp, LoadOp, StoreOp
from ..concurrency import require_independent
from ..handles import LoopRV
from ..legality import scope_of_team
from ..recorder import Recorder
from ..state import State, applies

BINDABLE_AXES = (*BLOCK_AXES, *THREAD_AXES, "vthread", "vthread.x", "vthread.y", "vthread.z")
"""The axes that a loop can be bound to: blocks of a grid, threads of a block, and virtual threads of one thread."""


class KindPrimitives(Recorder):
    """Primitives that set the kind of a loop.

    A loop that already has a kind gets the new one; its annotations stay. A loop that leaves its thread axis must also
    read the same values if its iterations run one after the other.
    """

    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop in parallel, on several threads of a CPU.

            for i in range(128):                for i in T.parallel(128):
                with T.block("B"):       ->         with T.block("B"):

        Legal if no iteration accesses an element that another one writes. A buffer that is allocated outside of the
        loop and used only in it does not count if each iteration reads only elements that it has written itself: each
        iteration then has its own copy of the buffer. ScheduleError with two conflicting iterations if not.
        """
        self.record(ParallelOp, loop=loop)

    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as the lanes of vectors.

            for i_1 in range(8):                for i_1 in T.vectorized(8):
                with T.block("B"):       ->         with T.block("B"):

        Conditions are those of `parallel`. Nested loops and a dynamic extent are allowed, as in TVM; the number of
        lanes of the machine is not checked. A loop that `tir-vectorize-loops` cannot turn into vectors runs
        sequentially.
        """
        self.record(VectorizeOp, loop=loop)

    def unroll(self, loop: LoopRV) -> None:
        """Unroll a loop when the program is lowered.

            for k in range(4):                  for k in T.unroll(4):
                with T.block("B"):       ->         with T.block("B"):

        Always legal: the iterations keep their order.
        """
        self.record(UnrollOp, loop=loop)

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind a loop to a thread axis: each iteration runs as one thread, or one thread block, of a GPU.

            for i in range(128):                for i in T.thread_binding(128, thread="blockIdx.x"):
                with T.block("B"):       ->         with T.block("B"):

        thread_axis: blockIdx.x, .y, .z; threadIdx.x, .y, .z; vthread, vthread.x, .y, .z.
        Conditions are those of `parallel`; in addition, the threads of one block (threadIdx) may contribute to one
        reduction together. In one kernel (the outermost loop that is bound to blocks or threads), a loop bound to a
        blockIdx or vthread axis is not nested in another loop bound to the same axis, and the known extents of the
        loops bound to an axis agree. ScheduleError if not.
        """
        self.record(BindOp, loop=loop, thread_axis=thread_axis)


@applies(ParallelOp)
def parallel(state: State, loop: ForOp) -> None:
    _set_kind(state, loop, "parallel")


@applies(VectorizeOp)
def vectorize(state: State, loop: ForOp) -> None:
    _set_kind(state, loop, "vectorized")


@applies(UnrollOp)
def unroll(state: State, loop: ForOp) -> None:
    _unbind(state, loop)
    with state.changing(check=False):
        _become(loop, "unrolled")


@applies(BindOp)
def bind(state: State, loop: ForOp, thread_axis: str) -> None:
    if thread_axis not in BINDABLE_AXES:
        hint = did_you_mean(str(thread_axis), BINDABLE_AXES)
        raise ScheduleError(f"no thread axis {thread_axis!r}{hint} (has: {', '.join(BINDABLE_AXES)})", [loop])
    _check_axis(loop, thread_axis)
    if loop.thread is not None and loop.thread.data == thread_axis:
        return
    _unbind(state, loop)
    shares = any(
        other.is_ancestor(loop) or loop.is_ancestor(other) for other in _bound_loops(_kernel(loop), thread_axis)
    )
    divided = _divided_memories(loop, thread_axis)
    if not shares and not divided:
        _set_kind(state, loop, "thread_binding", thread_axis)
        return
    if shares and not divided and divides_copies(loop, thread_axis):
        with state.changing(check=False):
            _become(loop, "thread_binding", thread_axis)
        return
    if not shares and state.checked:
        require_independent(loop, "thread_binding", thread_axis)
    team = team_of(loop)
    moved = _users(divided) if divided else [loop]
    with state.changing(moved, among=[scope_of_team(loop if team is None else team)]):
        _become(loop, "thread_binding", thread_axis)


def _unbind(state: State, loop: ForOp) -> None:
    """Make a loop that is bound to threads a serial loop: its iterations no longer execute each statement together."""
    if loop.thread is not None:
        team = team_of(loop)
        with state.changing([loop], among=[scope_of_team(loop if team is None else team)]):
            _become(loop, "serial")


def _set_kind(state: State, loop: ForOp, kind: str, thread: str | None = None) -> None:
    _unbind(state, loop)
    if state.checked:
        require_independent(loop, kind, thread)
    with state.changing(check=False):
        _become(loop, kind, thread)


def _become(loop: ForOp, kind: str, thread: str | None = None) -> None:
    loop.kind = StringAttr(kind)
    loop.thread = None if thread is None else StringAttr(thread)


# Thread axes


def _divided_memories(loop: ForOp, axis: str) -> list[SSAValue]:
    """The memories that are also used outside of a loop and become private to each thread if the loop is bound."""
    memories = {memory_of(op.buffer) for op in find_ops(loop, LoadOp, StoreOp)}
    shared = [m for m in memories if m is not None and not all(loop.is_ancestor(use.operation) for use in m.uses)]
    before, kind, thread = [thread_axes_of(m) for m in shared], loop.kind, loop.thread
    _become(loop, "thread_binding", axis)
    after = [thread_axes_of(m) for m in shared]
    loop.kind, loop.thread = kind, thread
    return [memory for memory, old, new in zip(shared, before, after, strict=True) if old != new]


def _users(memories: Sequence[SSAValue]) -> list[Operation]:
    """The statements that use some memories, in the scope in which all of the memories are allocated or visible."""
    scopes = [owner.parent_op() for memory in memories if isinstance(owner := memory.owner, Operation)]
    scope = next(s for s in scopes if s is not None and all(t is not None and s.is_ancestor(t) for t in scopes))
    users = [op for memory in memories for use in memory.uses for op in (use.operation, *ancestors(use.operation))]
    return list(dict.fromkeys(op for op in users if op.parent_op() is scope))


def _check_axis(loop: ForOp, axis: str) -> None:
    """Raise ScheduleError if a loop of the kernel that is bound to the same axis is incompatible with `loop`."""
    for other in _bound_loops(_kernel(loop), axis):
        if other is loop:
            continue
        if axis not in THREAD_AXES and (other.is_ancestor(loop) or loop.is_ancestor(other)):
            raise ScheduleError(
                f"loop {loop_name(other)} is bound to {axis} already: the two loops would have the same number in each "
                "thread, and not run each combination",
                {loop: "to be bound too", other: ""},
            )
        extents = loop.mixed_bounds[1], other.mixed_bounds[1]
        if all(isinstance(extent, int) for extent in extents) and extents[0] != extents[1]:
            raise ScheduleError(
                f"loop {loop_name(other)} of the same kernel is bound to {axis} already with extent {extents[1]}, "
                f"expected that of loop {loop_name(loop)}, {extents[0]}",
                {loop: f"extent {extents[0]}", other: f"extent {extents[1]}"},
            )


def _kernel(loop: ForOp) -> ForOp:
    """The outermost loop around `loop` that is bound to threads, or `loop` itself."""
    around = [op for op in ancestors(loop) if isinstance(op, ForOp) and op.thread is not None]
    return around[-1] if around else loop


def _bound_loops(kernel: ForOp, axis: str) -> Iterator[ForOp]:
    """The loops of a kernel that are bound to an axis."""
    for op in kernel.walk():
        if isinstance(op, ForOp) and op.thread is not None and op.thread.data == axis:
            yield op
