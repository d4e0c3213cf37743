"""Reductions along loops that are bound to threads: their recognition, and the checks whether threads can cooperate in
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.gpu import SHUFFLE_WIDTHS, WARP_SIZE
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp, LetOp, StoreOp
from ..index import Analyzer, Lin
from ..iter_map import iteration_domain, predicate_constraints, why_not_injective
from ..names import block_name, buffer_name, loop_name
from ..reducers import Reducer, match_reducer
from ..scopes import ancestors, binding_sums, depends_on, is_private, loops_around, root_buffer, statements
from .axes import THREAD_AXES, bound_loop_range, is_block_loop, is_thread_loop, thread_axes_of, thread_axis_of
from .memories import memory_of


class ThreadReductionError(UnsupportedError):
    """Threads cannot reduce a block together. reason: the reason, in words."""

    def __init__(self, block: BlockOp, reason: str):
        name = block_name(block)
        super().__init__(f"{where(block)}threads cannot reduce block {name} together, use rfactor: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class ThreadReduction:
    """A block that threads reduce together, each a part.

    chain: the loops around the block, from the outermost reduced loop on.  reduced: the loops of the chain that the
    block is reduced along.  rows: the serial loops among the rest: each iteration has a result of its own.  team: one
    loop for each further axis of threads, in the chain or around it.  threads: the loops over threads in `reduced`, in
    the order of the thread index, the last the fastest.
    """

    block: BlockOp
    reducer: Reducer
    chain: tuple[ForOp, ...]
    reduced: tuple[ForOp, ...]
    rows: tuple[ForOp, ...]
    team: tuple[ForOp, ...]
    threads: tuple[ForOp, ...]

    @property
    def outermost_loop(self) -> ForOp:
        """The outermost reduced loop."""
        return self.chain[0]


def thread_reduction(block: BlockOp) -> ThreadReduction | None:
    """The reduction of a block by threads together; None if the block is not one.

    ThreadReductionError, with the reason, if threads must reduce it and cannot.
    """
    loops = loops_around(block)
    kinds = {kind: [a.binding for a in block.axes if (a.kind == "reduce") == kind] for kind in (True, False)}
    reduced = [loop for loop in loops if depends_on(kinds[True], loop.variable)]
    threads = [loop for loop in reduced if thread_axis_of(loop) in THREAD_AXES and loop.mixed_bounds[1] != 1]
    axes = {thread_axis_of(loop) or "" for loop in threads}
    if not threads or block.init is None or _is_thread_private(block, axes):
        return None
    chain = loops[loops.index(reduced[0]) :]
    for loop in loops:
        if depends_on(kinds[False], loop.variable) and (loop in reduced or thread_axis_of(loop) in axes):
            raise ThreadReductionError(block, f"loop {loop_name(loop)} chooses what is written, too")
    _check_loops(block, chain, threads)
    reducer = match_reducer(block)
    if isinstance(reducer, str):
        raise ThreadReductionError(block, reducer)
    _check_body(block, reducer)
    _check_injective(block, chain)
    rows = [loop for loop in chain if loop not in reduced and thread_axis_of(loop) is None]
    team = {axis: loop for loop in loops if (axis := thread_axis_of(loop)) in THREAD_AXES and axis not in axes}
    for loop in (*rows, *threads, *team.values()):
        if not all(isinstance(n, int) for n in loop.mixed_bounds):
            raise ThreadReductionError(block, f"the bounds of loop {loop_name(loop)} are not known")
    threads.sort(key=lambda loop: -THREAD_AXES.index(thread_axis_of(loop) or ""))
    parts = (chain, reduced, rows, list(team.values()), threads)
    return ThreadReduction(block, reducer, *map(tuple, parts))


@dataclass(frozen=True)
class WarpLanes:
    """The lanes of one warp among the threads that reduce together: each group of `count` consecutive threads, the
    first of which has an index divisible by `count`. Consecutive threads are `stride` lanes apart.

    A `count` of 1 means that no such group is known.
    """

    count: int
    stride: int


_ALONE = WarpLanes(1, 1)


def warp_lanes_of(reduction: ThreadReduction) -> WarpLanes:
    """The lanes of one warp among the threads of a reduction. Only where all threads of the block reduce at the same
    time."""
    extents = _threads_of_block(reduction)
    axes = {thread_axis_of(loop) for loop in reduction.threads}
    if extents is None or not axes <= extents.keys():
        return _ALONE
    several = [axis for axis in THREAD_AXES if extents.get(axis, 1) != 1]
    first = next(n for n, axis in enumerate(several) if axis in axes)
    if set(several[first : first + len(axes)]) != axes:
        return _ALONE
    stride, count, others = (
        prod(extents[axis] for axis in part)
        for part in (several[:first], several[first : first + len(axes)], several[first + len(axes) :])
    )
    span = stride * count
    if WARP_SIZE % span == 0 or (others == 1 and span <= WARP_SIZE):
        return WarpLanes(count, stride)
    near = [n for n in SHUFFLE_WIDTHS if WARP_SIZE % (n * stride) == 0 and (others == 1 or count % n == 0)]
    return WarpLanes(max(near, default=1), stride)


def _threads_of_block(reduction: ThreadReduction) -> dict[str, int] | None:
    """The number of threads in a thread block, by axis, if all of them reach the reduction; None if unknown."""
    kernel = [op for op in (*ancestors(reduction.outermost_loop), reduction.outermost_loop) if is_block_loop(op)]
    if not kernel:
        return None
    extents: dict[str, int] = {}
    loops = [op for op in kernel[-1].walk() if is_thread_loop(op)]
    for loop in loops:
        low, extent = bound_loop_range(loop)
        if low != 0 or not isinstance(extent, int):
            return None
        axis = thread_axis_of(loop) or ""
        extents[axis] = max(extent, extents.get(axis, 1))
    for axis, extent in extents.items():
        mine = [loop for loop in loops if thread_axis_of(loop) == axis and loop.is_ancestor(reduction.block)]
        if extent != 1 and (not mine or any(bound_loop_range(loop)[1] != extent for loop in mine)):
            return None
    return extents


def _is_thread_private(block: BlockOp, axes: set[str]) -> bool:
    """Whether each thread accumulates into memory of its own, so that no cooperation is needed."""
    assert block.init is not None
    stores = list(find_ops(block.init, StoreOp))
    return all(axes <= set(thread_axes_of(memory_of(store.buffer))) for store in stores)


def _check_loops(block: BlockOp, chain: Sequence[ForOp], threads: Sequence[ForOp]) -> None:
    """Raises ThreadReductionError if the loops cannot run once more before the reduction and after it."""
    if len({thread_axis_of(loop) for loop in threads}) != len(threads):
        raise ThreadReductionError(block, "two loops that it is reduced along are bound to one axis")
    inside = next((op for op in chain[0].walk() if is_block_loop(op)), None)
    if inside is not None:
        raise ThreadReductionError(
            block, f"loop {loop_name(inside)}, over blocks, is inside of loop {loop_name(chain[0])}"
        )
    for loop in chain[1:]:
        for outer in chain:
            if depends_on(loop.bounds, outer.variable):
                raise ThreadReductionError(
                    block, f"the bounds of loop {loop_name(loop)} depend on loop {loop_name(outer)}"
                )


def _check_body(block: BlockOp, reducer: Reducer) -> None:
    reduced = [v for axis, v in zip(block.axes, block.variables, strict=True) if axis.kind == "reduce"]
    for accumulator in reducer.accumulators:
        buffer = accumulator.buffer
        if is_private(block, buffer) or root_buffer(buffer) is not buffer:
            raise ThreadReductionError(block, f"{buffer_name(buffer)} is a view")
        if any(depends_on(accumulator.store.indices, v) for v in reduced):
            raise ThreadReductionError(block, f"it is reduced along an index of {buffer_name(buffer)}")


def _check_injective(block: BlockOp, chain: Sequence[ForOp]) -> None:
    """Raises ThreadReductionError if an instance may run more than once, so that its contributions would have to be
    counted."""
    analyzer = Analyzer()
    names = [f"axis {axis.name}" for axis in block.axes]
    domain = iteration_domain(analyzer, chain, block.predicate)
    reason = why_not_injective(analyzer, domain, binding_sums(analyzer, block), names)
    if reason is not None:
        raise ThreadReductionError(block, f"an instance may run more than once: {reason}")


def check_begin(reduction: ThreadReduction, begin: Mapping[SSAValue, Lin]) -> None:
    """Raises ThreadReductionError unless every result with a contribution is also initialized.

    begin: the iteration of the reduced loops in which the init runs.
    """
    block, analyzer = reduction.block, Analyzer()
    constraints, exact = predicate_constraints(analyzer, block.predicate)
    predicate: list[SSAValue] = [] if block.predicate is None else [block.predicate]
    leaves = {leaf for constraint in constraints for leaf in constraint.leaves() if leaf not in begin}
    for loop in reduction.reduced:
        if depends_on(leaves if exact else predicate, loop.variable):
            raise ThreadReductionError(block, "its predicate is not affine")
    with analyzer.assumptions():
        for constraint in constraints:
            analyzer.assume_not_negative(constraint)
        if not all(analyzer.is_provably("ge", analyzer.substitute(c, begin), 0) for c in constraints):
            raise ThreadReductionError(block, "its predicate may keep the init from running, but not other iterations")


def check_init(reduction: ThreadReduction) -> None:
    """Raises ThreadReductionError unless the init stores exactly one number to each accumulator buffer."""
    init = reduction.block.init
    assert init is not None
    inside = [op for op in statements(init.body.block) if not isinstance(op, LetOp)]
    stored = [op.buffer for op in inside if isinstance(op, StoreOp) and op.predicate is None]
    wanted = [a.buffer for a in reduction.reducer.accumulators]
    if len(stored) != len(inside) or sorted(map(id, stored)) != sorted(map(id, wanted)):
        names = ", ".join(map(buffer_name, wanted))
        raise ThreadReductionError(reduction.block, f"its init does more than to store to {names}")
