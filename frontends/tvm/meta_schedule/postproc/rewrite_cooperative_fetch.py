"""The postprocessor `RewriteCooperativeFetch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....analysis.work import static_extent
from .....core.dtypes import dtype_of
from .....dialects.schedule import AnnotateOp, BindOp
from .....dialects.tir import BlockOp, CastOp, ForOp, LoadOp, StoreOp
from .....dialects.tir.base import memref_type
from ...tir import SBlockRV, Schedule
from ..blocks import int_annotation, target_of_block
from ..schedule_rule.multi_level_tiling import COOPERATIVE_FETCH
from .postproc import Postproc

if TYPE_CHECKING:
    from ..tune_context import TuneContext

WARP_EXECUTION = "warp_execution"
"""The annotation of a loop whose iterations the threads of a warp compute together."""
_WIDEST = 4
"""The size in bytes of the greatest elements that are loaded as vectors."""


@dataclass(frozen=True)
class _Copy:
    """A copy to shared memory. threads: the numbers of threads of `threadIdx.y` and `threadIdx.x` that it is in."""

    block: SBlockRV
    threads: dict[str, int]


class RewriteCooperativeFetch(Postproc):
    """Distributes the copies to shared memory that `MultiLevelTiling` has made over the threads of a block."""

    def __init__(self) -> None:
        self._warp = 32

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._warp = int(context.target.thread_warp_size)

    def apply(self, sch: Schedule) -> bool:
        for copy in self._copies(sch):
            block = target_of_block(sch, copy.block)
            lanes = int_annotation(block, COOPERATIVE_FETCH)
            if lanes is not None and isinstance(block, BlockOp):
                sch.unannotate(copy.block, COOPERATIVE_FETCH)
                _distribute(sch, copy, lanes if _widest(block) <= _WIDEST else 1)
        return True

    def _copies(self, sch: Schedule) -> list[_Copy]:
        """The copies, in the order of the trace, with the threads that are bound before them."""
        threads: dict[str, int] = {}
        copies: list[_Copy] = []
        for op in sch.trace.instructions:
            if isinstance(op, BindOp) and op.thread_axis.data in ("threadIdx.x", "threadIdx.y"):
                loop = sch.op(sch.handle_of(op.loop))  # pyright: ignore[reportArgumentType]
                extent = static_extent(loop) if isinstance(loop, ForOp) else None
                threads = {**threads, op.thread_axis.data: extent or 1}
            elif isinstance(op, AnnotateOp) and op.ann_key.data == WARP_EXECUTION:
                threads = {**threads, "threadIdx.x": self._warp}
            elif isinstance(op, AnnotateOp) and op.ann_key.data == COOPERATIVE_FETCH:
                copies.append(_Copy(sch.handle_of(op.block_or_loop), threads))  # pyright: ignore[reportArgumentType]
        return copies


def _distribute(sch: Schedule, copy: _Copy, lanes: int) -> None:
    """Divides the innermost loop of a copy among threads, with vectors of `lanes` elements if they divide it."""
    loop = sch.get_loops(copy.block)[-1]
    op = sch.op(loop)
    extent = static_extent(op) if isinstance(op, ForOp) else None
    axes = [axis for axis in ("threadIdx.y", "threadIdx.x") if axis in copy.threads]
    if extent is None or not axes:
        return
    vector = [lanes] if lanes > 1 and extent % lanes == 0 else []
    _, *parts = sch.split(loop, [None, *(copy.threads[axis] for axis in axes), *vector])
    for part in parts[len(axes) :]:
        sch.vectorize(part)
    for part, axis in reversed(list(zip(parts, axes, strict=False))):
        sch.bind(part, axis)


def _widest(block: BlockOp) -> int:
    """The size of the greatest number that a block computes in bytes."""
    types = [
        memref_type(op.buffer).element_type if isinstance(op, LoadOp | StoreOp) else op.result.type
        for op in block.body.block.walk()
        if isinstance(op, LoadOp | StoreOp | CastOp)
    ]
    return max((dtype_of(type).bits // 8 for type in types), default=1)
