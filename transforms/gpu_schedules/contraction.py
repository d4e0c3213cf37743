"""Sums of products, tile by tile: what matrix products and convolutions share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...core.dtypes import dtype_of
from ...dialects.tir import BlockOp
from ..analysis.memories import LOCAL
from ..analysis.scopes import consumers, producers, writes_of
from ..schedule import Schedule
from ..schedule.handles import BlockRV, LoopRV
from .binding import extent_of, fused
from .kernel import Kernel
from .neighbours import is_epilogue, is_prologue

UNROLLED = 4
"""How many steps are written out where they are next to each other in shared memory, so that they are read at once."""


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
    divides = _divides(kernel, plan)
    epilogue = _keep_in_registers(sch, kernel, threads[-1], divides)
    for buffer in plan.shared:
        _copy_to_shared(sch, kernel, buffer, depth_outer, plan.tiles, divides)
    if divides and not inner and plan.depth % UNROLLED == 0:
        sch.unroll(sch.split(depth_inner, [None, UNROLLED])[1])
    sch.decompose_reduction(kernel.rv, [*outer, depth_outer][0])
    return epilogue


def _divides(kernel: Kernel, plan: Contraction) -> bool:
    """Whether all tiles are whole, so that nothing is guarded."""
    sizes = [(tile.axis, tile.threads * tile.each) for tile in plan.tiles]
    return all((kernel.extents[axis] or 1) % size == 0 for axis, size in [*sizes, (plan.summed, plan.depth)])


def _keep_in_registers(sch: Schedule, kernel: Kernel, thread: LoopRV, vectors: bool) -> tuple[str, ...]:
    """Let sums be in registers, and the thread that has them do what is done with each, or copy them.

    vectors: whether several may be copied at once.
    """
    users = consumers(kernel.block)
    if len(users) == 1 and is_epilogue(kernel, users[0]):
        (user,) = sch.get_consumers(kernel.rv)
        sch.reverse_compute_at(user, thread)
        sch.set_scope(kernel.rv, 0, LOCAL)
        return (users[0].block_name.data,)
    copy = sch.cache_write(kernel.rv, 0, LOCAL)
    sch.reverse_compute_at(copy, thread)
    loops, (write,) = sch.get_loops(copy)[_depth(sch, copy, thread) :], kernel.writes
    if vectors and loops and (lanes := _lanes(write.buffer, extent_of(sch, loops[-1]))) > 1:
        sch.vectorize(sch.split(loops[-1], [None, lanes])[1])
    return ()


def _lanes(buffer: SSAValue, together: int | None) -> int:
    """How many elements of a buffer are 16 bytes, if its rows and those that are copied together are made of that
    many; else 1."""
    assert isinstance(buffer.type, MemRefType)
    lanes = 16 // dtype_of(buffer.type.element_type).bytes
    return lanes if together is not None and math.gcd(together, buffer.type.get_shape()[-1]) % lanes == 0 else 1


def _copy_to_shared(
    sch: Schedule, kernel: Kernel, buffer: SSAValue, place: LoopRV, tiles: Sequence[Tile], vectors: bool
) -> None:
    """Let the threads of a block copy together what they read of a buffer at a time, or compute it there.

    vectors: whether several elements may be copied at once.
    """
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
    loops = sch.get_loops(copy)[around:]
    lanes = _lanes(buffer, extent_of(sch, loops[-1])) if vectors and producer is None else 1
    whole, threads = fused(sch, loops), [tile.threads for tile in shared]
    lanes = math.gcd(lanes, (extent_of(sch, whole) or 1) // math.prod(threads))
    parts = sch.split(whole, [None, *threads, lanes] if lanes > 1 else [None, *threads])
    for loop, tile in zip(parts[1:], shared, strict=False):
        assert tile.thread is not None
        sch.bind(loop, tile.thread)
    if lanes > 1:
        sch.vectorize(parts[-1])


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
