"""Tiles of sums that stay in registers: their sizes, and the primitives that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.results import decline_unless
from .nest import Nest

HIGHEST_IF_DYNAMIC = 4
"""The greatest number of rows, or of columns, of a tile in an image with dynamic rows or columns."""
HIGHEST = 8
"""The greatest number of rows of a tile: more rows at multiples of 4 KiB displace each other from caches of 8 ways."""
IN_FLIGHT = 8
"""The number of sums of vectors that keep a processor busy: two at a time, each of which takes four cycles."""


MOST_OF_WINDOWS = 16
"""The greatest number of vectors of sums over windows, whose taps are unrolled."""


@dataclass(frozen=True)
class Panel:
    """A factor of a product, and the order of the loops over its columns.

    source: the index of the factor among the buffers that the block reads; None if its columns are not moved.  axes:
    the spatial axes that determine its elements besides the vectorized axis; their loops and the loop over tiles of
    columns are around all other loops.  writer: the block that computes the columns of a tile where a copy would be,
    as it computes elements of the factor for this product alone; None for none.  in_place: whether the layout of the
    factor changes, instead of a copy.
    """

    source: int | None
    axes: Sequence[int]
    writer: BlockRV | None = None
    in_place: bool = False

    @property
    def is_copied(self) -> bool:
        """Whether the columns of a tile are copied."""
        return self.source is not None and not self.in_place

    @property
    def has_columns(self) -> bool:
        """Whether the columns of a tile are contiguous, in a buffer of their own."""
        return self.is_copied or self.writer is not None


@dataclass(frozen=True)
class Tile:
    """The tile of a reduction, whose sums are in registers.

    vector, lanes: the index of the vectorized axis, and the number of lanes; a reduction axis is split into lanes whose
    sums are added.  rows, height: the index of the axis that is split into tiles, None for none, and the number of its
    elements in a tile.  vectors: the number of vectors along the vectorized axis in a tile.  panel: the factor whose
    columns for a tile are copied, so that they are contiguous; None for no copy.  group: the number of tiles of
    columns that are copied at a time, and computed in turn for the same rows.  taps: the index of a reduction axis
    that is unrolled in the tile, for each vector before the rows; None for none.  columns, width: another axis that is
    split into tiles, as rows and height: along which the elements of a row are invariant, or of sums by lanes.
    summands: the iterations of the outermost reduction loop, a divisor of their number, after which sums are stored
    and the next tile follows; None for all of them.
    """

    vector: int
    lanes: int
    rows: int | None = None
    height: int = 1
    vectors: int = 1
    panel: Panel | None = None
    group: int = 1
    taps: int | None = None
    columns: int | None = None
    width: int = 1
    summands: int | None = None

    def blocked(self, *indices: Any) -> tuple[Any, ...]:
        """The indices of an element of a factor in which the columns of a tile are contiguous."""
        size = self.lanes * self.vectors
        return *indices[:-2], indices[-1] // size, indices[-2], indices[-1] % size

    def text(self, names: Sequence[str], sums: str = "sums") -> str:
        """The tile in words. names: of the axes.  sums: the name of its elements."""
        times = "" if self.vectors == 1 else f", {self.vectors} at a time"
        rows = "" if self.rows is None else f", {self.height} rows along {names[self.rows]}"
        columns = "" if self.columns is None else f", {self.width} columns along {names[self.columns]}"
        copy = ", copies of columns" if self.panel is not None and self.panel.has_columns else ""
        copy = ", columns of a tile contiguous" if self.panel is not None and self.panel.in_place else copy
        copy += f" for {self.group} tiles" if self.group > 1 else ""
        copy += "" if self.summands is None else f", {self.summands} summands at a time"
        vectors = f"vectors of {self.lanes} lanes along {names[self.vector]}{times}"
        return f"{sums} in registers, {vectors}{rows}{columns}{copy}"


def greatest_height(cpu: CpuModel, vectors: int, most: int = HIGHEST) -> int:
    """The greatest number of rows of a tile, `most` at most: its sums, the vectors of a row, and an element of each row
    in turn fit into the registers."""
    return max(min(most, (cpu.vector_registers - 1 - vectors) // vectors), 1)


def greatest_width(cpu: CpuModel) -> int:
    """The number of vectors of a row of the largest tile: the least that gives the most sums in registers."""
    return max(range(1, 5), key=lambda vectors: vectors * greatest_height(cpu, vectors))


def sums_of_windows(cpu: CpuModel, taps: int, vectors: int = 1) -> int:
    """The greatest number of vectors of sums over windows that overlap along an axis. The sums, the weights of the taps
    along this axis, and the elements of one window fit into the registers, if these are enough to keep the processor
    busy.

    taps: the number of taps along the axis.  vectors: the number of vectors of the weights of a tap.
    """
    return min(max(cpu.vector_registers - 1 - 2 * taps * vectors, IN_FLIGHT), MOST_OF_WINDOWS)


def parts(count: int, most: int) -> int:
    """The size of the equal parts of a number of things, with as few parts as parts of `most` things allow."""
    return -(-count // -(-count // most))


def choose_rows(
    nest: Nest, candidates: Sequence[int], vectors: Sequence[int], highest: int, least: int = 1
) -> tuple[int | None, int]:
    """The axis to split into the rows of tiles, and the height of a tile: an axis along which loaded vectors are
    invariant, at least in each tile.

    vectors: the indices of the loads of vectors.  highest: the greatest height.  least: the height from which on tiles
    that divide the axis are preferred to higher ones.
    """
    strides = nest.strides
    heights = range(highest, 1, -1)
    for n in reversed(candidates) if vectors else ():
        extent, run = strides.extents[n], gcd(*(strides.runs[load][n] for load in vectors))
        height = next((rows for rows in heights if rows >= least and extent % rows == 0 == run % rows), 0)
        if not height:
            height = next((rows for rows in heights if run % rows == 0), 1) if run else parts(extent, highest)
        if height > 1:
            return n, height
    return None, 1


def fill_registers(sch: Schedule, tile: Sequence[LoopRV]) -> None:
    """Vectorizes the innermost loop of a tile, and unrolls the others. Declines: tiles of one element."""
    decline_unless(tile, "a tile has one element")
    *rows, lanes = tile
    sch.vectorize(lanes)
    for loop in rows:
        sch.unroll(loop)


def keep_in_registers(sch: Schedule, block: BlockRV, summed: LoopRV, tile: Sequence[LoopRV]) -> None:
    """Vectorizes a tile of sums, and moves its init before the reduction loops.

    summed: the outermost reduction loop.  tile: the loops that are unrolled or vectorized, which may include reduction
    loops.
    """
    start_in_registers(sch, block, summed)
    fill_registers(sch, tile)


def keep_parts_in_registers(sch: Schedule, block: BlockRV, part: LoopRV, tile: Sequence[LoopRV]) -> None:
    """Vectorizes a tile of sums that are stored after each part of their summands, and moves their init before all
    parts. part: the loop over these.  tile: the loops that are unrolled or vectorized."""
    start = sch.decompose_reduction(block, part)
    sch.vectorize(sch.get_loops(start)[-1])
    fill_registers(sch, tile)


def start_in_registers(sch: Schedule, block: BlockRV, summed: LoopRV) -> None:
    """Moves the init of a tile of sums before the reduction loops, vectorized. summed: the outermost reduction loop."""
    around = [sch.get(loop) for loop in sch.get_loops(block)].index(sch.get(summed))
    start = sch.decompose_reduction(block, summed)
    fill_registers(sch, sch.get_loops(start)[around:])


def apply_tile(nest: Nest, tile: Tile) -> None:
    """Splits the loops of a reduction into tiles, whose sums stay in registers during the loops over summands."""
    sch, strides = nest.sch, nest.strides
    outer = dict[int, LoopRV]()
    group, summed, taps, rows, columns, vectors = (list[LoopRV]() for _ in range(6))
    for n, (loop, kind) in enumerate(zip(sch.get_loops(nest.rv), strides.kinds, strict=True)):
        if n == tile.vector:
            groups = [tile.group] if tile.group > 1 else []
            several = [tile.vectors] if tile.vectors > 1 else []
            outer[n], *inside = sch.split(loop, [None, *groups, *several, tile.lanes])
            group, vectors = inside[: len(groups)], inside[len(groups) :]
        elif n == tile.rows:
            outer[n], *rows = sch.split(loop, [None, tile.height])
        elif n == tile.columns:
            outer[n], *columns = sch.split(loop, [None, tile.width])
        elif kind == "spatial":
            outer[n] = loop
        else:
            (taps if n == tile.taps else summed).append(loop)
    inner = [*vectors[:-1], *taps, *rows, vectors[-1]] if taps else [*rows, *columns, *vectors]
    first = [] if tile.panel is None else [*tile.panel.axes, tile.vector]
    order = [outer[n] for n in (*first, *(n for n in outer if n not in first)) if n >= strides.shared]
    part = list[LoopRV]()
    if tile.summands is not None:
        *part, summed[0] = sch.split(summed[0], [None, tile.summands])
        order[len(first) : len(first)] = part
    sch.reorder(*order, *group, *summed, *inner)
    if tile.panel is not None:
        _copy_panel(nest, tile, tile.panel, outer[tile.vector])
    if part:
        keep_parts_in_registers(sch, nest.rv, part[0], inner)
    else:
        keep_in_registers(sch, nest.rv, summed[0], inner)


def _copy_panel(nest: Nest, tile: Tile, panel: Panel, columns: LoopRV) -> None:
    """Copies or computes the columns of a factor for a tile, or for each tile of a group, one after the other; or gives
    the factor this layout. columns: the loop over tiles or groups."""
    sch = nest.sch
    if panel.writer is not None:
        sch.compute_at(panel.writer, columns)
    elif panel.source is None:
        return
    elif panel.in_place:
        sch.transform_layout(nest.rv, ("read", panel.source), tile.blocked)
    else:
        copy = sch.cache_read(nest.rv, panel.source, "global", [nest.rv])
        sch.compute_at(copy, columns)
        if tile.group > 1:
            sch.transform_layout(copy, ("write", 0), tile.blocked)
        sch.vectorize(sch.split(sch.get_loops(copy)[-1], [None, nest.lanes])[1])
