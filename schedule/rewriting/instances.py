"""The instances of a block that run, in terms of its axes instead of the loops around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...analysis import isl
from ...analysis.index import Analyzer, Lin, export
from ...analysis.isl_budget import REGIONS, isl_operation_limit
from ...analysis.iter_map import predicate_constraints
from ...analysis.names import block_name
from ...analysis.regions import IndexRange, bindings, defined_outside
from ...analysis.regions.exact import IslNames, NotAffineSum
from ...analysis.scopes import depends_on, loops_around
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp, ForOp, TirBuilder, comparison_name
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import conjuncts

Values: TypeAlias = Mapping[SSAValue, Lin]
"""The values of the axes of a block at a builder's point."""


@dataclass(frozen=True)
class AxisCondition:
    """`sum <op> 0` for a sum of axes and of values that are defined outside of the loops around the block."""

    op: str
    sum: Lin

    def write(self, analyzer: Analyzer, builder: TirBuilder, values: Values) -> SSAValue:
        """Emit the condition at the builder's point; returns its value."""
        leaves = self.sum.leaves()
        axes = [leaf.type for leaf in leaves if leaf in values] or [leaf.type for leaf in leaves]
        type = max(axes, key=lambda t: dtype_of(t).bits, default=i32)
        total = analyzer.substitute(self.sum, values)
        left, right = Lin(max(total.const, 0)), Lin(max(-total.const, 0))
        for atom, k in total.terms.items():
            left, right = (left + Lin.of(atom, k), right) if k > 0 else (left, right - Lin.of(atom, k))
        sides, op = (left, right), self.op
        if op in _MIRRORED:
            sides, op = (right, left), _MIRRORED[op]
        a, b = (export(analyzer, side, builder, type) for side in sides)
        return builder.binary(op, a, b)


@dataclass(frozen=True)
class CopiedCondition:
    """A copy of an old condition, with sums of axes instead of loop variables."""

    value: SSAValue
    variables: Values = field(default_factory=dict[SSAValue, Lin])

    def write(self, analyzer: Analyzer, builder: TirBuilder, values: Values) -> SSAValue:
        """Emit the condition at the builder's point; returns its value."""
        known = {
            variable: export(analyzer, analyzer.substitute(lin, values), builder, variable.type)
            for variable, lin in self.variables.items()
            if depends_on([self.value], variable)
        }
        return copy_expression(self.value, builder, known)


Condition: TypeAlias = AxisCondition | CopiedCondition


def conditions_on_axes(analyzer: Analyzer, block: BlockOp, left: Operation) -> list[Condition]:
    """The conditions of the predicate of a block, except the axis domains, in terms of the axes.

    left: the block, or the outermost of the loops around it that the block is to leave; the instances are those of all
    iterations of these loops. ScheduleError if the conditions are not expressible as comparisons of sums of axes.
    """
    if block.predicate is None:
        return []
    instances = Instances(analyzer, block, left)
    conditions = {c: instances.condition(c) for c in conjuncts(block.predicate)}
    known = [on_axes for on_axes in conditions.values() if on_axes is not None]
    unknown = [c for c, on_axes in conditions.items() if on_axes is None]
    rest = instances.conditions(unknown, known) if unknown else []
    if rest is None:
        raise ScheduleError(
            f"not supported yet: the predicate of block {block_name(block)} says something of the loops around it "
            "that cannot be said of its axes",
            [block],
        )
    return [*known, *rest]


def runs_same_instances(analyzer: Analyzer, block: BlockOp, sides: Sequence[IndexRange], outer: ForOp) -> bool:
    """Whether the instances of a block in each iteration of `outer` are exactly those with axes in `sides`, sums of
    values that are known in the loops inside of `outer`. False if unknown."""
    instances = Instances(analyzer, block, outer, keeps_variable=True)
    names = instances.names
    try:
        before = instances.image(list(conjuncts(block.predicate)) if block.predicate is not None else [])
        points = [names.name(variable) for variable in block.variables]
        inside = [
            f"{names.text(side.low)} <= {point} < {names.text(side.low + side.extent)}"
            for point, side in zip(points, sides, strict=True)
        ]
        with isl_operation_limit(REGIONS):
            return names.set(points, inside).is_equal(before)
    except (NotAffineSum, isl.Error):
        return False


class Instances:
    """The instances of a block that run in the iterations of some loops.

    left: the block, or the outermost of these loops.  keeps_variable: the variable of `left` is constant.
    """

    def __init__(self, analyzer: Analyzer, block: BlockOp, left: Operation, *, keeps_variable: bool = False):
        outside = defined_outside(left)
        kept = left.variable if keeps_variable and isinstance(left, ForOp) else None
        self.analyzer, self.block = analyzer, block
        self.is_known: Callable[[SSAValue], bool] = lambda value: value is kept or outside(value)
        self.loops = [loop for loop in loops_around(block) if left.is_ancestor(loop) and loop.variable is not kept]
        self.bindings = list(bindings(analyzer, block).values())
        self.names = IslNames(analyzer, self.is_known)
        self._variables = dict(self._loop_variables())

    def _loop_variables(self) -> Iterator[tuple[SSAValue, Lin]]:
        """The loop variables that equal an axis up to sign and a known offset, as sums of axes."""
        variables = {loop.variable for loop in self.loops}
        for axis, binding in zip(self.block.variables, self.bindings, strict=True):
            for atom, k in binding.terms.items():
                offset = binding - Lin.of(atom, k)
                if isinstance(atom, SSAValue) and atom in variables and abs(k) == 1 and self._is_known(offset):
                    yield atom, (Lin.of(axis) - offset) * k

    def _is_known(self, lin: Lin, *others: SSAValue) -> bool:
        return all(self.is_known(leaf) or leaf in others for leaf in lin.leaves())

    def condition(self, condition: SSAValue) -> Condition | None:
        """A condition on the loops, in terms of the axes; None if this form is unknown for the condition alone."""
        if not any(depends_on([condition], loop.variable) for loop in self.loops):
            return CopiedCondition(condition)
        op = condition.owner
        if isinstance(op, arith.CmpiOp) and dtype_of(op.lhs.type).kind == "int" and (name := comparison_name(op)):
            difference = self.analyzer.exact(op.lhs) - self.analyzer.exact(op.rhs)
            on_axes = self._of_axes(difference)
            if on_axes is not None:
                return AxisCondition(name, on_axes)
        if all(loop.variable in self._variables or not depends_on([condition], loop.variable) for loop in self.loops):
            return CopiedCondition(condition, self._variables)
        return None

    def _of_axes(self, lin: Lin) -> Lin | None:
        """A sum of loop variables as a sum of axes; None if unknown."""
        axes = self.block.variables
        whole = self.analyzer.substitute(lin, self._variables)
        if self._is_known(whole, *axes):
            return whole
        for axis, binding in zip(axes, self.bindings, strict=True):
            for factor in (1, -1):
                rest = lin - binding * factor
                if binding.terms and self._is_known(rest):
                    return rest + Lin.of(axis, factor)
        return None

    def image(self, conditions: Sequence[SSAValue]) -> isl.Set:
        """The set of the instances, by axis values, that run where all conditions hold. NotAffineSum, or isl.Error, if
        the set cannot be computed."""
        points = [self.names.name(variable) for variable in self.block.variables]
        texts = [f"{p} = {self.names.text(lin)}" for p, lin in zip(points, self.bindings, strict=True)]
        for condition in conditions:
            constraints, is_exact = predicate_constraints(self.analyzer, condition)
            if not is_exact:
                raise NotAffineSum("a condition")
            texts += [f"{self.names.text(constraint)} >= 0" for constraint in constraints]
        with isl_operation_limit(REGIONS):
            return self.names.set(points, texts)

    def conditions(self, unknown: Sequence[SSAValue], known: Sequence[Condition]) -> list[AxisCondition] | None:
        """The comparisons of axes that are equivalent to all conditions together where the `known` ones hold; None if
        the conditions are not a conjunction of comparisons."""
        try:
            points = [self.names.name(variable) for variable in self.block.variables]
            image = self.image(unknown)
            texts = [
                f"{self.names.text(c.sum)} {_SYMBOLS[c.op]} 0" for c in known if isinstance(c, AxisCondition)
            ]  # conditions that are not affine add no context
        except NotAffineSum:
            return None
        try:
            with isl_operation_limit(REGIONS):
                context = self.names.set(points, [*(f"{p} = {p}" for p in points), *texts])
                rest = image.gist(context).coalesce()
                return None if rest.is_empty() else list(self._comparisons(rest))
        except (NotAffineSum, isl.Error):
            return None

    def _comparisons(self, instances: isl.Set) -> Iterator[AxisCondition]:
        parts = instances.get_basic_sets()
        if len(parts) != 1 or parts[0].dim(isl.dim_type.div):
            raise NotAffineSum("what runs")
        atoms = {name: atom for atom, name in self.names.of.items()}
        for constraint in parts[0].get_constraints():
            total = Lin(constraint.get_constant_val().to_python())
            for kind in (isl.dim_type.param, isl.dim_type.set):
                for n in range(constraint.dim(kind)):
                    k = constraint.get_coefficient_val(kind, n).to_python()
                    total = total + Lin.of(atoms[str(constraint.get_dim_name(kind, n))], k) if k else total
            yield AxisCondition("eq" if constraint.is_equality() else "ge", total)


_SYMBOLS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED = {"gt": "lt", "ge": "le"}
