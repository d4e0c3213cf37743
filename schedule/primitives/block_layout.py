"""The primitive `transform_block_layout`: blocks with other axes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import iteration_domain, why_not_bijective
from ...analysis.names import block_name, loop_name
from ...analysis.scopes import binding_sums, loops_around, only_child
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap, TransformBlockLayoutOp
from ...dialects.tir import Axis, BlockOp, ForOp, FuncOp, TirBuilder
from ...dialects.tir.operands import set_operands
from ...dialects.tir.tree import erase_if_dead, erase_statement, with_expressions
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copies import require_block, type_of_sums
from ..rewriting.index_maps import IndexMap, bound_index_map, require_sizes_of
from ..rewriting.layout_inverse import LayoutDigit, invert_layout, layout_digits
from ..rewriting.layout_padding import emit_negated_conjunction, padding_conditions
from ..rewriting.nest import (
    builder_before,
    export_mixed,
    function_of,
    make_loop,
    move_before,
    move_to_end,
    renew_accesses,
    replace_variable,
    set_axes,
    set_predicate,
    simplify_indices,
)
from ..state import State, applies
from .layout import Layout, new_layout


class BlockLayoutPrimitives(Recorder):
    """Primitives that replace the axes of a block."""

    def transform_block_layout(self, block: BlockLike, index_map: IndexMap) -> None:
        """Replace the axes of a block by `index_map` of them, and its loops by one loop for each new axis.

            for i, j in T.grid(8, 6):               for ax0 in range(48):
                with T.block("B"):                      with T.block("B"):
                    vi, vj = ...             ->             v0 = T.axis.spatial(48, ax0)
                    B[vi, vj] = A[vi, vj]                   B[v0 // 6, v0 % 6] = A[v0 // 6, v0 % 6]

        block: the only statement in its loops, which run it once for each combination of values of its axes.
        index_map: a function of one index per axis that returns a tuple of indices, as in `transform_layout`; it must
        be injective, and compute each new axis from axes of one kind. If it is not surjective, the block gets a
        predicate. The new loops are serial: threads, kinds and annotations of the old loops are dropped.
        Legal if every instance still reads the same values; the contributions to a reduction may come in any order.
        ScheduleError if not.
        """
        handle = self._block(block)
        rank = len(require_block(self._block_op(handle)).axes)
        self.record(TransformBlockLayoutOp, block=handle, index_map=bound_index_map(index_map, rank))


@applies(TransformBlockLayoutOp)
def transform_block_layout(state: State, block: BlockOp | FuncOp, index_map: BoundMap) -> None:
    block = require_block(block)
    loops = _loops(block)
    analyzer = Analyzer(through_lets=False)
    _check_instances(analyzer, block, loops)
    shape = [analyzer.exact(axis.extent) for axis in block.axes]
    lows = [analyzer.exact(axis.low) for axis in block.axes]
    types: list[Attribute] = [variable.type for variable in block.variables]
    require_sizes_of(function_of(block), index_map)
    layout = new_layout(analyzer, index_map, shape, types)
    kinds = _kinds(block, layout)
    if layout.why_padded is not None:
        _check_init(block, layout, kinds)
    with state.changing([loops[0] if loops else block]):
        digits = _replace_loops(block, loops, layout, lows, layout_digits(Analyzer(through_lets=False), layout))
    # The check identifies instances by their axes, whose bindings must be affine: so the loops over the digits of the
    # new indices are fused, and the axes are replaced, after it, which changes no order.
    with state.changing(check=False):
        new = _replace_loops(block, digits, layout, lows, [[LayoutDigit(extent, Lin(1))] for extent in layout.new])
        _replace_axes(block, layout, lows, new, kinds)
        simplify_indices(block)
        renew_accesses([block])


def _loops(block: BlockOp) -> list[ForOp]:
    """The loops around a block, outermost first. ScheduleError if one of them contains another statement."""
    loops = loops_around(block)
    inner: Operation = block
    for loop in reversed(loops):
        if only_child(loop) is not inner:
            raise ScheduleError(
                f"block {block_name(block)} is not alone in loop {loop_name(loop)}, which would be replaced",
                {loop: "", block: ""},
            )
        inner = loop
    return loops


def _check_instances(analyzer: Analyzer, block: BlockOp, loops: Sequence[ForOp]) -> None:
    """Raise ScheduleError unless the loops run the block exactly once for each combination of axis values."""
    domain = iteration_domain(analyzer, loops, block.predicate)
    box = [(analyzer.exact(axis.low), analyzer.exact(axis.extent)) for axis in block.axes]
    names = [f"axis {axis.name}" for axis in block.axes]
    reason = why_not_bijective(analyzer, domain, binding_sums(analyzer, block), box, names)
    if reason is not None:
        raise ScheduleError(
            f"the loops around block {block_name(block)} do not run it once for each combination of values of its "
            f"axes: {reason}",
            [block],
        )


def _kinds(block: BlockOp, layout: Layout) -> list[str]:
    """The kind of each new axis: the kind of the old axes that it is computed from. ScheduleError if these differ."""
    known: dict[SSAValue, str] = {index: axis.kind for index, axis in zip(layout.indices, block.axes, strict=True)}
    new_kinds: list[str] = []
    for n, total in enumerate(layout.sums):
        kinds = list(dict.fromkeys(known[leaf] for leaf in total.leaves() if leaf in known))
        if len(kinds) > 1:
            raise ScheduleError(
                f"new axis {n} of block {block_name(block)} would be made of {' and '.join(kinds)} axes, expected axes "
                "of one kind",
                [block],
            )
        new_kinds.append(kinds[0] if kinds else "spatial")
    return new_kinds


def _check_init(block: BlockOp, layout: Layout, kinds: Sequence[str]) -> None:
    """Raise ScheduleError if the padding may skip the first step of a reduction, so that the init would not run."""
    if block.init is None or "reduce" not in kinds:
        return
    analyzer = Analyzer(through_lets=False)
    first: dict[SSAValue, Lin] = {
        index: Lin() if axis.kind == "reduce" else Lin.of(index)
        for index, axis in zip(layout.indices, block.axes, strict=True)
    }
    for total, kind in zip(layout.sums, kinds, strict=True):
        if kind == "reduce" and analyzer.substitute(total, first) != Lin():
            raise ScheduleError(
                f"the first step of the reduction of block {block_name(block)} would not be the first of the new axes, "
                "so its init would not run",
                [block],
            )


def _replace_loops(
    block: BlockOp,
    loops: Sequence[ForOp],
    layout: Layout,
    lows: Sequence[Lin],
    digits: Sequence[Sequence[LayoutDigit]],
) -> list[ForOp]:
    """Replace the old loops by loops over the digits of each new index, and bind the axes to sums of their
    variables."""
    outermost = loops[0] if loops else block
    type = block.variables[0].type if block.variables else i32
    scratch = Block()
    extents = [digit.extent for index in digits for digit in index]
    analyzer = Analyzer(through_lets=False)
    type = type_of_sums(analyzer, [extent for index in digits for extent in _limits(analyzer, index)], type)
    new = _make_loops(analyzer, TirBuilder(scratch, block.location), extents, type)
    first = with_expressions(outermost)[0]
    parent = first.parent
    assert parent is not None
    for op in list(scratch.ops):
        op.detach()
        parent.insert_op_before(op, first)
    if new:
        move_to_end(block, new[-1].body.block)
    elif loops:
        move_before(block, outermost)
    variables = iter(new)
    values = [_value_of(index, [next(variables) for _ in index]) for index in digits]
    _bind(block, layout, lows, values, type)
    if loops:
        erase_statement(outermost)
    return new


def _limits(analyzer: Analyzer, digits: Sequence[LayoutDigit]) -> list[Lin]:
    """The extents of the digits of a new index, and the greatest values of the digits."""
    return [each for digit in digits for each in (digit.extent, analyzer.mul(digit.extent, digit.scale) + digit.base)]


def _value_of(digits: Sequence[LayoutDigit], loops: Sequence[ForOp]) -> Lin:
    """A new index as the sum of its digits."""
    analyzer, total = Analyzer(through_lets=False), Lin()
    for digit, loop in zip(digits, loops, strict=True):
        total = analyzer.add(total, analyzer.mul(Lin.of(loop.variable), digit.scale) + digit.base)
    return total


def _make_loops(analyzer: Analyzer, builder: TirBuilder, extents: Sequence[Lin], type: Attribute) -> list[ForOp]:
    """Build loops with some extents, each nested in the one before."""
    loops: list[ForOp] = []
    for n, extent in enumerate(extents):
        loops.append(builder.insert(make_loop(f"ax{n}", 0, export_mixed(analyzer, extent, builder, type), type)))
        builder.point = InsertPoint.at_end(loops[-1].body.block)
    return loops


def _bind(block: BlockOp, layout: Layout, lows: Sequence[Lin], values: Sequence[Lin], type: Attribute) -> None:
    """Bind the axes of a block to the inverse of the layout at some new indices; a predicate excludes the padding.

    type: the type of the loop variables.
    """
    analyzer = Analyzer(through_lets=False)
    gone = [*block.bindings, *([] if block.predicate is None else [block.predicate])]
    sums = invert_layout(analyzer, layout, values)
    bound = [
        export(analyzer, low + total, builder_before(block), variable.type)
        for low, total, variable in zip(lows, sums, block.variables, strict=True)
    ]
    padded = layout.why_padded is not None
    conditions = padding_conditions(analyzer, layout, values, by_digits=False) if padded else []
    builder = builder_before(block)
    set_operands(block, [bound, block.domains, []])
    set_predicate(block, [emit_negated_conjunction(analyzer, builder, group, type) for group in conditions])
    for value in gone:
        erase_if_dead(value)


def _replace_axes(
    block: BlockOp, layout: Layout, lows: Sequence[Lin], loops: Sequence[ForOp], kinds: Sequence[str]
) -> None:
    """Bind new axes to the loops, and replace the old axes by sums of the new ones."""
    body, old, old_axes = block.body.block, list(block.variables), block.axes
    gone = [*block.bindings, *block.domains]
    added = [body.insert_arg(loop.variable.type, n) for n, loop in enumerate(loops)]
    analyzer, builder = Analyzer(through_lets=False), builder_before(block)
    axes = [
        Axis(f"v{n}", kind, 0, export_mixed(analyzer, extent, builder, loop.variable.type), loop.variable)
        for n, (kind, extent, loop) in enumerate(zip(kinds, layout.new, loops, strict=True))
    ]
    set_axes(block, [*axes, *old_axes])
    analyzer = Analyzer(through_lets=False)
    sums = invert_layout(analyzer, layout, [Lin.of(variable) for variable in added])
    for variable, low, total in zip(old, lows, sums, strict=True):
        replace_variable(
            variable, lambda builder, old=variable, new=low + total: export(analyzer, new, builder, old.type)
        )
    for variable in old:
        body.erase_arg(variable)
    set_axes(block, axes)
    for value in gone:
        erase_if_dead(value)
