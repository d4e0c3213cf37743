"""Sums of products, tile by tile: what matrix products and convolutions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.tir import BlockOp
from ..analysis.memories import LOCAL
from ..analysis.scopes import consumers, producers, writes_of
from ..schedule import Schedule
from ..schedule.handles import BlockRV, LoopRV
from .binding import fused
from .kernel import Kernel
from .neighbours import is_epilogue, is_prologue


@dataclass(frozen=True)
class Tile:
    """What a block of threads does of an axis. threads: how many share it.  each: how many elements each of them does.

    thread: the axis of threads.
    """

    axis: SSAValue
    threads: int
    each: int
    thread: str | None = None


@dataclass(frozen=True)
class Contraction:
    """How the loops of a sum of products are cut.

    grid: axes of which a block has one value.  tiles: spatial axes that are cut, outermost first.  depth: how much of
    `summed` is in shared memory at a time.  outer, inner: other reduction axes, around what is in shared memory and
    inside.  shared: the buffers that are copied there.
    """

    grid: Sequence[SSAValue]
    tiles: Sequence[Tile]
    summed: SSAValue
    depth: int
    outer: Sequence[SSAValue]
    inner: Sequence[SSAValue]
    shared: Sequence[SSAValue]


def contract(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[str, ...]:
    """Cut the loops of a sum of products, keep sums in registers, and copy what is read to shared memory.

    A block that takes the sums element by element is done by the thread that has them. Gives its name. The steps are
    right for any block that writes one element at its spatial axes and reads other buffers (`operands` in `gemm.py`),
    and take seconds to check for a convolution, so they are not checked.
    """
    with sch.unchecked():
        return _contract(sch, kernel, plan)


def _contract(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[str, ...]:
    tiled = [tile.axis for tile in plan.tiles]
    grid, outer, inner, (summed,), spatial = kernel.groups_of_loops(
        sch, plan.grid, plan.outer, plan.inner, [plan.summed], tiled
    )
    blocks, threads, registers = list[LoopRV](), list[LoopRV](), list[LoopRV]()
    for tile, loop in zip(plan.tiles, spatial, strict=True):
        block, thread, register = sch.split(loop, [None, tile.threads, tile.each])
        blocks.append(block)
        threads.append(thread)
        registers.append(register)
    depth_outer, depth_inner = sch.split(summed, [None, plan.depth])
    sch.reorder(*grid, *blocks, *threads, *outer, depth_outer, depth_inner, *inner, *registers)
    sch.bind(fused(sch, [*grid, *blocks]), "blockIdx.x")
    for tile, loop in zip(plan.tiles, threads, strict=True):
        if tile.thread is not None:
            sch.bind(loop, tile.thread)
    epilogue = _keep_in_registers(sch, kernel, threads[-1])
    for buffer in plan.shared:
        _copy_to_shared(sch, kernel, buffer, depth_outer, plan.tiles)
    sch.decompose_reduction(kernel.rv, [*outer, depth_outer][0])
    return epilogue


def _keep_in_registers(sch: Schedule, kernel: Kernel, thread: LoopRV) -> tuple[str, ...]:
    """Let sums be in registers, and the thread that has them do what is done with each, or copy them."""
    users = consumers(kernel.block)
    if len(users) == 1 and is_epilogue(kernel, users[0]):
        (user,) = sch.get_consumers(kernel.rv)
        sch.reverse_compute_at(user, thread)
        sch.set_scope(kernel.rv, 0, LOCAL)
        return (users[0].block_name.data,)
    sch.reverse_compute_at(sch.cache_write(kernel.rv, 0, LOCAL), thread)
    return ()


def _copy_to_shared(sch: Schedule, kernel: Kernel, buffer: SSAValue, place: LoopRV, tiles: Sequence[Tile]) -> None:
    """Let the threads of a block copy together what they read of a buffer at a time, or compute it there."""
    read = [access.buffer for access in kernel.block.accesses if not access.is_write]
    producer = _producer(sch, kernel.rv, buffer)
    if producer is None:
        copy = sch.cache_read(kernel.rv, read.index(buffer), "shared")
    else:
        copy = producer
        sch.set_scope(copy, 0, "shared")
    around = _depth(sch, kernel.rv, place)
    sch.compute_at(copy, place)
    shared = [tile for tile in tiles if tile.thread is not None]
    parts = sch.split(fused(sch, sch.get_loops(copy)[around:]), [None, *(tile.threads for tile in shared)])
    for loop, tile in zip(parts[1:], shared, strict=True):
        assert tile.thread is not None
        sch.bind(loop, tile.thread)


def _producer(sch: Schedule, block: BlockRV, buffer: SSAValue) -> BlockRV | None:
    """The block that computes elements of a buffer for this one alone, each by itself, if it may be moved here."""
    op = sch.get(block)
    assert isinstance(op, BlockOp)
    for handle, producer in zip(sch.get_producers(block), producers(op), strict=True):
        if buffer in writes_of(producer):
            return handle if is_prologue(producer, op) else None
    return None


def _depth(sch: Schedule, block: BlockRV, place: LoopRV) -> int:
    """How many loops are around a block down to one of them."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return loops.index(sch.get(place)) + 1
