"""Tiled sums of products: the schedule shared by matrix products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...analysis.index import Atom, DivAtom, Lin, ModAtom
from ...analysis.scopes import consumers, writes_of
from ...analysis.threads.memories import LOCAL
from ...core.errors import ScheduleError
from ...core.gpu import STATIC_SHARED_BYTES
from ...dialects.tir import BlockOp
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import AffineAccess, Kernel, block_of, element_bytes, index_of_read
from ..rules.neighbours import is_epilogue_of, producer_of
from ..rules.results import DeclineError
from .binding import extent_of, fuse_blocks, fuse_loops
from .thread_per_result import reduce_in_registers

UNROLLED = 2
"""The unroll factor of the reduction loop, so that loads of a step overlap with sums of another."""
VECTOR_BYTES = 16
"""The maximum number of bytes of one access of a thread (CUDA C++ Programming Guide, device memory accesses)."""
BANK_BYTES = 128
"""The distance in bytes between elements of shared memory in one bank: 32 banks of 4 bytes (ibid., shared memory)."""


LEAST_BLOCKS = 256
"""The number of blocks of threads from which sums have no parts: two for each processor of a large GPU."""
MOST_BLOCKS = 512
"""The greatest number of blocks of threads of a kernel whose sums have parts."""


SIZES = 5
"""The number of sizes of tiles that `in_shared_memory` tries, each with half of the elements or threads of the one
before."""


class LargeTileError(DeclineError):
    """Raised for a tile whose operands exceed shared memory, or have no constant size."""


def in_shared_memory(
    sch: Schedule, kernel: Kernel, schedule: Callable[[Kernel, int], tuple[str, ...]]
) -> tuple[str, ...]:
    """Schedules a block with the largest tiles whose operands fit into shared memory, and returns the names of other
    blocks in the kernel. schedule: the steps for tiles of size 0 (the largest) to `SIZES - 1`.

    Plans estimate sizes; the loops of the copies are exact. Raises the LargeTileError of the smallest tiles.
    """
    for size in range(SIZES - 1):
        try:
            with sch.attempt():
                return schedule(Kernel(kernel.rv, block_of(sch, kernel.rv)), size)
        except LargeTileError:
            pass
    return schedule(Kernel(kernel.rv, block_of(sch, kernel.rv)), SIZES - 1)


@dataclass(frozen=True)
class Tile:
    """The part of an axis that a block of threads computes.

    threads: the number of threads along the axis.  each: the number of elements of each thread.  thread: the axis of
    threads.  parts: the number of contiguous runs of each thread; the runs of its neighbours lie between them, so that
    the elements that a warp accesses at once are contiguous.
    """

    axis: SSAValue
    threads: int
    each: int
    thread: str | None = None
    parts: int = 1

    @property
    def run(self) -> int:
        """The number of contiguous elements of one thread."""
        return self.each // self.parts

    @property
    def apart(self) -> int | None:
        """The distance between the runs of one thread, in elements; None if a thread has one run."""
        return self.threads * self.run if self.parts > 1 else None


@dataclass(frozen=True)
class Contraction:
    """A tiling of the loops of a sum of products.

    grid: axes of which a block has one value.  tiles: the spatial axes that are split, outermost first.  summed, depth:
    the reduction axis that is split, and the number of its values in shared memory at a time.  outer, inner: other
    reduction axes, outside and inside of the loop that fills shared memory.  shared: the buffers that are copied to
    shared memory.  parts: the number of blocks of threads that share the values of `summed`; if there are several, a
    second kernel adds their sums.
    """

    grid: Sequence[SSAValue]
    tiles: Sequence[Tile]
    summed: SSAValue
    depth: int
    outer: Sequence[SSAValue]
    inner: Sequence[SSAValue]
    shared: Sequence[SSAValue]
    parts: int = 1

    def with_third_side(self, side: Tile) -> Contraction:
        """The plan with a further tile, along an axis of the grid."""
        grid = [axis for axis in self.grid if axis is not side.axis]
        return replace(self, grid=grid, tiles=[side, *self.tiles])

    def blocks(self, kernel: Kernel) -> int | None:
        """The number of blocks of threads, of all parts; None for dynamic sizes."""
        grid = kernel.size(self.grid)
        tiles = [(kernel.size([tile.axis]), tile.threads * tile.each) for tile in self.tiles]
        if grid is None or any(extent is None for extent, _ in tiles):
            return None
        return math.prod([grid, self.parts, *(-(-(extent or 1) // size) for extent, size in tiles)])


def with_parts(kernel: Kernel, plan: Contraction, steps: int) -> Contraction:
    """The plan with parts, a power of two, where it has few blocks of threads. steps: the minimum number of values of
    `summed` in a part."""
    blocks, summed = plan.blocks(kernel), kernel.size([plan.summed])
    if blocks is None or summed is None or blocks >= LEAST_BLOCKS:
        return plan
    parts = min(summed // steps, MOST_BLOCKS // blocks)
    return replace(plan, parts=1 << max(parts.bit_length() - 1, 0))


def contract(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[str, ...]:
    """Splits the loops of a sum of products, keeps sums in registers, and copies operands to shared memory.

    The thread that computed a sum also executes an epilogue, a block that reads the sums element by element. Returns
    the name of the epilogue. The steps are legal for any block that writes one element at its spatial axes and reads
    other buffers (`operands` in `gemm.py`); checking them takes seconds for a convolution, so they are not checked.
    """
    users, stored = consumers(kernel.block), writes_of(kernel.block)
    epilogue = users[0] if len(users) == 1 and is_epilogue_of(kernel, users[0]) else None
    with sch.without_checks():
        kernel, plan = _pad(sch, kernel, plan)
        is_padded = writes_of(kernel.block) != stored
        follows = _consumer(sch, kernel.rv, epilogue) if epilogue is not None or is_padded else None
        if plan.parts > 1:
            partial, plan = _divide(sch, kernel, plan)
            reduce_in_registers(sch, kernel.rv, follows)
            kernel, follows = partial, None
        _contract(sch, kernel, plan, follows)
    return () if epilogue is None else (epilogue.block_name.data,)


def _pad(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[Kernel, Contraction]:
    """The kernel and plan with all tiles whole, padded by zeros in shared memory, so that sums need no guards.

    A block that `pad_einsum` rejects stays as it is, and gets guards.
    """
    if _divides(kernel, plan):
        return kernel, plan
    sizes = {tile.axis: tile.threads * tile.each for tile in plan.tiles} | {plan.summed: plan.depth}
    made_by = {buffer: producer_of(sch, kernel.rv, buffer) for buffer in plan.shared}
    old = _summed_buffers(kernel)
    try:
        sch.pad_einsum(kernel.rv, [sizes.get(axis, 1) for axis in kernel.axes])
    except ScheduleError:
        return kernel, plan
    padded = Kernel(kernel.rv, kernel.block)
    now = dict(zip(old, _summed_buffers(padded), strict=True))
    for buffer, producer in made_by.items():
        if producer is not None and now[buffer] is not buffer:
            sch.compute_inline(producer)
    return padded, replace(plan, shared=[now[buffer] for buffer in plan.shared])


def _divide(sch: Schedule, kernel: Kernel, plan: Contraction) -> tuple[Kernel, Contraction]:
    """The kernel of the sums of each part, with the part as a further axis of the result, and its plan."""
    ((summed,),) = kernel.loop_handle_groups(sch, [plan.summed])
    part, _ = sch.split(summed, [plan.parts, None])
    handle = sch.rfactor(part, 0)
    partial = Kernel(handle, block_of(sch, handle))
    first, *spatial = partial.spatial_axes
    old, new = [*kernel.spatial_axes, *kernel.reduction_axes], [*spatial, *partial.reduction_axes]
    now = dict(zip(old, new, strict=True))
    return partial, replace(
        plan,
        grid=[first, *(now[axis] for axis in plan.grid)],
        tiles=[replace(tile, axis=now[tile.axis]) for tile in plan.tiles],
        summed=now[plan.summed],
        outer=[now[axis] for axis in plan.outer],
        inner=[now[axis] for axis in plan.inner],
        parts=1,
    )


def _summed_buffers(kernel: Kernel) -> list[SSAValue]:
    """The buffers that are read along a reduction axis."""
    return [read.buffer for read in kernel.reads if any(axis in read.axes() for axis in kernel.reduction_axes)]


def _consumer(sch: Schedule, block: BlockRV, epilogue: BlockOp | None) -> BlockRV:
    """The consumer of the sums: the epilogue, with the block that removes the padding inlined."""
    (user,) = sch.get_consumers(block)
    if epilogue is not None and sch.get(user) is not epilogue:
        sch.compute_inline(user)
        (user,) = sch.get_consumers(block)
    return user


def _contract(sch: Schedule, kernel: Kernel, plan: Contraction, follows: BlockRV | None) -> None:
    tiled = [tile.axis for tile in plan.tiles]
    grid, outer, inner, (summed,), spatial = kernel.loop_handle_groups(
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
    sch.bind(fuse_blocks(sch, [*grid, *blocks]), "blockIdx.x")
    for tile, loop in zip(plan.tiles, threads, strict=True):
        if tile.thread is not None:
            sch.bind(loop, tile.thread)
    divides = _divides(kernel, plan)
    _keep_in_registers(sch, kernel, follows, threads[-1], plan.tiles, divides)
    sizes = [_copy_to_shared(sch, kernel, buffer, depth_outer, plan, divides) for buffer in plan.shared]
    if sum(sizes) > STATIC_SHARED_BYTES:
        raise LargeTileError(f"a tile takes {sum(sizes)} bytes of shared memory, of {STATIC_SHARED_BYTES}")
    if divides and not inner and plan.depth % UNROLLED == 0:
        sch.unroll(sch.split(depth_inner, [None, UNROLLED])[1])
    sch.decompose_reduction(kernel.rv, [*outer, depth_outer][0])


def _divides(kernel: Kernel, plan: Contraction) -> bool:
    """Whether all tiles are whole, so that no guards are needed."""
    sizes = [(tile.axis, tile.threads * tile.each) for tile in plan.tiles]
    return all((kernel.extents[axis] or 1) % size == 0 for axis, size in [*sizes, (plan.summed, plan.depth)])


def _keep_in_registers(
    sch: Schedule, kernel: Kernel, follows: BlockRV | None, thread: LoopRV, tiles: Sequence[Tile], vectors: bool
) -> None:
    """Keeps sums in registers, and moves their consumer, or a copy to memory, into the same thread.

    vectors: whether the copy may be vectorized.
    """
    if follows is not None:
        _move_consumer(sch, kernel, follows, thread, tiles)
        sch.set_scope(kernel.rv, 0, LOCAL)
        return
    copy = sch.cache_write(kernel.rv, 0, LOCAL)
    _move_consumer(sch, kernel, copy, thread, tiles)
    loops, (write,) = sch.get_loops(copy)[_depth(sch, copy, thread) :], kernel.writes
    if vectors and loops and (lanes := _lanes(write.buffer, extent_of(sch, loops[-1]))) > 1:
        sch.vectorize(_last_of(sch, loops[-1], lanes))


def _move_consumer(sch: Schedule, kernel: Kernel, user: BlockRV, thread: LoopRV, tiles: Sequence[Tile]) -> None:
    """Moves the consumer of the sums after them, into the thread that computes them.

    Where a thread has several runs of an axis, the axis is split in two, (run, element of the run), in the buffer of
    the sums and in the consumer. So the sums of a thread form a box without elements of other threads.
    """
    (write,) = kernel.writes
    apart = [next((t.apart for t in tiles if t.axis in index.terms), None) for index in write.indices]
    if any(apart):
        axes = _axes_of_reader(sch, user, writes_of(kernel.block)[0])
        sch.transform_layout(kernel.rv, ("write", 0), _split_map(apart))
        by_axis = {axis: step for axis, step in zip(axes, apart, strict=True) if axis is not None}
        sch.transform_block_layout(user, _split_map([by_axis.get(axis) for axis in block_of(sch, user).variables]))
    sch.reverse_compute_at(user, thread)


def _axes_of_reader(sch: Schedule, reader: BlockRV, buffer: SSAValue) -> list[SSAValue | None]:
    """The axis of a block that indexes each dimension of a buffer it reads; None for constant indices."""
    read = next(read for read in Kernel(reader, block_of(sch, reader)).reads if read.buffer is buffer)
    return [next((axis for axis in index.terms if isinstance(axis, SSAValue)), None) for index in read.indices]


def _split_map(steps: Sequence[int | None]) -> AffineMap:
    """The index map that splits some indices into the quotient and remainder by a step."""
    dims = [AffineExpr.dimension(n) for n in range(len(steps))]
    pairs = [(dim,) if step is None else (dim // step, dim % step) for dim, step in zip(dims, steps, strict=True)]
    return AffineMap(len(dims), 0, tuple(each for pair in pairs for each in pair))


def _last_of(sch: Schedule, loop: LoopRV, count: int) -> LoopRV:
    """The inner part of a loop split to run `count` iterations, or the loop itself if that is its extent."""
    return loop if extent_of(sch, loop) == count else sch.split(loop, [None, count])[1]


def _lanes(buffer: SSAValue, together: int | None) -> int:
    """The number of elements of a vector of up to 16 bytes that divides the rows of a buffer and the elements copied
    together.
    """
    assert isinstance(buffer.type, MemRefType)
    lanes = max(VECTOR_BYTES // element_bytes(buffer), 1)
    return 1 if together is None else math.gcd(lanes, together, buffer.type.get_shape()[-1])


def _copy_to_shared(
    sch: Schedule, kernel: Kernel, buffer: SSAValue, outer: LoopRV, plan: Contraction, vectors: bool
) -> int:
    """Lets the threads of a block cooperatively copy, or compute, the part of a buffer in use to shared memory.

    Returns the size of the part in bytes, with the padding of its rows. vectors: whether several elements may be copied
    at once.
    """
    tiles = plan.tiles
    (read, *_) = (read for read in kernel.reads if read.buffer is buffer)
    producer = producer_of(sch, kernel.rv, buffer)
    if producer is None:
        copy = sch.cache_read(kernel.rv, index_of_read(kernel.block, buffer), "shared", [kernel.rv])
    else:
        copy = producer
        sch.set_scope(copy, 0, "shared")
    around = _depth(sch, kernel.rv, outer)
    sch.compute_at(copy, outer)
    transposed = _transpose(sch, copy, read, tiles)
    shared = [tile for tile in tiles if tile.thread is not None]
    loops = sch.get_loops(copy)[around:]
    extents = [extent for loop in loops if (extent := extent_of(sch, loop)) is not None]
    if len(extents) < len(loops):  # the tile contains parts of a varying number of groups
        raise LargeTileError("the size of the parts that tiles read varies")
    elements = math.prod(extents)
    lanes = _lanes(buffer, extent_of(sch, loops[-1])) if vectors and producer is None else 1
    whole, threads = fuse_loops(sch, loops), [tile.threads for tile in shared]
    lanes = math.gcd(lanes, (extent_of(sch, whole) or 1) // math.prod(threads))
    parts = sch.split(whole, [None, *threads, lanes] if lanes > 1 else [None, *threads])
    for loop, tile in zip(parts[1:], shared, strict=False):
        assert tile.thread is not None
        sch.bind(loop, tile.thread)
    if lanes > 1:
        sch.vectorize(_through_registers(sch, copy, parts[-2]) if transposed else parts[-1])
    return elements * read.element_bytes() + _padding(kernel, plan, read, elements)


def shared_bytes(kernel: Kernel, plan: Contraction, reads: Sequence[AffineAccess]) -> int:
    """The size in bytes of the boxes that a block of threads reads at a time, with the padding of their rows."""
    sizes = 0
    for read in reads:
        elements = math.prod(box_sides(kernel, plan, read))
        sizes += elements * read.element_bytes() + _padding(kernel, plan, read, elements)
    return sizes


def box_sides(kernel: Kernel, plan: Contraction, read: AffineAccess) -> list[int]:
    """The extents of the box that a block of threads reads at a time."""
    sizes = {axis: kernel.size([axis]) or 1 for axis in plan.inner} | {plan.summed: plan.depth}
    sizes |= {tile.axis: tile.threads * tile.each for tile in plan.tiles}
    return [1 + _span(index, sizes) for index in read.indices]


def _span(lin: Lin, sizes: Mapping[SSAValue, int]) -> int:
    """The difference between the maximum and the minimum of a sum of axes with `sizes` values (default 1)."""
    return sum(abs(k) * _atom_span(atom, sizes) for atom, k in lin.terms.items())


def _atom_span(atom: Atom, sizes: Mapping[SSAValue, int]) -> int:
    if isinstance(atom, SSAValue):
        return sizes.get(atom, 1) - 1
    if isinstance(atom, DivAtom | ModAtom) and (divisor := atom.divisor.constant):
        span = _span(atom.dividend, sizes)
        return -(-span // divisor) if isinstance(atom, DivAtom) else min(span, divisor - 1)
    return 0


def _padding(kernel: Kernel, plan: Contraction, read: AffineAccess, elements: int) -> int:
    """The size in bytes of the padding of a copy of `elements` elements, if `_transpose` pads it."""
    along = _transposed_index(read, plan.tiles)
    if along is None:
        return 0
    bytes = read.element_bytes()
    row = box_sides(kernel, plan, read)[along]
    return -(-elements // row) * ((VECTOR_BYTES - row * bytes) % BANK_BYTES)


def _transposed_index(read: AffineAccess, tiles: Sequence[Tile]) -> int | None:
    """The dimension along a tile that `_transpose` makes the last one; None if it transposes nothing."""
    along = [n for n, index in enumerate(read.indices) if any(tile.axis in index.terms for tile in tiles)]
    return along[0] if len(along) == 1 and along[0] < len(read.indices) - 1 else None


def _transpose(sch: Schedule, copy: BlockRV, read: AffineAccess, tiles: Sequence[Tile]) -> bool:
    """Transposes a copy in shared memory so that elements along a tile are contiguous; False if they are already.

    Such elements are read at once. Rows are padded, as a thread copies a column of them.
    """
    along = _transposed_index(read, tiles)
    if along is None:
        return False
    rank, bytes = len(read.indices), read.element_bytes()
    order = [*(n for n in range(rank) if n != along), along]
    sch.transform_layout(copy, ("write", 0), AffineMap(rank, 0, tuple(AffineExpr.dimension(n) for n in order)))
    sch.storage_align(copy, 0, -2, BANK_BYTES // bytes, VECTOR_BYTES // bytes)
    return True


def _through_registers(sch: Schedule, copy: BlockRV, thread: LoopRV) -> LoopRV:
    """Lets a thread load all elements of a copy before it stores them; returns the loop over the loads."""
    held = sch.cache_read(copy, 0, LOCAL, [copy])
    sch.compute_at(held, thread)
    return sch.get_loops(held)[-1]


def _depth(sch: Schedule, block: BlockRV, innermost: LoopRV) -> int:
    """The number of loops around a block, from the outermost to `place` inclusive."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return loops.index(sch.get(innermost)) + 1
