"""Boxes of buffer elements: the elements of an access, and the required elements of a buffer for fixed values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.tir import (
    AccessOp,
    Axis,
    BlockOp,
    ForOp,
    IfOp,
    LaunchThreadOp,
    LoadOp,
    Mixed,
    RampOp,
    StoreOp,
    WhileOp,
    constant_value,
)
from ..index import Analyzer, Lin, type_range
from ..iter_map import predicate_constraints
from ..vector_indices import Lanes
from .relax import IsFixed


@dataclass(frozen=True)
class IndexRange:
    """A range of integers, in one dimension of a buffer or of an axis: `extent` values from `low` on.

    most: an upper bound of `extent`; equal to `extent` if that is a number.
    """

    low: Lin
    extent: Lin
    most: int

    @property
    def high(self) -> Lin:
        """The last value of the range."""
        return self.low + self.extent - 1

    @staticmethod
    def between(analyzer: Analyzer, low: Lin, high: Lin) -> IndexRange:
        """The range from `low` to `high`, both included."""
        extent = analyzer.combine(high - low + 1)
        bounds = analyzer.bounds(extent)
        return IndexRange(low, Lin(bounds[0]) if bounds[0] == bounds[1] else extent, bounds[1])

    @staticmethod
    def of(analyzer: Analyzer, low: Mixed, extent: Mixed) -> IndexRange:
        """`[low +: extent]`."""
        first = analyzer.exact(low)
        return IndexRange.between(analyzer, first, first + analyzer.exact(extent) - 1)

    def leaves(self, analyzer: Analyzer, outer: IndexRange) -> tuple[bool, bool]:
        """Whether the range may extend below `outer`, and whether it may extend above `outer`."""
        below = not analyzer.is_provably("ge", self.low, outer.low)
        return below, not analyzer.is_provably("le", self.high, outer.high)

    def intersect(self, analyzer: Analyzer, outer: IndexRange) -> IndexRange:
        """The intersection with `outer`."""
        below, above = self.leaves(analyzer, outer)
        low = analyzer.maximum(self.low, outer.low) if below else self.low
        high = analyzer.minimum(self.high, outer.high) if above else self.high
        return IndexRange.between(analyzer, low, high)

    def clip_to(self, analyzer: Analyzer, outer: IndexRange) -> IndexRange:
        """The intersection with `outer` if both ends of it are numbers; else the range itself."""
        if self.low.terms or self.extent.terms:
            return self
        low, high = analyzer.maximum(self.low, outer.low), analyzer.minimum(self.high, outer.high)
        if low.terms or high.terms or high.const < low.const:
            return self
        return IndexRange.between(analyzer, low, high)


@dataclass(frozen=True)
class AccessBox:
    """The elements of an access per execution: (low, extent) per dimension, over loops around it.

    conditions: sums that are at least 0 whenever the access runs.  is_exact: False if it does not always run where
    these hold.
    """

    sides: tuple[tuple[Lin, Lin], ...]
    conditions: tuple[Lin, ...] = ()
    is_exact: bool = True

    def substitute_values(self, analyzer: Analyzer, values: Mapping[SSAValue, Lin]) -> AccessBox:
        """The box with values replaced by sums."""
        sides = tuple((analyzer.substitute(a, values), analyzer.substitute(b, values)) for a, b in self.sides)
        return AccessBox(sides, tuple(analyzer.substitute(c, values) for c in self.conditions), self.is_exact)


def written_box(analyzer: Analyzer, access: AccessOp) -> AccessBox:
    """The box of a `tir.access` over the axes of its block."""
    return AccessBox(tuple((analyzer.exact(low), analyzer.exact(extent)) for low, extent in access.region))


def bindings(analyzer: Analyzer, block: BlockOp) -> dict[SSAValue, Lin]:
    """The binding of each axis of a block, in every instance that runs."""
    return {v: _binding(analyzer, axis) for v, axis in zip(block.variables, block.axes, strict=True)}


def _binding(analyzer: Analyzer, axis: Axis) -> Lin:
    """The binding of an axis as a sum. A sum that may wrap to negative numbers does not wrap where the block runs if
    the axis has none."""
    lin = analyzer.lin(axis.binding)
    least, most = type_range(axis.binding.type)
    low, high = analyzer.bounds(lin)
    if least <= low and high <= 2 * most + 1 and analyzer.is_provably("ge", analyzer.exact(axis.low), 0):
        return lin
    return analyzer.exact(axis.binding)


def access_box(analyzer: Analyzer, access: AccessOp, outside: Operation | None = None) -> AccessBox:
    """The box of a `tir.access` over values from outside of its block, and of each enclosing block inside `outside`:
    their axes are replaced by their bindings.

    Its conditions are the predicates of these blocks, and the branches and loops around them inside `outside`. The
    block counts as accessing the whole box whenever it runs.
    """
    box = written_box(analyzer, access)
    block, parent = access.parent, access.parent_op()
    while parent is not None and parent is not outside:
        if isinstance(parent, BlockOp):
            box = _with_condition(
                analyzer, box.substitute_values(analyzer, bindings(analyzer, parent)), parent.predicate
            )
            if outside is None:
                break
        box = _restrict_to_branch(analyzer, box, parent, block)
        block, parent = parent.parent, parent.parent_op()
    return box


def touched_box(analyzer: Analyzer, user: LoadOp | StoreOp, outer: Operation) -> AccessBox | None:
    """The elements of a load or store, under its predicate and the branches inside `outer`; None where an index is no
    sum."""
    lanes = Lanes.of(analyzer, user)
    sides = [_touched_side(analyzer, index, lanes, user.predicate) for index in user.indices]
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    box = _with_condition(analyzer, AccessBox(tuple(known)), user.predicate, lanes)
    return restrict_to_branches(analyzer, box, user, outer)


def _touched_side(
    analyzer: Analyzer, index: SSAValue, lanes: Lanes | None, predicate: SSAValue | None
) -> tuple[Lin, Lin] | None:
    """The (low, extent) of an index of a load or store: an interval for all lanes of a ramp, else an element of each
    lane, which is a moving value."""
    if lanes is None or not isinstance(index.type, VectorType):
        return analyzer.exact(index), Lin(1)
    ramp = index.owner
    stride = constant_value(ramp.stride) if isinstance(ramp, RampOp) else None
    if isinstance(ramp, RampOp) and isinstance(stride, int) and stride >= 0 and predicate is None:
        return analyzer.exact(ramp.base), Lin(stride * (lanes.count - 1) + 1)
    lin = lanes.sum(index)
    return None if lin is None else (lin, Lin(1))


def restrict_to_branches(analyzer: Analyzer, box: AccessBox, op: Operation, outer: Operation) -> AccessBox:
    """The box restricted by the conditions of the branches and loops around `op` inside `outer`."""
    block, parent = op.parent, op.parent_op()
    while parent is not None and parent is not outer:
        box = _restrict_to_branch(analyzer, box, parent, block)
        block, parent = parent.parent, parent.parent_op()
    return box


def _restrict_to_branch(analyzer: Analyzer, box: AccessBox, parent: Operation, block: Block | None) -> AccessBox:
    """The box restricted to `block` of the op `parent`, if a condition of `parent` decides whether `block` runs. The
    variable of a loop may be absent from the box, as it has a single value: so the loop is a condition by itself."""
    if isinstance(parent, ForOp):
        bound = parent.mixed_bounds[1]
        extent = analyzer.exact(bound)
        runs = bound > 0 if isinstance(bound, int) else analyzer.is_provably("gt", extent, 0)
        return box if runs else replace(box, conditions=(*box.conditions, extent - 1))
    if isinstance(parent, IfOp) and block is parent.then.block:
        return _with_condition(analyzer, box, parent.condition)
    return replace(box, is_exact=False) if isinstance(parent, IfOp | WhileOp) else box


def _with_condition(
    analyzer: Analyzer, box: AccessBox, condition: SSAValue | None, lanes: Lanes | None = None
) -> AccessBox:
    conditions, is_exact = predicate_constraints(analyzer, condition, lanes)
    return AccessBox(box.sides, (*box.conditions, *conditions), box.is_exact and is_exact)


def defined_outside(op: Operation) -> IsFixed:
    """A predicate for values defined outside of `op`."""

    def is_fixed(value: SSAValue) -> bool:
        return not op.is_ancestor(value.owner)

    return is_fixed


def fixed_inside(loop: ForOp | LaunchThreadOp, relaxed: Collection[SSAValue] = ()) -> IsFixed:
    """A predicate for values constant during one iteration of `loop`, its variable included.

    relaxed: variables of loops around it that count as moving all the same (threads that share a buffer).
    """
    outside = defined_outside(loop)

    def is_fixed(value: SSAValue) -> bool:
        return (value is loop.variable or outside(value)) and value not in relaxed

    return is_fixed


def shape_sides(analyzer: Analyzer, shape: Sequence[Mixed]) -> list[IndexRange]:
    """The box of a whole buffer."""
    return [IndexRange.of(analyzer, 0, extent) for extent in shape]
