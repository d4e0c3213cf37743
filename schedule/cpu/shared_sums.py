"""Sums of few results that threads share: each thread adds a part of the summands."""

from __future__ import annotations

from ...analysis.work import PER_BYTE, block_nanoseconds
from ..rules.results import decline_unless
from ..rules.strides import UNKNOWN
from .contraction import fuse_unit_loops, require_sums, spatial_vector
from .nest import Nest
from .reduction import LEAST_PART
from .threads import useful_threads

MOST_PARTS = 8
"""The greatest number of parts for each thread."""
LEAST_GAIN = 1.5
"""The least ratio of the time of one thread and the time of all."""


def shared_sums(nest: Nest) -> str:
    """Divides the summands of a whole tensor, or the rows of a matrix with short rows, into equal parts for the cores,
    each with sums of its own; they are added at the end. Threads share longer rows, and results along several axes.

    Declines: sums that take little time, results that threads can share, dynamic sizes, summands that have no equal
    parts.
    """
    strides, cpu = require_sums(nest), nest.cpu
    extents = strides.extents
    results = [n for n in strides.of_kind("spatial") if extents[n] != 1]
    decline_unless(not strides.shared and UNKNOWN not in extents, "it has loops with other blocks, or dynamic sizes")
    if results:
        row = extents[results[-1]] * strides.element_bytes
        is_short = results == [spatial_vector(nest, strides)] and row < cpu.cores * LEAST_PART
        decline_unless(is_short, "threads can share its results")
    nanoseconds = block_nanoseconds(nest.kernel.block)
    most = useful_threads(nanoseconds, cpu.cores)
    decline_unless(most >= 2, "it takes too little time")
    final = strides.size(results) * strides.element_bytes * PER_BYTE / nanoseconds
    counts = ((n, _equal_parts(extents[n], most, final)) for n in strides.of_kind("reduce"))
    axis, count = next((each for each in counts if each[1] > 1), (0, 1))
    decline_unless(count > 1, f"no axis has equal parts for {most} threads")
    sch = nest.sch
    part, _ = sch.split(sch.get_loops(nest.rv)[axis], [count, None])
    partial = sch.rfactor(part, 0)
    loops = sch.get_loops(partial)
    sch.reorder(loops[axis], *loops[:axis], *loops[axis + 1 :])
    sch.reorder(part, *(loop for loop in sch.get_loops(nest.rv) if sch.get(loop) is not sch.get(part)))
    for block in (partial, nest.rv):
        fuse_unit_loops(sch, block)
    return f"{count} parts along {strides.names[axis]}"


def _equal_parts(extent: int, threads: int, final: float) -> int:
    """The number of equal parts that threads add in the least time, with at least 8 summands in a part; 1 if that is
    not much less than the time of one thread. final: the share of that time that takes the final sum of a part."""

    def time(count: int) -> float:
        return -(-count // threads) / count + count * final

    counts = [n for n in range(1, min(MOST_PARTS * threads, extent // 8) + 1) if extent % n == 0]
    best = min(counts, default=1, key=time)
    return best if time(best) * LEAST_GAIN <= 1 else 1
