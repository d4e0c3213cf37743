"""The loops that threads share, by an estimate of their time."""

from __future__ import annotations

from math import ceil, prod

from xdsl.ir import Operation

from ...analysis.names import loop_name
from ...analysis.scopes import depends_on, loops_around, only_child, outermost_loops
from ...analysis.work import block_nanoseconds, static_extent
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp, FuncOp
from .. import Schedule
from ..rules.kernel import handle_of
from ..rules.results import DeclineError, decline_unless

LEAST_TIME = 8_000
"""The least nanoseconds that a thread works on a part of a loop: some ten times the time to hand the part over."""
_MANY = 16
"""The number of iterations that balance threads: a loop of as many is shared rather than a loop inside."""


def useful_threads(nanoseconds: float, cores: int) -> int:
    """The number of threads, at most one for each core, that share work in parts of at least `LEAST_TIME`."""
    return min(cores, int(nanoseconds / max(LEAST_TIME, 1)))


def loop_nests(func: FuncOp) -> list[ForOp]:
    """The outermost loops around blocks."""
    return [loop for loop in outermost_loops(func) if any(find_ops(loop, BlockOp))]


def threads(sch: Schedule, function: str, nest: ForOp) -> str:
    """Makes a loop of a nest parallel: the outermost of many iterations, else the longest. Its iterations compute
    separate results, as it binds spatial axes alone, and take long enough.

    Declines: nests without such a loop.
    """
    loop = _shared_loop(nest)
    grain, extent = _grain(nest, loop), static_extent(loop)
    decline_unless(extent is None or extent >= 2 * grain, "it takes too little time")
    block = handle_of(sch, function, next(find_ops(loop, BlockOp)))
    shared = next(each for each in sch.get_loops(block) if sch.get(each) is loop)
    sch.annotate(shared, "grain", grain)
    sch.parallel(shared)
    return f"loop {loop_name(loop)}, at least {grain} iterations at a time"


def _shared_loop(nest: ForOp) -> ForOp:
    """The loop of a nest that threads share. Declines: nests without such a loop."""
    longest, most = None, 1
    for loop in _perfect_loops(nest):
        extent = static_extent(loop)
        iterations = _MANY if extent is None else extent
        if iterations != 1 and (longest is None or iterations > most) and _is_independent(loop):
            longest, most = loop, iterations
            if iterations >= _MANY:
                break
    if longest is None:
        raise DeclineError("its iterations do not compute separate results")
    return longest


def _perfect_loops(nest: ForOp) -> list[ForOp]:
    """The serial loops of a nest around all of its blocks, outermost first."""
    loops = list[ForOp]()
    op: Operation | None = nest
    while isinstance(op, ForOp) and op.kind.data == "serial":
        loops.append(op)
        op = only_child(op)
    return loops


def _is_independent(loop: ForOp) -> bool:
    """Whether the iterations of a loop compute separate results: each block in it has spatial axes that depend on the
    loop, and no other such axes."""
    for block in find_ops(loop, BlockOp):
        kinds = {axis.kind for axis in block.axes if depends_on([axis.binding], loop.variable)}
        if kinds != {"spatial"}:
            return False
    return True


def _grain(nest: ForOp, loop: ForOp) -> int:
    """The number of iterations of a loop that take `LEAST_TIME`; 1 if an iteration has an unknown time."""
    around = [*loops_around(loop), loop]
    inner = [op for op in find_ops(loop, ForOp) if op is not loop]
    if any(static_extent(each) is None for each in inner):
        return 1
    iterations = prod(static_extent(each) or 1 for each in around)
    nanoseconds = sum(block_nanoseconds(block) for block in find_ops(nest, BlockOp)) / max(iterations, 1)
    return max(1, ceil(LEAST_TIME / max(nanoseconds, 1e-3)))
