"""Reductions over windows that overlap, whose vectors are rows of an image: depthwise convolutions, and pools."""

from __future__ import annotations

from ..rules.results import decline_unless
from ..rules.strides import IRREGULAR, UNKNOWN, Strides
from .contraction import require_spatial_vector, require_sums
from .nest import Nest
from .tiles import HIGHEST_IF_DYNAMIC, Tile, apply_tile, parts, sums_of_windows

WIDEST = 2
"""The greatest number of vectors of a row of a tile: more rows share more vectors."""
MOST_TAPS = 16
"""The greatest number of taps that are unrolled."""


def windows(nest: Nest) -> str:
    """Vectorizes a spatial axis along which stores are contiguous, and loads contiguous or invariant. The sums of some
    rows, of windows that overlap along an axis, stay in registers; the taps along this axis are unrolled, so that each
    vector is loaded once for all windows of the tile that it is in. Tiles of images of dynamic size are small, since
    each element of the last one is computed under a condition.

    Declines: blocks without such axes, and sums over a single axis.
    """
    strides = require_sums(nest)
    vector = require_spatial_vector(nest, strides)
    overlap = _overlap(strides, vector)
    decline_unless(overlap is not None, "no windows of rows overlap")
    assert overlap is not None
    rows, taps = overlap
    count = strides.extents[taps]
    columns, height = strides.extents[vector], strides.extents[rows]
    lanes = nest.lanes_along(columns, nest.lanes_of_images(columns))
    vectors = 1 if columns == UNKNOWN else parts(-(-columns // lanes), WIDEST)
    if UNKNOWN in (columns, height):
        height = 1 if columns == height else min(height, HIGHEST_IF_DYNAMIC)
    else:
        height = parts(height, sums_of_windows(nest.cpu, count) // vectors)
    tile = Tile(vector, lanes, rows, height, vectors, taps=taps)
    apply_tile(nest, tile)
    return f"{tile.text(strides.names)}, {count} taps along {strides.names[taps]} unrolled"


def _overlap(strides: Strides, vector: int) -> tuple[int, int] | None:
    """A spatial axis, and the axis of the taps of windows that overlap along this axis, whose windows are nearest in
    memory; None if there are none, or no other axis is summed. vector: the vectorized axis."""
    spatial, summed = strides.of_kind("spatial"), strides.of_kind("reduce")
    found = list[tuple[int, int, int]]()
    for read in strides.read if len(summed) > 1 else ():
        for rows in (n for n in spatial if n != vector and read[vector]):
            for taps in summed:
                if 0 < read[taps] <= read[rows] < IRREGULAR and strides.extents[taps] <= MOST_TAPS:
                    step, rest = divmod(read[rows], read[taps])
                    if not rest and step < strides.extents[taps]:
                        found.append((read[rows], rows, taps))
    return min(found)[1:] if found else None
