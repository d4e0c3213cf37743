"""The checks of the primitive `rfactor`, a reduction in two steps; `rfactor_blocks` builds both steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.iter_map import iteration_domain, predicate_constraints, why_not_injective
from ...analysis.names import block_name, buffer_name, loop_name
from ...analysis.reducers import Reducer, match_reducer
from ...analysis.scopes import binding_sums, child_blocks, depends_on, is_private, loops_around, only_child, root_buffer
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp, StoreOp
from ...dialects.tir.tree import captured_operands
from ..state import State
from .init_nests import is_reduction_axis
from .rfactor_blocks import Factoring, write_both_steps


def rfactor_reduction(state: State, loop: ForOp, factor_axis: int) -> BlockOp:
    """Apply `rfactor`: check the reduction, then build both steps; returns the block of the first."""
    block = _only_block(loop)
    _check_axes(block)
    reducer = match_reducer(block)
    if isinstance(reducer, str):
        raise ScheduleError(reducer, [block])
    roles = _roles(block)
    chain = _chain(block, loop)
    rest = _check_loops(block, loop, chain, roles)
    _check_once(block, chain)
    _check_body(block, reducer)
    _check_order(block, rest, [loop, *rest])
    factoring = Factoring(
        block,
        loop,
        chain,
        rest,
        [source for n in range(len(block.axes)) for source in _new_axes(roles, n, loop)],
        reducer,
        _positions(reducer, factor_axis, block),
    )
    with state.changing(check=False):
        return write_both_steps(factoring)


def _only_block(loop: ForOp) -> BlockOp:
    blocks = child_blocks(loop)
    if len(blocks) != 1:
        names = ", ".join(map(block_name, blocks)) or "none"
        raise ScheduleError(
            f"expected one block inside of loop {loop_name(loop)}, a reduction, got {names}", [loop, *blocks]
        )
    return blocks[0]


def _check_axes(block: BlockOp) -> None:
    for axis in block.axes:
        if axis.kind not in ("spatial", "reduce"):
            raise ScheduleError(
                f"axis {axis.name} of block {block_name(block)} is a {axis.kind} axis, expected spatial and reduce "
                "axes",
                [block],
            )


# Loops


@dataclass
class _Roles:
    """The loops from which each axis of the block is computed, and the spatial and reduction loops among them."""

    loops: list[list[ForOp]]
    spatial: set[ForOp]
    reduced: set[ForOp]


def _roles(block: BlockOp) -> _Roles:
    around: dict[SSAValue, ForOp] = {loop.variable: loop for loop in loops_around(block)}
    loops = [[around[v] for v in _variables(axis.binding) if v in around] for axis in block.axes]
    roles = _Roles(loops, set(), set())
    for axis, axis_loops in zip(block.axes, loops, strict=True):
        (roles.reduced if is_reduction_axis(axis) else roles.spatial).update(axis_loops)
    return roles


def _variables(value: SSAValue) -> Iterator[SSAValue]:
    """The loop variables from which a value is computed, each once, in the order of the expression."""
    seen: set[SSAValue] = set()
    todo = [value]
    while todo:
        top = todo.pop()
        if isinstance(top, BlockArgument):
            if top not in seen:
                yield top
            seen.add(top)
        elif isinstance(owner := top.owner, Operation):
            todo += reversed(captured_operands(owner))


def _chain(block: BlockOp, loop: ForOp) -> list[ForOp]:
    """The loops around the block, outermost first, each the only statement in the previous one, including `loop`."""
    chain: list[ForOp] = []
    inner: Operation = block
    while isinstance(parent := inner.parent_op(), ForOp) and only_child(parent) is inner:
        chain.insert(0, parent)
        inner = parent
    if loop in chain:
        return chain
    parent = inner.parent_op()
    assert parent is not None
    raise ScheduleError(
        f"block {block_name(block)} is not the only statement inside of loop {loop_name(loop)}: expected loops "
        "only, each the only statement in the one before",
        {loop: "", parent: "not alone"} if parent is not loop else {loop: "not alone in it"},
    )


def _check_loops(block: BlockOp, loop: ForOp, chain: Sequence[ForOp], roles: _Roles) -> list[ForOp]:
    """The reduction loops other than `loop`. ScheduleError if the loops cannot be divided into two steps."""
    name = block_name(block)
    both = [other for other in loops_around(block) if other in roles.spatial and other in roles.reduced]
    if loop in roles.spatial or both:
        wrong = loop if loop in roles.spatial else both[0]
        axes = [a.name for a, axis_loops in zip(block.axes, roles.loops, strict=True) if wrong in axis_loops]
        what = "not one that chooses what is written" if wrong is loop else "one kind of axes for each loop"
        raise ScheduleError(
            f"loop {loop_name(wrong)} is what {', '.join(axes)} of block {name} are computed from; expected {what}",
            {wrong: "", block: ""},
        )
    outside = [other for other in loops_around(block) if other in roles.reduced and other not in chain]
    if outside:
        raise ScheduleError(
            f"block {name} is reduced along loop {outside[0].loop_var.data}, in which it is not alone: expected loops "
            "only, each the only statement in the one before",
            {outside[0]: "", block: ""},
        )
    if loop.kind.data not in ("serial", "unrolled"):
        raise ScheduleError(f"loop {loop_name(loop)} is {loop.kind.data}, expected a serial one", [loop])
    rest = [other for other in chain if other in roles.reduced and other is not loop]
    _check_bounds(loop, rest, chain)
    return rest


def _check_once(block: BlockOp, chain: Sequence[ForOp]) -> None:
    """Raise ScheduleError if an instance may run more than once: its contribution would count several times."""
    analyzer = Analyzer()
    domain = iteration_domain(analyzer, chain, block.predicate)
    names = [f"axis {axis.name}" for axis in block.axes]
    reason = why_not_injective(analyzer, domain, binding_sums(analyzer, block), names)
    if reason is not None:
        raise ScheduleError(f"instances of block {block_name(block)} may run more than once: {reason}", [block])


def _check_bounds(loop: ForOp, rest: Sequence[ForOp], chain: Sequence[ForOp]) -> None:
    for inner in chain:
        for outer in chain:
            if (inner is loop or inner in rest or outer in rest) and depends_on(inner.bounds, outer.variable):
                raise ScheduleError(
                    f"not supported yet: the bounds of loop {loop_name(inner)} depend on loop {loop_name(outer)}",
                    {inner: "", outer: ""},
                )
    if any(other.mixed_bounds[2] != 1 for other in (loop, *rest)):
        raise ScheduleError("not supported yet: a loop with a step other than 1", [loop])


def _new_axes(roles: _Roles, n: int, loop: ForOp) -> list[int | ForOp]:
    """The axes of the first step for axis `n` of the block: the axis, by its index, or loops."""
    axis_loops = roles.loops[n]
    if not any(other in roles.reduced for other in axis_loops):
        return [n]
    earlier = {other for before in roles.loops[:n] for other in before}
    return [other for other in axis_loops if other is not loop and other not in earlier]


# The body


def _check_body(block: BlockOp, reducer: Reducer) -> None:
    """Raise ScheduleError unless the accumulated elements are the same along the reduction."""
    name = block_name(block)
    reduced = [v for axis, v in zip(block.axes, block.variables, strict=True) if is_reduction_axis(axis)]
    stores = [a.store for a in reducer.accumulators]
    if block.init is not None:
        stores += find_ops(block.init, StoreOp)
        _check_init_values(block, reduced)
    for store in stores:
        buffer = buffer_name(store.buffer)
        if is_private(block, store.buffer) or root_buffer(store.buffer) is not store.buffer:
            raise ScheduleError(f"not supported yet: block {name} accumulates in {buffer}, a view", [block])
        used = [v for v in reduced if depends_on(store.indices, v)]
        if used:
            axis = block.axes[_index(used[0])]
            raise ScheduleError(f"reduce axis {axis.name} of block {name} is in an index of {buffer}", [block])


def _index(value: SSAValue) -> int:
    assert isinstance(value, BlockArgument)
    return value.index


def _check_init_values(block: BlockOp, reduced: Sequence[SSAValue]) -> None:
    assert block.init is not None
    used = captured_operands(block.init)
    if any(depends_on(used, v) for v in reduced):
        raise ScheduleError(f"the init of block {block_name(block)} depends on what is reduced along", [block])


def _check_order(block: BlockOp, rest: Sequence[ForOp], reduced: Sequence[ForOp]) -> None:
    """Raise ScheduleError unless each reduction begins in the first iteration of its reduction loops.

    These are `rest` in the first step, and `reduced` for the original block.
    """
    analyzer = Analyzer()
    constraints, exact = predicate_constraints(analyzer, block.predicate)
    name = block_name(block)
    predicate = [] if block.predicate is None else [block.predicate]
    variables = {loop.variable for loop in reduced}
    leaves = {leaf for constraint in constraints for leaf in constraint.leaves() if leaf not in variables}
    if any(depends_on(leaves if exact else predicate, variable) for variable in variables):
        raise ScheduleError(f"not supported yet: the predicate of block {name} is not affine", [block])
    for loops in (rest, reduced) if block.init is not None else (rest,):
        first = _starts(analyzer, loops)
        with analyzer.assumptions():
            for constraint in constraints:
                analyzer.assume_not_negative(constraint)
            if not all(analyzer.is_provably("ge", analyzer.substitute(c, first), 0) for c in constraints):
                raise ScheduleError(
                    f"not supported yet: the first iteration that the predicate of block {name} admits may differ from "
                    "that of the loops",
                    [block],
                )
    if block.init is not None:
        first = _starts(analyzer, reduced)
        for axis in block.axes:
            least = analyzer.substitute(analyzer.exact(axis.binding), first)
            if is_reduction_axis(axis) and not analyzer.is_provably("eq", least, analyzer.exact(axis.low)):
                raise ScheduleError(
                    f"not supported yet: the init of block {name} does not run in the first iteration of the loops: "
                    f"axis {axis.name} has not its least value there",
                    [block],
                )


def _starts(analyzer: Analyzer, loops: Sequence[ForOp]) -> dict[SSAValue, Lin]:
    """The initial value of each loop variable."""
    return {loop.variable: analyzer.exact(loop.mixed_bounds[0]) for loop in loops}


def _positions(reducer: Reducer, factor_axis: int, block: BlockOp) -> list[int]:
    """The index of the new dimension in each new buffer."""
    positions: list[int] = []
    for accumulator in reducer.accumulators:
        assert isinstance(accumulator.buffer.type, MemRefType)
        rank = len(accumulator.buffer.type.get_shape())
        if not -rank - 1 <= factor_axis <= rank:
            raise ScheduleError(
                f"factor_axis {factor_axis}: expected one of {-rank - 1} to {rank}, as buffer "
                f"{buffer_name(accumulator.buffer)} has {rank} dimensions",
                [block],
            )
        positions.append(factor_axis % (rank + 1))
    return positions
