"""The pass `tir-version-overlaps`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.loop_accesses import is_parameter
from ...analysis.scopes import loops_around
from ...analysis.threads.memories import memory_of
from ...analysis.unscheduled import are_contiguous, may_overlap
from ...analysis.work import static_extent
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import DISJOINT_VERSION, HOST_FUNCTION, TIR_NOALIAS, is_true
from ...dialects.tir import ForOp, FuncOp, LoadOp, StoreOp
from ...dialects.tir.tree import depends_on
from .disjoint_versions import add_disjoint_versions

_remarks = PassRemarks("tir-version-overlaps")


@dataclass(frozen=True)
class TirVersionOverlapsPass(ModulePass):
    """Adds a version with `tir.noalias` to functions whose sums stay in memory because their buffers may overlap.

    A function without `tir.noalias` may be called with buffers that overlap. A loop that updates an element of a
    parameter and loads from another parameter stores the element in each iteration then, for the next load may read it:
    a matrix product with a schedule of its user takes four times as long as with `tir.noalias`. The function calls its
    version where no buffer overlaps a buffer that it writes, as a function with a default schedule
    (`tir-schedule-cpu`); else it executes its own loops.

    A function gets a version if all its buffers are contiguous, and a statement updates such elements many times, or a
    dynamic number of times.

    least-updates: the least number of updates, each of which takes about a nanosecond in memory.

    Before
        def main(A: T.Buffer((64, 64)), C: T.Buffer((64,))):
            for i, k in T.grid(64, 64):
                C[i] = C[i] + A[i, k]

    After
        def main_disjoint(A: T.Buffer((64, 64)), C: T.Buffer((64,))):
            T.func_attr({"tir.noalias": True})
            for i, k in T.grid(64, 64):
                C[i] = C[i] + A[i, k]

        def main(A: T.Buffer((64, 64)), C: T.Buffer((64,))):
            T.func_attr({"stepwell.disjoint_version": "main_disjoint"})
            for i, k in T.grid(64, 64):
                C[i] = C[i] + A[i, k]

    Must hold before: blocks are resolved (`tir-resolve-blocks`).

    Gone after: nothing.
    """

    name = "tir-version-overlaps"

    least_updates: int = 1024

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        add_disjoint_versions(op, [func for func in find_ops(op, FuncOp) if _has_version(func, self.least_updates)])


def _has_version(func: FuncOp, least_updates: int) -> bool:
    """Whether a function gets a version."""
    if not may_overlap(func) or func.attr(DISJOINT_VERSION) is not None or is_true(func.attr(HOST_FUNCTION)):
        return False
    if not any(_stays_in_memory(store, least_updates) for store in find_ops(func, StoreOp)):
        return False
    name = func.sym_name.data
    if not are_contiguous(func):
        reason = f"its buffers may overlap, since it lacks the attribute {TIR_NOALIAS}, and are not all contiguous"
        _remarks.missed(func, lambda: f"sums of function {name} stay in memory: {reason}")
        return False
    _remarks.applied(func, lambda: f"function {name} has a version for buffers that do not overlap")
    return True


def _stays_in_memory(store: StoreOp, least_updates: int) -> bool:
    """Whether a loop updates an element of a parameter many times, and loads from another parameter."""
    memory, loops = memory_of(store.buffer), loops_around(store)
    extents = [inf if (extent := static_extent(loop)) is None else extent for loop in loops]
    return is_parameter(memory) and prod(extents) >= least_updates and any(_is_updated(store, loop) for loop in loops)


def _is_updated(store: StoreOp, loop: ForOp) -> bool:
    """Whether the iterations of a loop store the same elements, and load from another parameter."""
    if loop.kind.data != "serial" or any(depends_on(index, [loop.variable]) for index in store.indices):
        return False
    loaded = {memory_of(load.buffer) for load in find_ops(loop, LoadOp)} - {memory_of(store.buffer)}
    return any(map(is_parameter, loaded))
