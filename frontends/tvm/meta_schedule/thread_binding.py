"""Loops of blocks that are bound to blocks and threads of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....analysis.scopes import loops_around, only_child
from ....analysis.threads.axes import is_block_loop, is_thread_loop
from ....analysis.work import static_extent
from ....core.errors import ScheduleError
from ....dialects.tir import ForOp
from ....schedule.handles import ExprRV, LoopRV
from ..tir import SBlockRV, Schedule
from .blocks import inner_block, is_tiled, kind_of_loop

Factor = Callable[[int], "int | ExprRV"]
"""The number of threads of a loop, from its greatest number."""


def sampler(sch: Schedule, extents: Sequence[int]) -> Factor:
    """Draws a number of threads from those that are not too great; the greatest number if all are."""

    def draw(most: int) -> int | ExprRV:
        fitting = [extent for extent in extents if extent <= most]
        if len(fitting) < 2:
            return fitting[0] if fitting else most
        return sch.sample_categorical(fitting, [1.0 / len(fitting)] * len(fitting))

    return draw


def bind_block(sch: Schedule, block: SBlockRV, most_blocks: int, most_threads: int, factor: Factor) -> None:
    """Binds the outer spatial loops of a block, fused, to `blockIdx.x` and `threadIdx.x`, unless loops around it are
    bound already.

    most_blocks, most_threads: the greatest numbers of blocks and of threads of each.  factor: the number of threads.
    ScheduleError if a loop is bound to a block axis, and none to a thread axis.
    """
    op = inner_block(sch, block)
    if op is None or is_tiled(op):
        return
    loops = loops_around(op)
    blocks = _first(loops, is_block_loop)
    threads = _first(loops, is_thread_loop)
    if blocks < len(loops) and threads < len(loops):
        return
    if blocks < len(loops):
        raise ScheduleError(f"block {op.block_name.data}: a loop is bound to a block axis, and none to a thread axis")
    fused = min(
        _first(loops, lambda loop: kind_of_loop(loop) != "spatial"),
        _first(loops, lambda loop: loop.kind.data != "serial"),
        _first(loops, lambda loop: only_child(loop) is None) + 1,
    )
    handles = sch.get_loops(block)
    if fused == 0:
        handles = [sch.add_unit_loop(handles[0] if handles else block), *handles]
        fused, threads = 1, threads + 1
    outer = sch.fuse(*handles[:fused]) if fused > 1 else handles[0]
    if threads < len(handles):
        sch.bind(outer, "blockIdx.x")
    else:
        _bind_loop(sch, outer, most_blocks, most_threads, factor)


def _first(loops: Sequence[ForOp], holds: Callable[[ForOp], bool]) -> int:
    """The index of the first loop with a property, the number of loops without one."""
    return next((n for n, loop in enumerate(loops) if holds(loop)), len(loops))


def _bind_loop(sch: Schedule, loop: LoopRV, most_blocks: int, most_threads: int, factor: Factor) -> None:
    """Binds a loop to `blockIdx.x` and `threadIdx.x`; each thread has several iterations if there are too many."""
    op = sch.op(loop)
    extent = static_extent(op) if isinstance(op, ForOp) else None
    if extent is None or extent <= most_blocks * most_threads:
        count = factor(most_threads if extent is None else min(extent, most_threads))
        outer, inner = sch.split(loop, [None, count])
    else:
        rest, outer, inner = sch.split(loop, [None, most_blocks, most_threads])
        sch.reorder(outer, inner, rest)
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
