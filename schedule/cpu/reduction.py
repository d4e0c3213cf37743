"""Reductions without shared vectors: sums of columns, pools, sums of rows and of whole tensors."""

from __future__ import annotations

from collections.abc import Sequence

from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.results import decline_unless
from ..rules.strides import UNKNOWN
from .contraction import has_long_sums, require_spatial_vector, require_sums
from .nest import Nest
from .tiles import HIGHEST, IN_FLIGHT, Tile, apply_tile, choose_rows, fill_registers, keep_in_registers, parts

PARTIAL = 4
"""The number of vectors of partial sums: as many additions as a processor starts before the first one ends."""


WIDEST = 512
"""The bytes of the vectors of sums of a row: rows that are far from each other are read in so long parts."""
FEWER_IF_DYNAMIC = 4
"""The factor by which these vectors are fewer in a row of dynamic size, whose last tile has masks."""
AT_ONCE = 4
"""The number of long rows that are added at a time: few enough streams for a processor to fetch in advance, also where
rows at multiples of 4 KiB share the sets of a cache."""
LEAST_PART = 4096
"""The least bytes of a part of long rows: shorter parts are not fetched in advance."""


def columns(nest: Nest) -> str:
    """Vectorizes a spatial axis along which stores are contiguous, and loads contiguous or invariant; several vectors
    of sums stay in registers. Of rows that are longer than these vectors, four are added at a time to sums that stay
    in the L1 cache, so that the rows are read as they are in memory.

    Declines: blocks without such an axis.
    """
    strides = require_sums(nest)
    vector = require_spatial_vector(nest, strides)
    lanes = nest.lanes_along(strides.extents[vector])
    summed = _axis_of_long_rows(nest, vector)
    if summed is not None:
        return _add_rows(nest, summed, vector, lanes)
    widest = WIDEST // FEWER_IF_DYNAMIC if strides.extents[vector] == UNKNOWN else WIDEST
    most = min(max(widest // nest.cpu.vector_bytes, 1), nest.cpu.vector_registers - 2)
    tile = Tile(vector, lanes, vectors=parts(-(-strides.extents[vector] // lanes), most))
    apply_tile(nest, tile)
    return tile.text(strides.names)


def _axis_of_long_rows(nest: Nest, vector: int) -> int | None:
    """The axis along which the summands are rows of more bytes than `WIDEST`, far from each other; None without such
    an axis. vector: the vectorized axis."""
    strides = nest.strides
    extent, axes = strides.extents[vector], [n for n in strides.of_kind("reduce") if strides.extents[n] != 1]
    if len(axes) != 1:
        return None
    (summed,) = axes
    if UNKNOWN in (extent, strides.extents[summed]) or strides.extents[summed] < 2 * AT_ONCE:
        return None
    steps = [stride[summed] for stride in strides.read if stride[vector]]
    is_single = len(steps) == 1 and steps[0] >= extent and all(stride[vector] in (0, 1) for stride in strides.read)
    return summed if is_single and extent * strides.element_bytes > WIDEST else None


def _add_rows(nest: Nest, summed: int, vector: int, lanes: int) -> str:
    """Adds `AT_ONCE` rows at a time, in parts whose sums fit into half of the L1 cache. Returns the schedule in words.

    Each core has a part, if the parts are not too short. summed: the axis along which rows are added.
    """
    sch, strides, cpu = nest.sch, nest.strides, nest.cpu
    row = strides.extents[vector] * strides.element_bytes
    count = max(min(cpu.cores, row // LEAST_PART), -(-row // (cpu.l1_bytes // 2)))
    loops = sch.get_loops(nest.rv)
    part, vectors, lane = sch.split(loops[vector], [count, None, lanes])
    summands, row_of_step = sch.split(loops[summed], [None, AT_ONCE])
    outer = [loops[n] for n in strides.of_kind("spatial") if n != vector]
    single = [loops[n] for n in strides.of_kind("reduce") if n != summed]
    sch.reorder(*outer, part, summands, *single, vectors, row_of_step, lane)
    start = sch.decompose_reduction(nest.rv, summands)
    sch.vectorize(sch.get_loops(start)[-1])
    fill_registers(sch, [row_of_step, lane])
    name = strides.names[vector]
    division = "" if count == 1 else f", in {count} parts"
    return f"sums in the L1 cache, vectors of {lanes} lanes along {name}, {AT_ONCE} rows at a time{division}"


def partial_sums(nest: Nest) -> str:
    """Splits a reduction axis along which all loads are contiguous into lanes, each with a partial sum of its own; they
    are added at the end. A sum of a whole tensor has several vectors of partial sums.

    Declines: short sums, and loads that are not contiguous along the last reduction axis.
    """
    strides = require_sums(nest)
    extents, read, spatial = strides.extents, strides.read, strides.of_kind("spatial")
    summed = strides.of_kind("reduce")
    vector = max((n for n in summed if extents[n] != 1), default=summed[-1])
    name = strides.names[vector]
    is_long = extents[vector] >= nest.least_lanes and strides.size(summed) > nest.line_lanes
    decline_unless(is_long, f"the sums are short, {extents[vector]} along {name}")
    decline_unless(all(stride[vector] in (0, 1) for stride in read), f"not all loads are contiguous along {name}")
    if all(extents[n] == 1 for n in spatial):
        vectors = PARTIAL if extents[vector] > 2 * PARTIAL * nest.line_lanes else 1
        tile = Tile(vector, vectors * nest.line_lanes)
    else:
        loads = [n for n, stride in enumerate(read) if stride[vector]]
        tile = _tile_of_products(nest, spatial, loads, vector) or _tile_of_rows(nest, spatial, loads, vector)
    _sum_by_lanes(nest, tile)
    return tile.text(strides.names, "partial sums")


def _tile_of_products(nest: Nest, spatial: Sequence[int], loads: Sequence[int], vector: int) -> Tile | None:
    """The tile in which each vector of both factors of a product is used for several results; None for sums of other
    summands, and for results along fewer axes.

    It is the tile that takes the least time for its multiplications or loads, among those whose sums and a row of
    vectors fit into the registers: of several the one with the fewest loads, or, for short sums, whose lanes take as
    much time, the smallest one.

    loads: the indices of the loads of vectors.  vector: the axis of the vectors.
    """
    if len(loads) != 2:
        return None
    strides = nest.strides
    extents, first, second = strides.extents, *(strides.runs[load] for load in loads)
    rows = next((n for n in reversed(spatial) if extents[n] > 1 and not second[n]), None)
    columns = next((n for n in reversed(spatial) if extents[n] > 1 and not first[n] and n != rows), None)
    if rows is None or columns is None:
        return None
    tiles = [
        (height, width)
        for height in range(1, HIGHEST + 1)
        for width in range(1, HIGHEST + 1)
        if height * width + min(height, width) < nest.cpu.vector_registers
    ]

    is_long = has_long_sums(nest)

    def time(tile: tuple[int, int]) -> tuple[int, int]:
        height, width = tile
        count = -(-extents[rows] // height) * -(-extents[columns] // width)
        loads = height + width
        return count * max(height * width, loads, IN_FLIGHT), count * loads if is_long else height * width

    height, width = min(tiles, key=time)
    return Tile(vector, min(nest.lanes, extents[vector]), rows, height, columns=columns, width=width)


def _tile_of_rows(nest: Nest, spatial: Sequence[int], loads: Sequence[int], vector: int) -> Tile:
    """The tile in which each vector of a load is used for the results of some rows, if such rows exist. The parameters
    are those of `_tile_of_products`."""
    if _has_elements_read_once(nest, spatial, loads, vector):
        return Tile(vector, PARTIAL * nest.line_lanes)
    choices = (choose_rows(nest, spatial, [load], PARTIAL, PARTIAL // 2) for load in reversed(loads))
    rows, height = next((choice for choice in choices if choice[0] is not None), (None, 1))
    return Tile(vector, min(nest.line_lanes, nest.strides.extents[vector]), rows, height)


def _has_elements_read_once(nest: Nest, spatial: Sequence[int], loads: Sequence[int], vector: int) -> bool:
    """Whether each element of a factor is used once, in long rows. Rows read one after another are one stream of
    memory, which arrives faster than several streams. The parameters are those of `_tile_of_products`."""
    strides = nest.strides
    extents, axes = strides.extents, [*spatial, *strides.of_kind("reduce")]
    if UNKNOWN in extents or extents[vector] <= 2 * PARTIAL * nest.line_lanes:
        return False
    return any(all(strides.read[load][n] for n in axes if extents[n] > 1) for load in loads)


def _sum_by_lanes(nest: Nest, tile: Tile) -> None:
    """Sums each lane by itself, and then the lanes, for one tile of results at a time."""
    sch, block, shared = nest.sch, nest.rv, nest.strides.shared
    vector, *single = sch.get_loops(block)[tile.vector :]
    if single:  # loops over one summand, as those over a window of one element
        sch.reorder(*single, vector)
    lane = sch.split(vector, [None, tile.lanes])[1]
    partial = sch.rfactor(lane, -1)
    loops = sch.get_loops(block)  # over spatial axes, then over lanes
    outer, inside = list(loops[:-1]), list[LoopRV]()
    for axis, size in ((tile.rows, tile.height), (tile.columns, tile.width)):
        if axis is not None and size > 1:
            outer[axis], part = sch.split(loops[axis], [None, size])
            inside.append(part)
    if inside:
        sch.reorder(*outer[shared:], *inside, loops[-1])
    summed, inner = _join(sch, partial, outer, len(inside))
    keep_in_registers(sch, partial, summed[0], inner)
    # The check of `vectorize` admits no sums of lanes, and traces of functions of users are replayed with checks.
    if inside and nest.is_of_graph:
        lanes = sch.get_loops(block)[-1]
        sch.decompose_reduction(block, lanes)
        sch.vectorize(lanes)
    if tile.lanes > nest.line_lanes:
        lane = sch.split(sch.get_loops(block)[-1], [None, nest.line_lanes])[1]
        vector = sch.rfactor(lane, -1)
        summed, inner = _join(sch, vector, outer, 0)
        keep_in_registers(sch, vector, summed[0], inner)


def _join(
    sch: Schedule, partial: BlockRV, outer: Sequence[LoopRV], tile: int
) -> tuple[Sequence[LoopRV], Sequence[LoopRV]]:
    """Moves partial sums into the loops around their final sum. Returns the loops over summands, and the loops inside,
    over a tile and over lanes. tile: the number of loops over the tile."""
    around = sch.get_loops(partial)[: len(outer)]
    if [sch.get(loop) for loop in around] != [sch.get(loop) for loop in outer]:
        sch.compute_at(partial, outer[-1])
        lane, *inner = sch.get_loops(partial)[len(outer) :]
        summed, inner = inner[tile:], [*inner[:tile], lane]
        sch.reorder(*summed, *inner)
        return summed, inner
    *summed, lane = sch.get_loops(partial)[len(outer) :]
    return summed, [lane]
