"""The rules for all other blocks: parallel loops as they are, and finally one thread."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.dependence import carried_dependence
from ...analysis.scopes import depends_on, only_child
from ...analysis.threads.axes import thread_axis_of
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp
from .. import Schedule
from ..handles import LoopRV
from ..rules.kernel import Kernel
from ..rules.results import decline_unless
from .binding import bind_grid
from .scopes import keep_to_threads


def parallel_loops(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Binds all loops around a block with independent iterations, after moving them outside of the other loops.

    Loops stay in place that contain other statements, whose bounds depend on other loops, or whose order is fixed.
    """
    loops, handles = kernel.loops, sch.get_loops(kernel.rv)
    first = _first_parallel(loops)
    nest = [first]
    while nest[-1] + 1 < len(loops) and only_child(loops[nest[-1]]) is loops[nest[-1] + 1]:
        nest.append(nest[-1] + 1)
    chosen = [n for n in nest if _is_parallel(loops[n]) and _is_bounded_outside(loops[n], loops[first:])]
    kept = [n for n in range(first, chosen[-1]) if n not in chosen]
    if kept:
        sch.reorder(*(handles[n] for n in [*chosen, *kept]))
    return _bind(sch, kernel, [handles[n] for n in chosen])


def outer_loops(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Binds the outermost loops around a block with independent iterations, in their order."""
    loops, handles = kernel.loops, sch.get_loops(kernel.rv)
    first = last = _first_parallel(loops)
    while (
        last + 1 < len(loops)
        and only_child(loops[last]) is loops[last + 1]
        and _is_parallel(loops[last + 1])
        and _is_bounded_outside(loops[last + 1], loops[first:])
    ):
        last += 1
    return _bind(sch, kernel, handles[first : last + 1])


def one_thread(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Lets one thread execute a loop nest, as far as none of its loops is bound."""
    handles = sch.get_loops(kernel.rv)
    free = [n for n, loop in enumerate(kernel.loops) if not any(thread_axis_of(op) is not None for op in loop.walk())]
    unit = sch.add_unit_loop(handles[free[0]] if free else kernel.rv)
    sch.bind(unit, "threadIdx.x")
    return _others(sch, kernel, unit)


def _first_parallel(loops: Sequence[ForOp]) -> int:
    indices = [n for n, loop in enumerate(loops) if _is_parallel(loop) and loop.mixed_bounds[1] != 1]
    indices = [n for n in indices if not any(loop.kind.data == "unrolled" for loop in loops[:n])]  # one kernel
    decline_unless(indices, "no loop around it has independent iterations")
    return indices[0]


def _is_parallel(loop: ForOp) -> bool:
    """Whether the iterations of a loop can be threads."""
    is_plain = loop.thread is None and loop.annotations is None and loop.mixed_bounds[2] == 1
    inside = any(thread_axis_of(op) is not None for op in loop.walk())
    return is_plain and not inside and carried_dependence(loop) is None


def _is_bounded_outside(loop: ForOp, others: Sequence[ForOp]) -> bool:
    """Whether the bounds of a loop do not depend on other loops."""
    bounds = [number for number in loop.mixed_bounds if isinstance(number, SSAValue)]
    return not any(depends_on(bounds, other.variable) for other in others)


def _bind(sch: Schedule, kernel: Kernel, loops: Sequence[LoopRV]) -> tuple[str, ...]:
    thread = bind_grid(sch, loops)
    keep_to_threads(sch, thread)
    return _others(sch, kernel, thread)


def _others(sch: Schedule, kernel: Kernel, loop: LoopRV) -> tuple[str, ...]:
    """The names of the other blocks in a loop."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    blocks = [inner for inner in find_ops(op, BlockOp) if inner is not sch.get(kernel.rv)]
    return tuple(block.block_name.data for block in blocks)
