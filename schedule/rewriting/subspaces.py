"""Blocks divided into an outer block and inner blocks: outer loops move one part of each axis, inner loops the other.

`divide_block` determines the division, or reports why there is none; `OuterBlock` builds the blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import Division, detect, divide_bindings, invert, iteration_domain, lin_text
from ...analysis.names import block_name, loop_name
from ...analysis.regions.access_regions import infer_accesses
from ...analysis.scopes import binding_sums, depends_on, loops_around, statements
from ...core.errors import PassError, ScheduleError
from ...dialects.text.names import source_name
from ...dialects.tir import Axis, BlockOp, ForOp, InitOp, TirBuilder
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import conjuncts, erase_if_dead
from .init_nests import InitNest, is_reduction_axis
from .nest import (
    builder_before,
    builder_before_expressions,
    export_mixed,
    move_to_end,
    set_predicate,
    simplify_blocks,
)
from .rebuild import rebind_axes


@dataclass(frozen=True)
class InnerBlock:
    """An inner block, with the division of each of its axes into an outer and an inner part.

    root: the statement around the block, or the block, that moves into the outer block as a whole.  inner_loops: the
    loops around the block in `root`.
    """

    block: BlockOp
    root: Operation
    outer_loops: Sequence[ForOp]
    inner_loops: Sequence[ForOp]
    divisions: Sequence[Division]


def divide_block(block: BlockOp, roots: Sequence[Operation]) -> InnerBlock:
    """The division of the axes of a block in or below one of `roots`. ScheduleError if an axis cannot be divided."""
    root = next(root for root in roots if root is block or root.is_ancestor(block))
    loops = loops_around(block)
    inner = [loop for loop in loops if loop is root or root.is_ancestor(loop)]
    analyzer = Analyzer()
    sums = binding_sums(analyzer, block)
    names = [f"axis {axis.name}" for axis in block.axes]
    _check_leaves(block, sums, loops)
    divisions = _divide(analyzer, block, loops, inner, sums, names)
    if isinstance(divisions, str):
        around = "the blocks" if len(roots) > 1 or not isinstance(root, ForOp) else f"loop {loop_name(root)}"
        raise ScheduleError(
            f"the axes of block {block_name(block)} are no parts of loops outside and loops inside of {around}: "
            f"{divisions}",
            {root: "", block: ""},
        )
    part = InnerBlock(block, root, [loop for loop in loops if loop not in inner], inner, divisions)
    _check_init(analyzer, part)
    return part


def _divide(
    analyzer: Analyzer,
    block: BlockOp,
    loops: Sequence[ForOp],
    inner: Sequence[ForOp],
    sums: Sequence[Lin],
    names: Sequence[str],
) -> list[Division] | str:
    """The divisions of the axes, under the predicate or else without it; or the reason why there are none."""
    variables = [loop.variable for loop in inner]
    result = _divide_axes(analyzer, block, loops, variables, sums, names)
    if not isinstance(result, str):
        return result
    divided = [n for n, binding in enumerate(block.bindings) if any(depends_on([binding], each) for each in variables)]
    rest = _divide_axes(analyzer, block, loops, variables, [sums[n] for n in divided], [names[n] for n in divided])
    if len(divided) == len(sums) or isinstance(rest, str):
        return result
    parts = dict(zip(divided, rest, strict=True))
    return [parts[n] if n in parts else _outer_division(analyzer, axis, sums[n]) for n, axis in enumerate(block.axes)]


def _divide_axes(
    analyzer: Analyzer,
    block: BlockOp,
    loops: Sequence[ForOp],
    variables: Sequence[SSAValue],
    sums: Sequence[Lin],
    names: Sequence[str],
) -> list[Division] | str:
    result: list[Division] | str = "it has no axes"
    for predicate in dict.fromkeys((block.predicate, None)):
        mapping = detect(analyzer, iteration_domain(analyzer, loops, predicate), sums, names)
        result = mapping if isinstance(mapping, str) else divide_bindings(analyzer, mapping, variables, names)
        if not isinstance(result, str):
            break
    return result


def _outer_division(analyzer: Analyzer, axis: Axis, binding: Lin) -> Division:
    """The division of an axis that the inner loops do not move: its outer part is the axis itself."""
    low = analyzer.exact(axis.low)
    return Division(binding - low, Lin(0), analyzer.exact(axis.extent), Lin(1), Lin(1), low)


def _check_leaves(block: BlockOp, sums: Sequence[Lin], loops: Sequence[ForOp]) -> None:
    """Raise ScheduleError if an axis is bound to a value computed in the loops that is no sum of their variables."""
    if not loops:
        return
    variables = {loop.variable for loop in loops}
    for axis, lin in zip(block.axes, sums, strict=True):
        for leaf in lin.leaves():
            owner = leaf.owner
            inside = loops[0].is_ancestor(owner)
            if inside and leaf not in variables:
                raise ScheduleError(
                    f"axis {axis.name} of block {block_name(block)} is bound to {lin_text(lin)}, which is no sum of "
                    "quotients and remainders of loops",
                    [block],
                )


def _check_init(analyzer: Analyzer, part: InnerBlock) -> None:
    """Raise ScheduleError if the init would not run where both parts of a reduction axis are 0."""
    if part.block.init is None:
        return
    for axis, division in zip(part.block.axes, part.divisions, strict=True):
        if is_reduction_axis(axis) and not analyzer.is_provably("eq", division.base, analyzer.exact(axis.low)):
            raise ScheduleError(
                f"reduce axis {axis.name} of block {block_name(part.block)} starts at {lin_text(division.base)}, "
                f"not at {lin_text(analyzer.exact(axis.low))} where the init runs",
                [part.block],
            )


@dataclass(frozen=True)
class _OuterAxis:
    name: str
    kind: str
    binding: Lin
    extent: Lin
    type: Attribute


class OuterBlock:
    """The outer block around some inner blocks.

    parts: the inner blocks, in program order.  roots: the adjacent statements that move into the outer block, likewise.
    """

    def __init__(self, parts: Sequence[InnerBlock], roots: Sequence[Operation]):
        self.parts = parts
        self.roots = roots
        self.analyzer = Analyzer()
        self.axes: list[_OuterAxis] = []
        self.places = [self._place(part) for part in parts]
        self._check_inits()

    # Axes

    def _place(self, part: InnerBlock) -> list[int]:
        """The position of the outer part of each axis of a block among the outer axes: an equal one, or a new one."""
        positions: list[int] = []
        for axis, division in zip(part.block.axes, part.divisions, strict=True):
            wanted = _OuterAxis(
                f"{axis.name}_o",
                axis.kind,
                division.outer,
                division.outer_extent,
                axis.binding.type,
            )
            same = (n for n, known in enumerate(self.axes) if n not in positions and _is_same(known, wanted))
            position = next(same, len(self.axes))
            if position == len(self.axes):
                self.axes.append(wanted)
            positions.append(position)
        return positions

    def _check_inits(self) -> None:
        """Raise ScheduleError if blocks with an init are reduced along different outer axes: they share one init."""
        reduced = {n for n, axis in enumerate(self.axes) if axis.kind == "reduce" and axis.extent.constant != 1}
        for part, places in zip(self.parts, self.places, strict=True):
            if part.block.init is not None and not reduced <= set(places):
                other = self.axes[min(reduced - set(places))].name
                raise ScheduleError(
                    f"not supported yet: the init of block {block_name(part.block)} in a block with axis {other}, "
                    "along which it is not reduced",
                    [part.block],
                )

    def emit_init_conditions(self, builder: TirBuilder) -> list[SSAValue]:
        """Emit the conditions under which the init of the block runs, before the block."""
        return [
            builder.binary("eq", export(self.analyzer, axis.binding, builder, axis.type), 0)
            for axis in self.axes
            if axis.kind == "reduce" and axis.extent.constant != 1
        ]

    @property
    def is_symbolic(self) -> bool:
        """Whether the extents of parts of axes are computed from values of the program."""
        return any(
            division.outer_extent.terms or division.inner_extent.terms
            for part in self.parts
            for division in part.divisions
        )

    # Construction

    def build(self, name: str, inits: Mapping[BlockOp, InitNest]) -> BlockOp:
        """Build the block, named `name`. inits: the blocks of the inits of the inner blocks, before the roots."""
        builder = builder_before_expressions(self.roots[-1])
        axes = [
            Axis(
                axis.name,
                axis.kind,
                0,
                export_mixed(self.analyzer, axis.extent, builder, axis.type),
                export(self.analyzer, axis.binding, builder, axis.type),
            )
            for axis in self.axes
        ]
        joint, shared = self._predicate(builder)
        block = builder.insert(BlockOp(name, axes, predicate=joint))
        with self.analyzer.assuming(joint):
            for part in self.parts:
                self._drop_known(part.block, shared)
        body = block.body.block
        if inits:
            init = TirBuilder(body, block.location).insert(InitOp())
            for taken in inits.values():
                self._restrict_init(block, taken)
                move_to_end(taken.outermost, init.body.block)
        for root in self.roots:
            move_to_end(root, body)
        for part, places in zip(self.parts, self.places, strict=True):
            kept = [n for n, axis in enumerate(part.block.axes) if not is_reduction_axis(axis)]
            self._rebind(block, part, places)
            if part.block in inits:
                self._rebind_init(block, kept, part, places, inits[part.block])
        self._replace_outer_loops(block)
        simplify_blocks([block])
        if block.init is not None:
            simplify_blocks(statements(block.init.body.block))
        simplify_blocks(op for op in statements(body) if not isinstance(op, InitOp))
        try:
            infer_accesses(block)
        except PassError as error:
            raise ScheduleError(str(error), list(self.roots)) from error
        return block

    def _predicate(self, builder: TirBuilder) -> tuple[SSAValue | None, list[SSAValue]]:
        """The conjunction of the conditions on outer loops that all blocks share, and these conditions one by one."""
        first, *others = self.parts
        shared = [c for c in self._outer_conditions(first) if all(self._holds_in(part, c) for part in others)]
        joint: SSAValue | None = None
        for condition in shared:
            copy = copy_expression(condition, builder, {}, first.root)
            joint = copy if joint is None else builder.binary("and", joint, copy)
        if others:
            with self.analyzer.assuming(joint):
                self._require_domains()
        return joint, shared

    def _outer_conditions(self, part: InnerBlock) -> list[SSAValue]:
        """The conjuncts of the predicate of a block that do not depend on the inner loops."""
        conditions = [] if part.block.predicate is None else conjuncts(part.block.predicate)
        return [c for c in conditions if not any(depends_on([c], loop.variable) for loop in part.inner_loops)]

    def _holds_in(self, part: InnerBlock, condition: SSAValue) -> bool:
        """Whether a condition holds wherever the block of a part runs."""
        with self.analyzer.assuming(part.block.predicate):
            return self.analyzer.decide(condition) is True

    def _require_domains(self) -> None:
        """Raise ScheduleError unless the axes of the new block are in their domains wherever it runs: the conditions of
        only some inner blocks do not restrict it."""
        if all(part.block.predicate is None for part in self.parts):
            return
        for axis in self.axes:
            if not (
                self.analyzer.is_provably("ge", axis.binding, 0)
                and self.analyzer.is_provably("lt", axis.binding, axis.extent)
            ):
                reason = (
                    f"the blocks run under different conditions, not all of which keep axis {axis.name} in its domain"
                )
                raise ScheduleError(reason, [part.block for part in self.parts])

    def _drop_known(self, block: BlockOp, known: Sequence[SSAValue]) -> None:
        """Drop the conjuncts of the predicate of an inner block that hold around it."""
        if (predicate := block.predicate) is not None:
            conditions = [c for c in conjuncts(predicate) if c not in known]
            set_predicate(block, [c for c in conditions if self.analyzer.decide(c) is not True])
            erase_if_dead(predicate)

    def _restrict_init(self, outer: BlockOp, taken: InitNest) -> None:
        """Drop the conjuncts of the predicate of an init that hold in the init of the new block: the condition of the
        first step, and the predicate of the new block."""
        predicate = taken.block.predicate
        if predicate is None:
            return
        with self.analyzer.assuming(outer.predicate):
            for axis in self.axes:
                if axis.kind == "reduce":
                    self.analyzer.assume_not_negative(-axis.binding)
            kept = [c for c in conjuncts(predicate) if self.analyzer.decide(c) is not True]
        set_predicate(taken.block, kept)
        erase_if_dead(predicate)

    def _rebind(self, outer: BlockOp, part: InnerBlock, places: Sequence[int]) -> None:
        names = [f"{axis.name}_i" for axis in part.block.axes]
        self._rebind_block(outer, part.block, part.divisions, places, names)

    def _rebind_init(
        self, outer: BlockOp, kept: Sequence[int], part: InnerBlock, places: Sequence[int], taken: InitNest
    ) -> None:
        """Rebind the block of an init, with the axes `kept` of its original block and with its own inner loops."""
        loops = {old: Lin.of(new) for old, new in taken.loops.items()}
        divisions = [
            replace(part.divisions[n], inner=self.analyzer.substitute(part.divisions[n].inner, loops)) for n in kept
        ]
        names = [f"{axis.name}_i_init" for axis in taken.block.axes]
        self._rebind_block(outer, taken.block, divisions, [places[n] for n in kept], names)

    def _rebind_block(
        self,
        outer: BlockOp,
        block: BlockOp,
        divisions: Sequence[Division],
        places: Sequence[int],
        names: Sequence[str],
    ) -> None:
        builder = builder_before(block)
        own: list[Axis] = []
        index: dict[int, int] = {}
        for n, (axis, division) in enumerate(zip(block.axes, divisions, strict=True)):
            if division.inner_extent.constant == 1:
                continue
            index[n] = len(own)
            type = axis.binding.type
            extent = export_mixed(self.analyzer, division.inner_extent, builder, type)
            own.append(Axis(names[n], axis.kind, 0, extent, export(self.analyzer, division.inner, builder, type)))

        def meaning(variables: Sequence[SSAValue]) -> list[Lin]:
            result: list[Lin] = []
            for n, (division, position) in enumerate(zip(divisions, places, strict=True)):
                total = division.base
                if self.axes[position].extent.constant != 1:
                    total = total + Lin.of(outer.variables[position]).times(division.factor)
                result.append(total + Lin.of(variables[index[n]]) if n in index else total)
            return result

        rebind_axes(block, own, meaning)

    def _replace_outer_loops(self, block: BlockOp) -> None:
        """Replace the variables of outer loops in the new block by its axes: in conditions and bounds of loops."""
        loops = loops_around(block)
        uses = [use for loop in loops for use in loop.variable.uses if block.is_ancestor(use.operation)]
        uses = [use for use in uses if use.operation is not block]
        if not uses:
            return
        analyzer = Analyzer()
        bindings = binding_sums(analyzer, block)
        leaves = {leaf for lin in bindings for leaf in lin.leaves()}
        domain = iteration_domain(analyzer, [loop for loop in loops if loop.variable in leaves], block.predicate)
        names = [f"axis {axis.name}" for axis in block.axes]
        mapping = detect(analyzer, domain, bindings, names)
        solution = (
            mapping if isinstance(mapping, str) else invert(analyzer, mapping, [Lin.of(v) for v in block.variables])
        )
        for use in uses:
            user = use.operation
            variable = user.operands[use.index]
            if isinstance(solution, str) or variable not in solution:
                why = solution if isinstance(solution, str) else "no axis tells its iterations apart"
                raise ScheduleError(
                    f"loop {source_name(variable)} is outside of the new block and used inside, and cannot be told "
                    f"from its axes: {why}",
                    list(self.roots),
                )
            builder = TirBuilder(InsertPoint.before(user), user.location)
            user.operands[use.index] = export(analyzer, solution[variable], builder, variable.type)


def _is_same(a: _OuterAxis, b: _OuterAxis) -> bool:
    return (a.kind, a.binding, a.extent, a.type) == (b.kind, b.binding, b.extent, b.type)
