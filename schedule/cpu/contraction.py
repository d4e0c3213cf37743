"""Sums of products whose vectors are used by several results: matrix products, convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...analysis.scopes import enclosing_scope, root_buffer
from ...analysis.work import static_extent
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, ForOp, LoadOp, constant_value
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.neighbours import producer_of
from ..rules.results import decline_unless
from ..rules.strides import UNKNOWN, Strides, loads_of
from .nest import CACHE_LINE, Nest
from .tiles import IN_FLIGHT, Panel, Tile, apply_tile, choose_rows, greatest_height, greatest_width, parts

FARTHEST = 4
"""The maximum stride at which the elements of a vector may be read; such vectors are assembled from several loads."""
LONG = 32
"""The least number of summands of a result for which the loops over columns are moved."""
WIDEST = 8
"""The greatest number of vectors of a row of a tile."""
LEAST_TILES = 3
"""The least number of tiles that use a copy of columns."""
LEAST_TILES_IF_FAST = 8
"""The least number of tiles that use a copy of columns for a fast core, whatever the size of the factor."""
BLOCKS = 2
"""The blocks of columns of a tile of single vectors for a fast core."""
PAGE = 4096
"""The bytes between rows that displace each other from the L1 cache: two tiles suffice for a fast core then."""
GROUP, GROUP_IF_LARGE = 4, 8
"""The greatest number of narrow tiles that are copied at a time; with rows that exceed the L2 cache."""
PARTS = 2
"""The least number of such groups, or of tiles of columns whose weights are used in parts, for each core."""
LEAST_ROWS = 4
"""The least number of tiles of rows that use vectors from the L1 cache."""
REUSED = 4
"""The least number of uses of an element of a factor for which the factor is transposed."""
REUSED_IF_LONG = 12
"""The same for long sums, whose products by lanes are nearly as fast without a transposed factor."""
LONG_ROW = 16
"""The least number of vectors of summands of a long sum."""


def contraction(nest: Nest) -> str:
    """Splits two axes of the results into tiles, whose sums stay in registers while each vector is used for all rows.

    A spatial axis along which stores are contiguous, and loads contiguous or invariant, is the vectorized axis; the
    rows are along another spatial axis, along which the loaded vectors are invariant.

    Declines: blocks without such axes, and results of one summand.
    """
    strides = require_sums(nest)
    decline_unless(strides.size(strides.of_kind("reduce")) > 1, "its results have one summand each")
    vector = require_spatial_vector(nest, strides)
    lanes = nest.lanes_along(strides.extents[vector])
    vectors = parts(-(-strides.extents[vector] // lanes), greatest_width(nest.cpu))
    loads = [n for n, stride in enumerate(strides.read) if stride[vector]]
    tile = Tile(vector, lanes, vectors=vectors)
    tile = _tile_of_blocks(nest, tile, loads) or _tile_of_rows(nest, tile, loads)
    tile = replace(tile, panel=_panel(nest, loads, tile))
    tile = replace(tile, group=_group(nest, loads, tile))
    tile = replace(tile, summands=_summands(nest, tile))
    apply_tile(nest, tile)
    return tile.text(strides.names)


def _tile_of_rows(nest: Nest, tile: Tile, loads: Sequence[int]) -> Tile:
    """A tile with rows. loads: the indices of the loads of vectors. Raises DeclineError where no results share
    vectors."""
    highest = greatest_height(nest.cpu, tile.vectors)
    rows, height = choose_rows(
        nest, _others(nest, tile), loads, highest, max(highest // 2, IN_FLIGHT // tile.vectors) + 1
    )
    decline_unless(rows is not None, "no results share the vectors that it loads")
    return replace(tile, rows=rows, height=height, vectors=_vectors_of_few_rows(nest, tile, loads, height))


def _vectors_of_few_rows(nest: Nest, tile: Tile, loads: Sequence[int], height: int) -> int:
    """The number of vectors of a row of a tile: few rows have more vectors, as their sums fit into the registers; but
    not of a factor that exceeds the L2 cache, whose vectors are requested early, unless the tile is narrow.

    tile: with the vectors of the largest tile.  loads: the indices of the loads of vectors.  height: the rows.
    """
    strides, cpu = nest.strides, nest.cpu
    for load in () if _is_narrow(nest, tile) else loads:
        used = [n for n, stride in enumerate(strides.read[load]) if stride]
        if UNKNOWN in strides.extents or strides.size(used) * strides.element_bytes > cpu.l2_bytes:
            return tile.vectors
    most = max(width for width in range(1, WIDEST + 1) if greatest_height(cpu, width, height) == height)
    return max(tile.vectors, parts(-(-strides.extents[tile.vector] // tile.lanes), most))


def _tile_of_blocks(nest: Nest, tile: Tile, loads: Sequence[int]) -> Tile | None:
    """A tile with vectors of two blocks of columns, as of output channels, which share the elements of a row, so that a
    core loads fewer elements than it adds products; None for other tiles than of single vectors, for cores that load as
    fast as they add, and for rows that displace each other from a cache. loads: the indices of the loads of vectors.
    """
    strides, cpu = nest.strides, nest.cpu
    if tile.vectors > 1 or len(loads) != 1 or not cpu.is_fast:
        return None
    (load,) = loads
    highest = greatest_height(cpu, BLOCKS, cpu.vector_registers)
    rows, height = choose_rows(nest, _others(nest, tile), loads, highest, highest // 2 + 1)
    single = [read for n, read in enumerate(strides.read) if n != load]
    if rows is None or any(read[rows] * strides.element_bytes % PAGE == 0 for read in single):
        return None
    for n in _others(nest, tile):
        if strides.read[load][n] and not any(read[n] for read in single) and strides.extents[n] % BLOCKS == 0:
            return replace(tile, rows=rows, height=height, columns=n, width=BLOCKS)
    return None


def _others(nest: Nest, tile: Tile) -> list[int]:
    """The spatial axes besides the vectorized axis."""
    return [n for n in nest.strides.of_kind("spatial") if n != tile.vector]


def _panel(nest: Nest, loads: Sequence[int], tile: Tile) -> Panel | None:
    """The factor whose columns stay in a cache while the rows of the other factor are read: a copy, if the rows of the
    factor are far from each other and many, and if enough results use each copied element. A factor that a block
    computes for this product alone is computed column by column where its copy would be, if the tiles of columns
    suffice for the threads; else it gets the layout of copies, if tiles are narrow. None for vectors of several loads,
    for computed indices, for short sums, for loops shared with other blocks if the layout of the factor stays, and for
    a factor that stays in a cache as a whole where the other one does not.

    loads: the indices of the loads of vectors.
    """
    strides = nest.strides
    summed, spatial = strides.of_kind("reduce"), strides.of_kind("spatial")
    if len(loads) != 1 or strides.size(summed) < LONG:
        return None
    (number,) = loads
    read = strides.read[number]
    load = loads_of(nest.kernel.block)[number]
    axes = nest.kernel.axes
    variable = [index for index in load.indices if constant_value(index) is None]
    is_plain = len({index for index in variable if index in axes}) == len(variable)
    is_far = any(strides.extents[n] > 1 and read[n] > tile.lanes * tile.vectors for n in summed)
    if not is_plain or tile.rows is None or read[tile.vector] != 1 or any(read[n] < 0 for n in summed):
        return None
    used = [n for n in spatial if read[n] and n != tile.vector]
    others = [n for n in spatial if not read[n]]
    in_place = is_far and _may_be_blocked(nest, tile, number)
    if strides.shared:
        return Panel(strides.sources[number], used, in_place=True) if in_place else None
    if is_far:
        source = strides.sources[number]
        writer = producer_of(nest.sch, nest.rv, load.buffer) if strides.sources.count(source) == 1 else None
        tiles = strides.size([*used, tile.vector]) // (tile.lanes * tile.vectors)
        if writer is not None and tiles >= 2 * nest.cpu.cores:
            return Panel(None, used, writer)
        if in_place:
            return Panel(source, used, in_place=True)
        pays = _pays_copy(nest, tile, read, others, is_computed=writer is not None)
        return Panel(source if pays else None, used)
    fits = [
        strides.size([*axes, *summed]) * strides.element_bytes <= nest.cpu.l2_bytes // 2
        for axes in ([*used, tile.vector], others)
    ]
    return None if fits == [True, False] else Panel(None, used)


def _may_be_blocked(nest: Nest, tile: Tile, number: int) -> bool:
    """Whether the layout of a factor, an intermediate result that only this block reads, may become that of narrow
    tiles: it exceeds the L1 cache, and tiles divide its rows. number: the index of its load."""
    load, block = loads_of(nest.kernel.block)[number], nest.kernel.block
    if not _is_narrow(nest, tile) or not isinstance(load.buffer.owner, AllocBufferOp):
        return False
    *rows, columns = memref_type(load.buffer).get_shape()
    if not rows or columns != nest.strides.extents[tile.vector] or columns % (tile.lanes * tile.vectors):
        return False
    reads = [op for op in find_ops(enclosing_scope(block), LoadOp) if root_buffer(op.buffer) is load.buffer]
    size = prod(rows) * columns * nest.strides.element_bytes
    return size > nest.cpu.l1_bytes and all(block.is_ancestor(op) for op in reads)


def _group(nest: Nest, loads: Sequence[int], tile: Tile) -> int:
    """The number of narrow tiles that are copied at a time, which share the rows of the other factor: a divisor of the
    number of all tiles, if possible. loads: the indices of the loads of vectors."""
    strides, cpu = nest.strides, nest.cpu
    if tile.panel is None or not tile.panel.is_copied or not _is_narrow(nest, tile):
        return 1
    if UNKNOWN in [strides.extents[n] for n in (*tile.panel.axes, tile.vector)]:
        return 1
    tiles = -(-strides.extents[tile.vector] // (tile.lanes * tile.vectors))
    others = [[n for n, step in enumerate(read) if step] for k, read in enumerate(strides.read) if k not in loads]
    is_large = any(strides.size(axes) * strides.element_bytes > cpu.l2_bytes for axes in others)
    most = min(GROUP_IF_LARGE if is_large else GROUP, tiles * strides.size(tile.panel.axes) // (PARTS * cpu.cores))
    return next((count for count in range(most, 1, -1) if tiles % count == 0), max(most, 1))


def _summands(nest: Nest, tile: Tile) -> int | None:
    """The iterations of the outermost reduction loop whose vectors fit into a quarter of the L1 cache, where they stay
    during the loops over rows: a divisor of all iterations, more than half of those that fit.

    None if the vectors of all iterations fit into half of the cache, without a divisor, for few tiles of rows, for
    copies of columns, for too few tiles of columns for the threads, for dynamic sizes, and for fast cores.
    """
    strides, cpu, panel = nest.strides, nest.cpu, tile.panel
    summed, spatial = strides.of_kind("reduce"), strides.of_kind("spatial")
    if panel is None or panel.has_columns or tile.rows is None or strides.shared or cpu.is_fast:
        return None
    if UNKNOWN in [strides.extents[n] for n in (*summed, *spatial)]:
        return None
    used, size = [*panel.axes, tile.vector], tile.lanes * tile.vectors
    tiles = strides.size([n for n in spatial if n not in used]) // tile.height
    if tiles < LEAST_ROWS or strides.size(used) // size < PARTS * cpu.cores:
        return None
    extent, taps = strides.extents[summed[0]], strides.size(summed[1:])
    step = taps * size * strides.element_bytes
    most = cpu.l1_bytes // 4 // step
    if extent * step <= cpu.l1_bytes // 2 or most * taps < LONG:
        return None
    return next((count for count in range(most, most // 2, -1) if extent % count == 0), None)


def _is_narrow(nest: Nest, tile: Tile) -> bool:
    """Whether the columns of a tile are those of one cache line at most, for lack of registers: copies of several tiles
    read the cache lines of a page one after the other."""
    cpu = nest.cpu
    return max(tile.vectors, greatest_width(cpu)) * cpu.vector_bytes <= CACHE_LINE


def _pays_copy(nest: Nest, tile: Tile, read: Sequence[int], others: Sequence[int], is_computed: bool) -> bool:
    """Whether a copy of the columns of a tile takes less time than it saves.

    read: the strides of the factor.  others: the spatial axes along which the factor is invariant.  is_computed:
    whether a block computes the factor for this product alone.
    """
    strides, cpu = nest.strides, nest.cpu
    summed = strides.of_kind("reduce")
    extents = [strides.extents[n] for n in (*summed, tile.vector)]
    if UNKNOWN in extents or _are_contiguous(nest, tile, read):
        return False
    tiles = strides.size(others) // tile.height
    is_known = all(strides.extents[n] != UNKNOWN for n in others)
    is_paged = all(read[n] * strides.element_bytes % PAGE == 0 for n in summed if strides.extents[n] > 1)
    if is_known and _is_narrow(nest, tile) and not is_computed:
        factor = strides.size([n for n, step in enumerate(read) if step]) * strides.element_bytes
        return factor > cpu.l1_bytes and (is_paged or strides.size(others) > tile.height)
    if is_known and cpu.is_fast:
        if tiles >= (2 if is_paged else LEAST_TILES_IF_FAST):
            return True
    # A row of a tile in one or two cache lines is loaded by itself, without its neighbours, wherever it is.
    least = cpu.l1_bytes if tile.vectors * cpu.vector_bytes <= 2 * CACHE_LINE else cpu.l2_bytes
    return tiles >= LEAST_TILES and prod(extents) * strides.element_bytes > least


def _are_contiguous(nest: Nest, tile: Tile, read: Sequence[int]) -> bool:
    """Whether the columns of a tile are contiguous in their factor. read: the strides of the factor."""
    strides = nest.strides
    rows = sorted((read[n], strides.extents[n]) for n in strides.of_kind("reduce") if strides.extents[n] > 1)
    size = tile.lanes * tile.vectors
    for stride, extent in rows:
        if stride != size:
            return False
        size *= extent
    return True


def require_sums(nest: Nest) -> Strides:
    """The strides of a reduction with an init. Raises DeclineError for other blocks."""
    decline_unless(nest.kernel.init is not None, "it is no reduction with an init")
    strides = nest.strides
    decline_unless(strides.of_kind("reduce"), "it has no loop over summands")
    return strides


def require_spatial_vector(nest: Nest, strides: Strides) -> int:
    """The axis of `spatial_vector`. Raises DeclineError for blocks without one."""
    vector = spatial_vector(nest, strides)
    decline_unless(vector is not None, "no spatial axis is contiguous")
    assert vector is not None
    return vector


def spatial_vector(nest: Nest, strides: Strides) -> int | None:
    """The spatial axis along which the results of a reduction are vectors: stores are contiguous there, and loads
    contiguous, invariant, or nearly contiguous."""
    for vector in reversed(strides.of_kind("spatial")):
        is_near = all(0 <= stride[vector] <= FARTHEST for stride in strides.read)
        if strides.written[vector] == 1 and is_near and nest.lanes_along(strides.extents[vector]):
            return vector
    return None


def has_long_sums(nest: Nest) -> bool:
    """Whether the sums of a reduction take longer than the addition of their lanes."""
    strides = nest.strides
    return strides.size(strides.of_kind("reduce")) >= LONG_ROW * nest.lanes


# Factors whose rows are summed


def transposed_factor(nest: Nest) -> str:
    """Copies a factor of a product whose rows are summed, as the weights of `dense`, so that its columns are
    contiguous: the results of the product are vectors then.

    Declines: products without such a factor, or with few uses of its elements.
    """
    decline_unless(transpose_factor(nest), "no factor has rows that are summed for many results")
    return "a copy with contiguous columns"


def transpose_factor(nest: Nest) -> bool:
    """Copies the factor of `factor_to_transpose`, transposed. Returns whether there is such a factor. Raises
    DeclineError as `factor_to_transpose`."""
    factor = factor_to_transpose(nest)
    if factor is None:
        return False
    source, order = factor
    copy = nest.sch.cache_read(nest.rv, source, "global", [nest.rv])
    nest.sch.transform_layout(nest.rv, ("read", source), lambda *dims: tuple(dims[n] for n in order))
    fuse_unit_loops(nest.sch, copy)
    return True


def fuse_unit_loops(sch: Schedule, block: BlockRV) -> None:
    """Fuses loops of one iteration with a loop around or inside, so that the axes of the block are the loops."""
    outer, *others = sch.get_loops(block)
    for inner in others:
        outer = sch.fuse(outer, inner) if _is_unit(sch, outer) or _is_unit(sch, inner) else inner


def _is_unit(sch: Schedule, loop: LoopRV) -> bool:
    """Whether a loop has one iteration."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    return static_extent(op) == 1


def factor_to_transpose(nest: Nest) -> tuple[int, list[int]] | None:
    """The index among the buffers that a reduction reads of a buffer to be transposed, and the new order of its
    dimensions; None if there is none. Raises DeclineError for other blocks."""
    strides = require_sums(nest)
    if len(strides.kinds) != len(nest.kernel.axes) or spatial_vector(nest, strides) is not None:
        return None
    spatial = strides.of_kind("spatial")
    # Sums of a few products, which have no partial sums, are vectors of a few results.
    fewest = nest.lanes if strides.size(strides.of_kind("reduce")) > nest.line_lanes else nest.least_lanes
    vector = next((n for n in spatial if strides.written[n] == 1 and strides.extents[n] >= fewest), None)
    if vector is None or UNKNOWN in strides.extents:
        return None
    far = [n for n, stride in enumerate(strides.read) if stride[vector] > FARTHEST]
    if len(far) != 1 or any(stride[vector] not in (0, 1) for n, stride in enumerate(strides.read) if n not in far):
        return None
    load = loads_of(nest.kernel.block)[far[0]]
    reused = strides.size([n for n in spatial if not strides.read[far[0]][n]])
    dims = [n for n, index in enumerate(load.indices) if index is nest.kernel.axes[vector]]
    least = REUSED_IF_LONG if has_long_sums(nest) else REUSED
    if len(dims) != 1 or reused < least:
        return None
    order = [n for n in range(len(load.indices)) if n not in dims]
    return strides.sources[far[0]], [*order, *dims]
