"""Sums of products, tile by tile: what matrix products and convolutions share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...analysis.scopes import consumers, writes_of
from ...analysis.threads.memories import LOCAL
from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp
from .. import Schedule
from ..handles import BlockRV, LoopRV
from .binding import extent_of, fused
from .kernel import Access, Kernel, block_of, element_bytes
from .neighbours import is_epilogue, producer_of

UNROLLED = 2
"""How many steps are written out, so that one reads while another one adds."""
VECTOR_BYTES = 16
"""What a thread reads or writes at once at most (CUDA C++ Programming Guide, device memory accesses)."""
BANK_BYTES = 128
"""How far apart elements of shared memory in one bank are: 32 banks of 4 bytes (there, shared memory)."""


@dataclass(frozen=True)
class Tile:
    """What a block of threads does of an axis. threads: how many share it.  each: how many elements each of them does.

    thread: the axis of threads.  parts: each thread does so many runs of neighbours, and its neighbours what is between
    them; so what a warp reads at once lies next to each other.
    """

    axis: SSAValue
    threads: int
    each: int
    thread: str | None = None
    parts: int = 1

    @property
    def run(self) -> int:
        """How many neighbours one thread does."""
        return self.each // self.parts

    @property
    def apart(self) -> int | None:
        """How far apart the runs of one thread are; None if there is one."""
        return self.threads * self.run if self.parts > 1 else None


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
    users, stored = consumers(kernel.block), writes_of(kernel.block)
    epilogue = users[0] if len(users) == 1 and is_epilogue(kernel, users[0]) else None
    with sch.unchecked():
        kernel, plan = _padded(sch, kernel, plan)
        is_padded = writes_of(kernel.block) != stored
        follows = _follower(sch, kernel.rv, epilogue) if epilogue is not None or is_padded else None
        _contract(sch, kernel, plan, follows)
    return () if epilogue is None else (epilogue.block_name.data,)


def _padded(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[Kernel, Contraction]:
    """The same with whole tiles: there are zeros around what is read, in shared memory, so that nothing is asked where
    sums are added to. What `pad_einsum` refuses stays as it is, and is guarded there.
    """
    if _divides(kernel, plan):
        return kernel, plan
    sizes = {tile.axis: tile.threads * tile.each for tile in plan.tiles} | {plan.summed: plan.depth}
    made_by = {buffer: producer_of(sch, kernel.rv, buffer) for buffer in plan.shared}
    old = _summed(kernel)
    try:
        sch.pad_einsum(kernel.rv, [sizes.get(axis, 1) for axis in kernel.axes])
    except ScheduleError:
        return kernel, plan
    padded = Kernel(kernel.rv, kernel.block)
    now = dict(zip(old, _summed(padded), strict=True))
    for buffer, producer in made_by.items():
        if producer is not None and now[buffer] is not buffer:
            sch.compute_inline(producer)
    return padded, replace(plan, shared=[now[buffer] for buffer in plan.shared])


def _summed(kernel: Kernel) -> list[SSAValue]:
    """The buffers that are read along a reduction axis."""
    return [read.buffer for read in kernel.reads if any(axis in read.axes() for axis in kernel.reduced)]


def _follower(sch: Schedule, block: BlockRV, epilogue: BlockOp | None) -> BlockRV:
    """The block that takes sums from a temporary: an epilogue, with what takes them out of their padding inlined."""
    (user,) = sch.get_consumers(block)
    if epilogue is not None and sch.get(user) is not epilogue:
        sch.compute_inline(user)
        (user,) = sch.get_consumers(block)
    return user


def _contract(sch: Schedule, kernel: Kernel, plan: Contraction, follows: BlockRV | None) -> None:
    tiled = [tile.axis for tile in plan.tiles]
    grid, outer, inner, (summed,), spatial = kernel.groups_of_loops(
        sch, plan.grid, plan.outer, plan.inner, [plan.summed], tiled
    )
    blocks, threads, registers = list[LoopRV](), list[LoopRV](), list[LoopRV]()
    for tile, loop in zip(plan.tiles, spatial, strict=True):
        factors = [None, tile.threads, tile.each] if tile.parts == 1 else [None, tile.parts, tile.threads, tile.run]
        block, *parts, thread, register = sch.split(loop, factors)
        blocks.append(block)
        threads.append(thread)
        registers += [*parts, register]
    depth_outer, depth_inner = sch.split(summed, [None, plan.depth])
    sch.reorder(*grid, *blocks, *threads, *outer, depth_outer, depth_inner, *inner, *registers)
    sch.bind(fused(sch, [*grid, *blocks]), "blockIdx.x")
    for tile, loop in zip(plan.tiles, threads, strict=True):
        if tile.thread is not None:
            sch.bind(loop, tile.thread)
    divides = _divides(kernel, plan)
    _keep_in_registers(sch, kernel, follows, threads[-1], plan.tiles, divides)
    for buffer in plan.shared:
        _copy_to_shared(sch, kernel, buffer, depth_outer, plan.tiles, divides)
    if divides and not inner and plan.depth % UNROLLED == 0:
        sch.unroll(sch.split(depth_inner, [None, UNROLLED])[1])
    sch.decompose_reduction(kernel.rv, [*outer, depth_outer][0])


def _divides(kernel: Kernel, plan: Contraction) -> bool:
    """Whether all tiles are whole, so that nothing is guarded."""
    sizes = [(tile.axis, tile.threads * tile.each) for tile in plan.tiles]
    return all((kernel.extents[axis] or 1) % size == 0 for axis, size in [*sizes, (plan.summed, plan.depth)])


def _keep_in_registers(
    sch: Schedule, kernel: Kernel, follows: BlockRV | None, thread: LoopRV, tiles: Sequence[Tile], vectors: bool
) -> None:
    """Let sums be in registers, and the thread that has them do what follows, or copy them.

    vectors: whether several may be copied at once.
    """
    if follows is not None:
        _move_behind(sch, kernel, follows, thread, tiles)
        sch.set_scope(kernel.rv, 0, LOCAL)
        return
    copy = sch.cache_write(kernel.rv, 0, LOCAL)
    _move_behind(sch, kernel, copy, thread, tiles)
    loops, (write,) = sch.get_loops(copy)[_depth(sch, copy, thread) :], kernel.writes
    if vectors and loops and (lanes := _lanes(write.buffer, extent_of(sch, loops[-1]))) > 1:
        sch.vectorize(_last_of(sch, loops[-1], lanes))


def _move_behind(sch: Schedule, kernel: Kernel, user: BlockRV, thread: LoopRV, tiles: Sequence[Tile]) -> None:
    """Let a thread do what follows its sums.

    Where it has several runs of an axis, that axis becomes two, of the buffer with the sums and of the block that
    follows: which of them, and what of it. So what a thread has is a box, with nothing of others in between.
    """
    (write,) = kernel.writes
    apart = [next((t.apart for t in tiles if t.axis in index.terms), None) for index in write.indices]
    if any(apart):
        axes = _axes_of_reader(sch, user, writes_of(kernel.block)[0])
        sch.transform_layout(kernel.rv, ("write", 0), _divided(apart))
        by_axis = {axis: step for axis, step in zip(axes, apart, strict=True) if axis is not None}
        sch.transform_block_layout(user, _divided([by_axis.get(axis) for axis in block_of(sch, user).variables]))
    sch.reverse_compute_at(user, thread)


def _axes_of_reader(sch: Schedule, reader: BlockRV, buffer: SSAValue) -> list[SSAValue | None]:
    """At which axis a block reads each dimension of a buffer; None where that is a number."""
    read = next(read for read in Kernel(reader, block_of(sch, reader)).reads if read.buffer is buffer)
    return [next((axis for axis in index.terms if isinstance(axis, SSAValue)), None) for index in read.indices]


def _divided(steps: Sequence[int | None]) -> AffineMap:
    """Indices of which some become two: their quotient by a step, and what is left."""
    dims = [AffineExpr.dimension(n) for n in range(len(steps))]
    pairs = [(dim,) if step is None else (dim // step, dim % step) for dim, step in zip(dims, steps, strict=True)]
    return AffineMap(len(dims), 0, tuple(each for pair in pairs for each in pair))


def _last_of(sch: Schedule, loop: LoopRV, count: int) -> LoopRV:
    """The inner one of two loops, which runs so often, or the loop itself, if that does."""
    return loop if extent_of(sch, loop) == count else sch.split(loop, [None, count])[1]


def _lanes(buffer: SSAValue, together: int | None) -> int:
    """How many elements of a buffer, of up to 16 bytes, its rows and those that are copied together are made of."""
    assert isinstance(buffer.type, MemRefType)
    lanes = max(VECTOR_BYTES // element_bytes(buffer), 1)
    return 1 if together is None else math.gcd(lanes, together, buffer.type.get_shape()[-1])


def _copy_to_shared(
    sch: Schedule, kernel: Kernel, buffer: SSAValue, place: LoopRV, tiles: Sequence[Tile], vectors: bool
) -> None:
    """Let the threads of a block copy together what they read of a buffer at a time, or compute it there.

    vectors: whether several elements may be copied at once.
    """
    (read, *_) = (read for read in kernel.reads if read.buffer is buffer)
    producer = producer_of(sch, kernel.rv, buffer)
    if producer is None:
        number = [access.buffer for access in kernel.block.accesses if not access.is_write].index(buffer)
        copy = sch.cache_read(kernel.rv, number, "shared", [kernel.rv])
    else:
        copy = producer
        sch.set_scope(copy, 0, "shared")
    around = _depth(sch, kernel.rv, place)
    sch.compute_at(copy, place)
    turned = _turn(sch, copy, read, tiles)
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
        sch.vectorize(_through_registers(sch, copy, parts[-2]) if turned else parts[-1])


def _turn(sch: Schedule, copy: BlockRV, read: Access, tiles: Sequence[Tile]) -> bool:
    """Lay out what is copied so that neighbours along a tile lie next to each other, since they are read at once; False
    if they do already. Rows are longer then, as what a thread copies is a column of them.
    """
    along = [n for n, index in enumerate(read.indices) if any(tile.axis in index.terms for tile in tiles)]
    if len(along) != 1 or along[0] == len(read.indices) - 1:
        return False
    rank, bytes = len(read.indices), read.element_bytes()
    order = [*(n for n in range(rank) if n not in along), *along]
    sch.transform_layout(copy, ("write", 0), AffineMap(rank, 0, tuple(AffineExpr.dimension(n) for n in order)))
    sch.storage_align(copy, 0, -2, BANK_BYTES // bytes, VECTOR_BYTES // bytes)
    return True


def _through_registers(sch: Schedule, copy: BlockRV, thread: LoopRV) -> LoopRV:
    """Let a thread read what it copies at a time before it writes it; the loop of what it reads."""
    held = sch.cache_read(copy, 0, LOCAL, [copy])
    sch.compute_at(held, thread)
    return sch.get_loops(held)[-1]


def _depth(sch: Schedule, block: BlockRV, place: LoopRV) -> int:
    """How many loops are around a block down to one of them."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return loops.index(sch.get(place)) + 1
