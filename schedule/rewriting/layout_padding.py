"""The padding of a new layout: the elements of a buffer that correspond to no old ones, and their writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, DivAtom, Lin, export
from ...analysis.names import buffer_name, fresh_block_name, loop_name
from ...analysis.scopes import (
    ancestors,
    child_blocks,
    enclosing_scope,
    loops_around,
    only_child,
    precedes_in_text,
    statements,
)
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap
from ...dialects.text.names import source_name
from ...dialects.tir import AccessOp, Axis, BlockOp, ForOp, FuncOp, InitOp, LoadOp, StoreOp, TirBuilder
from ...dialects.tir.tree import captured_operands, erase_statement, is_expression_op, with_expressions
from .copies import sum_type, type_of_sums
from .gaps import gap_beside
from .index_maps import PadValue, apply_map
from .layout_inverse import invert_layout
from .nest import (
    builder_before,
    export_mixed,
    make_loop,
    move_body,
    replace_by_sum,
    set_axes,
    simplify_blocks,
    simplify_indices,
)

if TYPE_CHECKING:
    from ..primitives.layout import Layout


@dataclass(frozen=True)
class SequentialWriter:
    """A block that writes a buffer in the order of its elements: the axes `axes`, bound to `loops`, are the indices.

    The loops are directly nested, in this order.
    """

    block: BlockOp
    axes: Sequence[int]
    loops: Sequence[ForOp]


@dataclass(frozen=True)
class LayoutPadding:
    """The plan for the writes of padding: by all writers of the buffer (`sequential`), or else by a new block after the
    last writer; no writes if nothing writes the buffer.

    writers: blocks, and stores outside of blocks.
    """

    buffer: SSAValue
    writers: Sequence[Operation]
    sequential: Sequence[SequentialWriter]


def plan_padding(buffer: SSAValue, layout: Layout, pad_value: PadValue) -> LayoutPadding:
    """The plan for the writes of the padding of a buffer. ScheduleError if the element type cannot represent the value,
    or the padding elements cannot be determined."""
    dtype = dtype_of(cast("MemRefType[Attribute]", buffer.type).element_type)
    if not isinstance(pad_value, BoundMap) and not dtype.is_float and pad_value != int(pad_value):
        raise ScheduleError(f"pad_value {pad_value} is not of type {dtype}, which buffer {buffer_name(buffer)} has")
    invert_layout(Analyzer(through_lets=False), layout, [Lin.of(v) for v in Block(arg_types=_types(layout)).args])
    writers = list(dict.fromkeys(_writers(buffer)))
    candidates = [_sequential(op, buffer, layout) if isinstance(op, BlockOp) else None for op in writers]
    known = [writer for writer in candidates if writer is not None]
    return LayoutPadding(buffer, writers, known if len(known) == len(candidates) else [])


def _types(layout: Layout) -> list[Attribute]:
    types = [index.type for index in layout.indices]
    return [types[0] if types else sum_type(extent) for extent in layout.new]


def _writers(buffer: SSAValue) -> Iterator[Operation]:
    """The innermost blocks around the stores to a buffer, and the stores outside of blocks."""
    for use in buffer.uses:
        if isinstance(store := use.operation, StoreOp):
            yield next((op for op in ancestors(store) if isinstance(op, BlockOp)), store)


# Sequential writers


def _sequential(block: BlockOp, buffer: SSAValue, layout: Layout) -> SequentialWriter | None:
    """The description of a block that writes the buffer in the order of its elements; None for any other block."""
    stores = _only_stores(block, buffer)
    if not stores or block.predicate is not None or child_blocks(block):
        return None
    subscripts = {tuple(op.indices) for op in _element_ops(block, buffer)}
    if len(subscripts) != 1:
        return None
    (indices,) = subscripts
    variables: list[SSAValue] = list(block.variables)
    if len(set(indices)) != len(indices) or not all(index in variables for index in indices):
        return None
    axes = [variables.index(index) for index in indices]
    loops = _axis_loops(block, axes, layout)
    return None if loops is None else SequentialWriter(block, axes, loops)


def _only_stores(block: BlockOp, buffer: SSAValue) -> list[StoreOp]:
    """The stores of a block that contains only stores to the buffer; empty for any other block."""
    stores: list[StoreOp] = []
    for op in statements(block.body.block):
        for inner in statements(op.body.block) if isinstance(op, InitOp) else [op]:
            if not isinstance(inner, StoreOp) or inner.buffer is not buffer:
                return []
            stores.append(inner)
    return stores


def _element_ops(block: BlockOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    users = [use.operation for use in buffer.uses if block.is_ancestor(use.operation)]
    return [op for op in users if isinstance(op, LoadOp | StoreOp)]


def _axis_loops(block: BlockOp, axes: Sequence[int], layout: Layout) -> list[ForOp] | None:
    """The loops that the axes are bound to, if they are directly nested in the order of the axes, contain only the
    block and run over the whole buffer; else None."""
    analyzer = Analyzer(through_lets=False)
    around = loops_around(block)
    loops: list[ForOp] = []
    for n, extent in zip(axes, layout.old, strict=True):
        axis = block.axes[n]
        loop = next((loop for loop in around if loop.variable is axis.binding), None)
        if loop is None or axis.kind != "spatial" or len(list(loop.variable.uses)) != 1 or not _is_plain(loop):
            return None
        bounds = [(axis.low, axis.extent), tuple(loop.mixed_bounds[:2])]
        for low, length in bounds:
            if analyzer.exact(low) != Lin() or not analyzer.is_provably("eq", analyzer.exact(length), extent):
                return None
        loops.append(loop)
    first = around.index(loops[0]) if loops else 0
    if not loops or around[first : first + len(loops)] != loops:
        return None
    nest: Operation | None = loops[0]
    while isinstance(nest, ForOp):
        nest = only_child(nest)
    return loops if nest is block else None


def _is_plain(loop: ForOp) -> bool:
    return loop.kind.data == "serial" and loop.annotations is None and loop.thread is None and loop.mixed_bounds[2] == 1


# Conditions of padding


@dataclass(frozen=True)
class IndexComparison:
    """A comparison `lhs <name> rhs`; the name is `eq`, `ne`, `lt` or `le`."""

    name: str
    lhs: Lin
    rhs: Lin

    def opposite(self) -> IndexComparison:
        """The opposite condition."""
        match self.name:
            case "eq":
                return IndexComparison("ne", self.lhs, self.rhs)
            case "ne":
                return IndexComparison("eq", self.lhs, self.rhs)
            case "lt":
                return IndexComparison("le", self.rhs, self.lhs)
            case _:
                return IndexComparison("lt", self.rhs, self.lhs)

    def write(self, analyzer: Analyzer, builder: TirBuilder, type: Attribute) -> SSAValue:
        lhs, rhs = (export(analyzer, side, builder, type) for side in (self.lhs, self.rhs))
        return builder.binary(self.name, lhs, rhs)


def padding_conditions(
    analyzer: Analyzer, layout: Layout, values: Sequence[Lin], *, by_digits: bool = True
) -> list[list[IndexComparison]]:
    """The conditions of padding: an element at new indices is padding if all conditions of one of the lists hold.

    by_digits: compare the new indices one by one if an old index is composed of two of them, as TVM does.
    """
    old = invert_layout(analyzer, layout, values)
    groups: list[tuple[int, list[IndexComparison]]] = []
    for index, extent in zip(old, layout.old, strict=True):
        if not analyzer.is_provably("ge", index, 0):
            below = _below(analyzer, index) if by_digits else [IndexComparison("lt", index, Lin())]
            groups.append((_position(index, values), below))
        if not analyzer.is_provably("lt", index, extent):
            beyond = _beyond(analyzer, index, extent) if by_digits else [IndexComparison("le", extent, index)]
            groups.append((_position(index, values), beyond))
    with layout.inside(analyzer):
        mapped = apply_map(analyzer, layout.map, old)
    for value, again in zip(values, mapped, strict=True):
        if not analyzer.is_provably("eq", value, again):
            groups.append((len(values), [IndexComparison("ne", value, again)]))
    return [conditions for _, conditions in sorted(groups, key=lambda pair: pair[0])]


def _position(index: Lin, values: Sequence[Lin]) -> int:
    """The position of the first of the values that occurs in a sum."""
    leaves = set(index.leaves())
    return next((n for n, value in enumerate(values) if not leaves.isdisjoint(value.leaves())), len(values))


def _beyond(analyzer: Analyzer, index: Lin, extent: Lin) -> list[IndexComparison]:
    """The conditions of `index >= extent`, digit by digit if the index has two digits."""
    if isinstance(atom := index.atom, DivAtom) and (c := atom.divisor.constant) is not None and c > 0:
        return [IndexComparison("le", extent * c, atom.dividend)]
    if extent.constant is not None and (digits := _two_digits(analyzer, index)) is not None:
        high, low, c = digits
        last, rest = divmod(extent.constant - index.const, c)
        if analyzer.bounds(high)[1] == last and rest:
            is_last = rest == c - 1
            part = IndexComparison("eq", low, Lin(rest)) if is_last else IndexComparison("le", Lin(rest), low)
            return [IndexComparison("eq", high, Lin(last)), part]
    return [IndexComparison("le", extent, index)]


def _below(analyzer: Analyzer, index: Lin) -> list[IndexComparison]:
    """The conditions of `index < 0`, digit by digit if the index has two digits."""
    if (digits := _two_digits(analyzer, index)) is not None:
        high, low, c = digits
        if analyzer.bounds(high)[0] == 0 and 0 < -index.const < c:
            return [IndexComparison("eq", high, Lin()), IndexComparison("lt", low, Lin(-index.const))]
    return [IndexComparison("lt", index, Lin())]


def _two_digits(analyzer: Analyzer, index: Lin) -> tuple[Lin, Lin, int] | None:
    """The digits `high` and `low` and the base of an index `high * base + low + const`; None for any other index."""
    if len(index.terms) != 2:
        return None
    (high, base), (low, one) = sorted(index.terms.items(), key=lambda term: -term[1])
    if one != 1 or base <= 1 or analyzer.bounds(Lin.of(low)) != (0, base - 1):
        return None
    return Lin.of(high), Lin.of(low), base


def emit_disjunction(
    analyzer: Analyzer, builder: TirBuilder, conditions: Sequence[Sequence[IndexComparison]], type: Attribute
) -> SSAValue:
    """Emit the condition that all conditions of one of the lists hold."""
    total: SSAValue | None = None
    for group in conditions:
        joint: SSAValue | None = None
        for condition in group:
            value = condition.write(analyzer, builder, type)
            joint = value if joint is None else builder.binary("and", joint, value)
        assert joint is not None
        total = joint if total is None else builder.binary("or", total, joint)
    assert total is not None
    return total


def emit_negated_conjunction(
    analyzer: Analyzer, builder: TirBuilder, conditions: Sequence[IndexComparison], type: Attribute
) -> SSAValue:
    """Emit the negation of a conjunction of conditions."""
    total: SSAValue | None = None
    for condition in conditions:
        value = condition.opposite().write(analyzer, builder, type)
        total = value if total is None else builder.binary("or", total, value)
    assert total is not None
    return total


# Writes of padding


def loop_names(layout: Layout, names: Sequence[str]) -> list[str]:
    """The names of the loops over the new dimensions: the old name of an unchanged dimension, else `axis<n>`."""
    known = {Lin.of(index): name for index, name in zip(layout.indices, names, strict=True)}
    return [known.get(total, f"axis{n}") for n, total in enumerate(layout.sums)]


def rewrite_writers(padding: LayoutPadding, layout: Layout) -> None:
    """Replace the loops and axes of the sequential writers by those of the new layout; the indices of the buffer do
    not change."""
    for writer in padding.sequential:
        _rewrite_loops(writer, layout)


def _rewrite_loops(writer: SequentialWriter, layout: Layout) -> None:
    analyzer = Analyzer(through_lets=False)
    names = loop_names(layout, [loop_name(loop) for loop in writer.loops])
    type = type_of_sums(analyzer, layout.new, writer.loops[0].variable.type)
    scratch = Block()
    builder = TirBuilder(scratch, writer.loops[0].location)
    new: list[ForOp] = []
    for name, extent in zip(names, layout.new, strict=True):
        new.append(builder.insert(make_loop(name, 0, export_mixed(analyzer, extent, builder, type), type)))
        builder.point = InsertPoint.at_end(new[-1].body.block)
    outermost = writer.loops[0]
    parent = outermost.parent
    assert parent is not None
    for op in list(scratch.ops):
        op.detach()
        parent.insert_op_before(op, with_expressions(outermost)[0])
    _rewrite_axes(writer, layout, names, new)
    move_body(writer.loops[-1].body.block, new[-1].body.block)
    erase_statement(outermost)
    simplify_blocks([new[0]])
    simplify_indices(writer.block)


def _rewrite_axes(writer: SequentialWriter, layout: Layout, names: Sequence[str], loops: Sequence[ForOp]) -> None:
    block = writer.block
    body, first = block.body.block, min(writer.axes)
    axes, old = block.axes, [block.variables[n] for n in writer.axes]
    added = [body.insert_arg(loop.variable.type, first + n) for n, loop in enumerate(loops)]
    analyzer, writes = Analyzer(through_lets=False), builder_before(block)
    fresh = [
        Axis(f"v_{name}", "spatial", 0, export_mixed(analyzer, extent, writes, loop.variable.type), loop.variable)
        for name, extent, loop in zip(names, layout.new, loops, strict=True)
    ]
    set_axes(block, [*axes[:first], *fresh, *axes[first:]])
    analyzer = Analyzer(through_lets=False)
    values = [Lin.of(variable) for variable in added]
    for variable, total in zip(old, invert_layout(analyzer, layout, values), strict=True):
        replace_by_sum(analyzer, variable, total)
    for variable in old:
        body.erase_arg(variable)
    kept = [axis for n, axis in enumerate(axes) if n not in writer.axes]
    set_axes(block, [*kept[:first], *fresh, *kept[first:]])


def wrap_stores(padding: LayoutPadding, layout: Layout, buffer: SSAValue, pad_value: PadValue) -> None:
    """Let the rewritten writers store the value of the padding at padding elements."""
    for writer in padding.sequential:
        for op in _element_ops(writer.block, buffer):
            if isinstance(op, StoreOp):
                _wrap(op, layout, pad_value)


def _wrap(store: StoreOp, layout: Layout, pad_value: PadValue) -> None:
    analyzer = Analyzer(through_lets=False)
    computed = _defining_ops(store.value)
    expressions = [op for op in with_expressions(store)[:-1] if op in computed]
    builder = TirBuilder(InsertPoint.before(store), store.location)
    values = [analyzer.exact(index) for index in store.indices]
    conditions = padding_conditions(analyzer, layout, values)
    if not conditions:
        return
    is_padding = emit_disjunction(analyzer, builder, conditions, store.indices[0].type)
    value = store.value

    def move_value() -> SSAValue:
        for op in expressions:
            op.detach()
            builder.insert(op)
        return value

    indices = list(store.indices)
    store.operands[0] = builder.if_then_else(
        is_padding, value.type, lambda: _emit_padding(builder, pad_value, value.type, indices), move_value
    )


def _defining_ops(value: SSAValue) -> set[Operation]:
    """The ops that compute a value, directly or indirectly."""
    ops: set[Operation] = set()
    todo = [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner not in ops and is_expression_op(owner):
            ops.add(owner)
            todo += captured_operands(owner)
    return ops


def _emit_padding(builder: TirBuilder, pad_value: PadValue, type: Attribute, indices: Sequence[SSAValue]) -> SSAValue:
    """Emit the value of a padding element at some indices."""
    dtype = dtype_of(type)
    if not isinstance(pad_value, BoundMap):
        return builder.const(float(pad_value) if dtype.is_float else int(pad_value), dtype)
    analyzer = Analyzer(through_lets=False)
    (total,) = apply_map(analyzer, pad_value, [analyzer.exact(index) for index in indices])
    return builder.cast(export(analyzer, total, builder, indices[0].type), dtype)


def add_padding_block(
    func: FuncOp, padding: LayoutPadding, layout: Layout, buffer: SSAValue, pad_value: PadValue
) -> None:
    """Write the padding in a separate block, after the last writer of the buffer."""
    last = padding.writers[0]
    for writer in padding.writers[1:]:
        last = writer if precedes_in_text(last, writer) or last.is_ancestor(writer) else last
    owner = buffer.owner
    outer = func if isinstance(owner, Block) else enclosing_scope(owner)
    gap = gap_beside(outer, last, after=True)
    analyzer = Analyzer(through_lets=False)
    scratch = Block()
    builder = TirBuilder(scratch, last.location)
    type = type_of_sums(analyzer, layout.new, layout.indices[0].type)
    names = loop_names(layout, [source_name(index) or "i" for index in layout.indices])
    loops: list[ForOp] = []
    for name, extent in zip(names, layout.new, strict=True):
        loops.append(builder.insert(make_loop(name, 0, export_mixed(analyzer, extent, builder, type), type)))
        builder.point = InsertPoint.at_end(loops[-1].body.block)
    conditions = padding_conditions(analyzer, layout, [Lin.of(loop.variable) for loop in loops])
    if not conditions:
        return
    axes = [
        Axis(f"v_{name}", "spatial", 0, export_mixed(analyzer, extent, builder, type), loop.variable)
        for name, extent, loop in zip(names, layout.new, loops, strict=True)
    ]
    predicate = emit_disjunction(analyzer, builder, conditions, type)
    name = fresh_block_name(func, f"buffer_{buffer_name(buffer)}_padding")
    block = builder.insert(BlockOp(name, axes, predicate=predicate))
    builder.point = InsertPoint.at_end(block.body.block)
    variables = list(block.variables)
    builder.insert(AccessOp("writes", buffer, [(variable, 1) for variable in variables]))
    element = cast("MemRefType[Attribute]", buffer.type).element_type
    builder.store(_emit_padding(builder, pad_value, element, variables), buffer, variables)
    gap.insert_all(scratch)
