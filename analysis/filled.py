"""A syntactic check whether one store fills the part of a buffer that later loads read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ..dialects.tir import AttrOp, ForOp, IfOp, LaunchThreadOp, LoadOp, Mixed, StoreOp
from .index import Analyzer, Lin
from .iter_map import Domain, DomainVar, box_of_values, iteration_domain, predicate_constraints
from .regions import AccessBox, IndexRange, IsFixed, fixed_inside, required_region, shape_sides, touched_box
from .scopes import ancestors
from .vector_indices import Lanes


def is_filled_before_reads(
    loop: ForOp | LaunchThreadOp, buffer: SSAValue, shape: Sequence[Mixed], analyzer: Analyzer
) -> bool:
    """Whether each iteration of a loop first writes a box of a buffer by one store, and then reads inside that box
    only.

    False where the form of the indices does not show it, and if anything but loads and stores uses the buffer. Copies
    divided among threads write a box by sums of digits, which isl is slow to analyze.
    """
    users = [use.operation for use in buffer.uses if loop.is_ancestor(use.operation)]
    loads, stores = [op for op in users if isinstance(op, LoadOp)], [op for op in users if isinstance(op, StoreOp)]
    if len(loads) + len(stores) < len(users) or not loads:
        return False
    # A property of each iteration of an inner loop around all uses is a property of each iteration of `loop`.
    inside = [op for op in ancestors(loads[0]) if isinstance(op, ForOp | LaunchThreadOp) and loop.is_ancestor(op)]
    sides = shape_sides(analyzer, shape)
    return any(
        _is_filled(analyzer, inner, loads, stores, sides)
        for inner in inside
        if all(inner.is_ancestor(user) for user in users)
    )


def _is_filled(
    analyzer: Analyzer,
    loop: ForOp | LaunchThreadOp,
    loads: Sequence[LoadOp],
    stores: Sequence[StoreOp],
    shape: list[IndexRange],
) -> bool:
    is_fixed = fixed_inside(loop)
    positions = {op: n for n, op in enumerate(loop.body.block.ops)}

    def position(op: Operation) -> int:
        """The position of the statement of the loop that contains an op."""
        statement = loop.body.block.find_ancestor_op_in_block(op)
        assert statement is not None, "all that uses the buffer is in the loop"
        return positions[statement]

    read_first = min(map(position, loads))
    first = [op for op in stores if position(op) < read_first]
    read = _region(analyzer, [touched_box(analyzer, op, loop) for op in loads], is_fixed, shape) if first else None
    return read is not None and any(_fills(analyzer, loop, op, read, is_fixed) for op in first)


def _region(
    analyzer: Analyzer, boxes: Sequence[AccessBox | None], is_fixed: IsFixed, shape: list[IndexRange]
) -> list[IndexRange] | None:
    known = [box for box in boxes if box is not None]
    region = required_region(analyzer, known, is_fixed, shape) if len(known) == len(boxes) else None
    return region if isinstance(region, list) else None


def _fills(
    analyzer: Analyzer,
    loop: ForOp | LaunchThreadOp,
    store: StoreOp,
    read: Sequence[IndexRange],
    is_fixed: IsFixed,
) -> bool:
    """Whether a store writes, in each iteration of a loop, all of a box that contains `read`."""
    lanes = Lanes.of(analyzer, store)
    domain = _domain(analyzer, loop, store, lanes)
    sums = [analyzer.exact(index) if lanes is None else lanes.sum(index) for index in store.indices]
    indices = [index for index in sums if index is not None]
    if domain is None or len(indices) < len(sums):
        return False
    box = None if any(v.extent.terms for v in domain.variables) else box_of_values(analyzer, domain, indices)
    if box is None or not all(is_fixed(leaf) for side in box for lin in side for leaf in lin.leaves()):
        return False
    written = (IndexRange.between(analyzer, low, low + extent - 1) for low, extent in box)
    return not any(any(side.leaves(analyzer, whole)) for side, whole in zip(read, written, strict=True))


def _domain(analyzer: Analyzer, loop: ForOp | LaunchThreadOp, store: StoreOp, lanes: Lanes | None) -> Domain | None:
    """The iterations of the loops inside `loop`, and the lanes, that execute a store; None where conditions or loops
    are not known."""
    around = list(ancestors(store))
    inside = around[: around.index(loop)]
    loops = list[ForOp | LaunchThreadOp]()
    mask, is_known = predicate_constraints(analyzer, store.predicate, lanes)
    if not is_known:
        return None
    constraints = list(mask)
    for op in reversed(inside):
        match op:
            case ForOp() | LaunchThreadOp():
                loops.append(op)
            case IfOp() if op.then.is_ancestor(store):
                condition, exact = predicate_constraints(analyzer, op.condition)
                if not exact:
                    return None
                constraints += condition
            case AttrOp():
                pass
            case _:
                return None
    domain = iteration_domain(analyzer, loops)
    if not domain.exact:
        return None
    variables = () if lanes is None else (DomainVar(lanes.variable, Lin(), Lin(lanes.count)),)
    return replace(
        domain,
        variables=(*domain.variables, *variables),
        constraints=(*domain.constraints, *constraints),
    )
