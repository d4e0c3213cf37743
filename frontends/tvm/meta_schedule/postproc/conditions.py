"""Postprocessors that reject schedules: `DisallowDynamicLoop`, `VerifyGPUCode`; and `RewriteLayout`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .....analysis.scopes import ancestors
from .....analysis.threads.axes import is_thread_loop, thread_axis_of
from .....analysis.work import static_extent
from .....core.errors import StepwellError
from .....core.walking import find_ops
from .....dialects.tir import BlockOp, ForOp
from .....transforms.pipelines import lower_launches
from ...tir import Schedule
from ..blocks import int_annotation
from ..schedule_rule.multi_level_tiling import LEAST_THREADS, MOST_THREADS
from .postproc import Postproc
from .rewrite_cooperative_fetch import WARP_EXECUTION

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class DisallowDynamicLoop(Postproc):
    """Rejects schedules with loops of unknown extents."""

    def apply(self, sch: Schedule) -> bool:
        return all(static_extent(op) is not None for op in sch.mod.op.walk() if isinstance(op, ForOp))


class VerifyGPUCode(Postproc):
    """Rejects schedules that are no kernels within the limits of a GPU (threads, shared memory, barriers), and those
    with less or more threads around a tiled block than `MultiLevelTiling` has annotated. A block with the annotation
    `warp_execution` is computed by the threads of a warp."""

    def __init__(self) -> None:
        self._warp = 32

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._warp = int(context.target.thread_warp_size)

    def may_accept(self, sch: Schedule) -> bool:
        return all(_has_threads(op, _threads(op) or None, self._warp) for op in find_ops(sch.mod.op, BlockOp))

    def apply(self, sch: Schedule) -> bool:
        if not all(_has_threads(op, _threads(op), self._warp) for op in find_ops(sch.mod.op, BlockOp)):
            return False
        try:
            lower_launches(sch.mod)
        except StepwellError:
            return False
        return True


def _has_threads(block: BlockOp, loops: list[ForOp] | None, warp: int) -> bool:
    """Whether the number of threads of loops around a block is within its annotated limits; true if not bound yet.
    warp: the number of threads along `threadIdx.x` of a block that is computed by a warp."""
    least, most = int_annotation(block, LEAST_THREADS), int_annotation(block, MOST_THREADS)
    if least is None or most is None or loops is None:
        return True
    extents = {thread_axis_of(loop): static_extent(loop) or 1 for loop in loops}
    if any(int_annotation(each, WARP_EXECUTION) for each in (block, *ancestors(block)) if isinstance(each, BlockOp)):
        extents["threadIdx.x"] = warp
    return least <= prod(extents.values()) <= most


def _threads(block: BlockOp) -> list[ForOp]:
    """The loops around a block that are bound to threads."""
    return [op for op in ancestors(block) if is_thread_loop(op) and isinstance(op, ForOp)]


class RewriteLayout(Postproc):
    """Leaves schedules as they are: a kernel's parameters keep their layout, and `relay.build` packs weights."""

    def apply(self, sch: Schedule) -> bool:
        return True
