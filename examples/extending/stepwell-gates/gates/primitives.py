"""The schedule primitive `tile`."""

from stepwell import Schedule
from stepwell.schedule.extending import primitive
from stepwell.schedule.handles import BlockRV, LoopRV


@primitive
def tile(sch: Schedule, block: BlockRV, *factors: int) -> list[LoopRV]:
    """Divides the innermost loops around a block into tiles, a factor for each; returns the loops over the tiles."""
    loops = sch.get_loops(block)[-len(factors) :]
    halves = [sch.split(loop, factors=[None, factor]) for loop, factor in zip(loops, factors, strict=True)]
    outer, inner = zip(*halves, strict=True)
    sch.reorder(*outer, *inner)
    return list(outer)
