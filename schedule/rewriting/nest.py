"""Building blocks of primitives: moves of statements with their expressions, replacement of variables, simplification.

All functions keep the statement-tree form (`analysis.tree`): an expression precedes the only statement that it is
computed for. No function checks whether the change is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name
from ...analysis.regions.access_regions import infer_accesses
from ...analysis.scopes import ancestors, child_blocks, depends_on, root_buffer, statements
from ...core.dtypes import dtype_of
from ...core.errors import PassError, ScheduleError
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import (
    DIVISIONS,
    SHIFTS,
    AccessOp,
    AddressOfOp,
    Axis,
    BlockOp,
    BufferDataOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    LoadOp,
    Mixed,
    StoreOp,
    TirBuilder,
    constant_value,
)
from ...dialects.tir.base import split_mixed, string_array
from ...dialects.tir.operands import drop_predicate, set_operands
from ...dialects.tir.static import make_static
from ...dialects.tir.tree import (
    conjuncts,
    erase_if_dead,
    erase_statement,
    has_effect,
    is_expression_op,
    treeify,
    with_expressions,
)

# Statements and their expressions


def builder_before(op: Operation) -> TirBuilder:
    """A builder that inserts directly before an op: before a statement, after the expressions computed for it."""
    return TirBuilder(InsertPoint.before(op), op.location)


def builder_before_expressions(op: Operation) -> TirBuilder:
    """A builder that inserts before a statement and the expressions computed for it."""
    return TirBuilder(InsertPoint.before(with_expressions(op)[0]), op.location)


def move_before(op: Operation, place: Operation) -> None:
    """Move a statement, with its expressions, before the statement `place` and the expressions of `place`."""
    ops = with_expressions(op)
    first = with_expressions(place)[0]
    block = first.parent
    assert block is not None
    for moved in ops:
        moved.detach()
        block.insert_op_before(moved, first)


def move_to_end(op: Operation, block: Block) -> None:
    """Move a statement, with its expressions, to the end of a region's block."""
    for moved in with_expressions(op):
        moved.detach()
        block.add_op(moved)


def move_body(source: Block, target: Block) -> None:
    """Move all ops of a region's block to the end of another block."""
    for op in list(source.ops):
        op.detach()
        target.add_op(op)


def erase_empty_around(op: Operation | None) -> None:
    """Erase `op` if it is an empty loop or branch, and then its ancestors likewise."""
    while isinstance(op, ForOp | IfOp) and not any(region.block.first_op for region in op.regions):
        outer = op.parent_op()
        erase_statement(op)
        op = outer


# Loops and variables


def make_loop(
    name: str,
    low: Mixed,
    extent: Mixed,
    type: Attribute,
    *,
    kind: str = "serial",
    thread: str | None = None,
    annotations: DictionaryAttr | None = None,
) -> ForOp:
    """A new empty loop; printing makes the names of variables unique."""
    return ForOp(
        name, low, extent, type, kind=kind, thread=thread, annotations=annotations, body=Region(Block(arg_types=[type]))
    )


def export_mixed(analyzer: Analyzer, lin: Lin, builder: TirBuilder, type: Attribute) -> Mixed:
    """The constant value of a sum, or else its value, emitted at the builder's point."""
    known = analyzer.constant(lin)
    return export(analyzer, lin, builder, type) if known is None else known


def replace_variable(variable: BlockArgument | SSAValue, write: Callable[[TirBuilder], SSAValue]) -> None:
    """Replace each use of a variable by the value that `write` emits before the user."""
    for use in list(variable.uses):
        user = use.operation
        user.operands[use.index] = write(TirBuilder(InsertPoint.before(user), user.location))


def replace_by_sum(analyzer: Analyzer, variable: SSAValue, lin: Lin) -> None:
    """Replace each use of a variable by a sum."""
    accesses = _accesses_by(variable)
    replace_variable(variable, lambda builder: export(analyzer, lin, builder, variable.type))
    fresh = Analyzer(through_lets=False)
    for op in accesses:
        values = list(op.operands)
        make_static(op, lambda value: value if (known := fresh.number(value)) is None else known)
        for value in values:
            erase_if_dead(value)


def _accesses_by(variable: SSAValue) -> list[AccessOp]:
    """The declared accesses whose boxes are computed from a variable."""
    users = [use.operation for use in variable.uses]
    for user in users:
        if is_expression_op(user):
            users += [use.operation for result in user.results for use in result.uses]
    return list(dict.fromkeys(user for user in users if isinstance(user, AccessOp)))


# Blocks


def simplify_blocks(ops: Iterable[Operation], fixed: BlockOp | None = None) -> None:
    """Simplify the bindings and predicates of the blocks in `ops` (not of nested blocks) to normal form, under the
    assumptions of the enclosing loops; likewise the bounds of loops and the conditions of branches around them.

    fixed: a block whose bindings stay.
    """
    analyzer = Analyzer(through_lets=False)
    for op in ops:
        _simplify(analyzer, op, fixed)


def _simplify(analyzer: Analyzer, op: Operation, fixed: BlockOp | None) -> None:
    match op:
        case BlockOp():
            _simplify_block(analyzer, op, fixed)
        case ForOp():
            _simplify_operands(analyzer, op)
            with analyzer.assumptions():
                analyzer.enter(op, op.body.block)
                for inner in statements(op.body.block):
                    _simplify(analyzer, inner, fixed)
        case IfOp():
            _simplify_condition(analyzer, op)
            for region in op.regions:
                with analyzer.assumptions():
                    analyzer.enter(op, region.block)
                    for inner in statements(region.block):
                        _simplify(analyzer, inner, fixed)
        case _:
            for region in op.regions:
                for inner in statements(region.block):
                    _simplify(analyzer, inner, fixed)


def _simplify_operands(analyzer: Analyzer, op: ForOp) -> None:
    bounds = [known if (known := analyzer.number(bound)) is not None else bound for bound in op.mixed_bounds]
    old = list(op.bounds)
    op.static_bounds, op.operands = split_mixed(bounds)
    for i, bound in enumerate(op.bounds):
        op.operands[i] = _normal(analyzer, bound, op)
    for value in old:
        erase_if_dead(value)


def _simplify_block(analyzer: Analyzer, op: BlockOp, fixed: BlockOp | None) -> None:
    predicate = op.predicate
    if predicate is not None:
        _simplify_predicate(analyzer, op, predicate)
    if op is fixed:
        return
    with analyzer.assuming(op.predicate):
        for i, binding in enumerate(op.bindings):
            simple = _normal(analyzer, binding, op)
            if simple is not binding:
                op.operands[i] = simple
                erase_if_dead(binding)


def _normal(analyzer: Analyzer, value: SSAValue, consumer: Operation) -> SSAValue:
    """The normal form of `value`, emitted before `consumer` if it differs."""
    lin = analyzer.lin(value)
    if lin.atom is value:
        return value
    return export(analyzer, lin, builder_before(consumer), value.type)


def _simplify_predicate(analyzer: Analyzer, op: BlockOp, predicate: SSAValue) -> None:
    """Drop the conjuncts of a predicate that always hold, and simplify the others to normal form."""
    kept: list[SSAValue] = []
    with analyzer.assumptions():
        for condition in conjuncts(predicate):
            if analyzer.decide(condition) is True:
                continue
            kept.append(_normal_condition(analyzer, condition, op))
            analyzer.assume(kept[-1])
    set_predicate(op, kept)
    erase_if_dead(predicate)


def _simplify_condition(analyzer: Analyzer, op: IfOp) -> None:
    condition = op.condition
    op.operands[0] = _normal_condition(analyzer, condition, op)
    erase_if_dead(condition)


def _normal_condition(analyzer: Analyzer, condition: SSAValue, consumer: Operation) -> SSAValue:
    """The condition; a comparison of integers has its sides in normal form."""
    op = condition.owner
    if isinstance(op, arith.CmpiOp) and dtype_of(op.lhs.type).kind == "int":
        sides = [_normal(analyzer, side, consumer) for side in op.operands]
        if sides[0] is not op.lhs or sides[1] is not op.rhs:
            comparison = arith.CmpiOp(sides[0], sides[1], op.predicate.value.data)
            return builder_before(consumer).insert(comparison).result
    return condition


def set_predicate(block: BlockOp, conditions: Sequence[SSAValue]) -> None:
    """Replace the predicate of a block by the conjunction of some conditions."""
    if not conditions:
        if block.predicate is not None:
            drop_predicate(block)
        return
    builder = builder_before(block)
    set_operands(block, [block.bindings, block.domains, [builder.conjunction(conditions)]])


def add_predicate(block: BlockOp, write: Callable[[TirBuilder], SSAValue]) -> None:
    """Add the condition that `write` emits to the predicate of a block."""
    condition = write(builder_before(block))
    set_predicate(block, [condition] if block.predicate is None else [block.predicate, condition])


def guard(body: Block, write: Callable[[TirBuilder], SSAValue]) -> None:
    """Guard the body of a loop with the condition that `write` emits: in the predicates of its blocks, or by a branch
    if the body has other statements than blocks and loops around them, or an expression outside of the blocks must not
    be computed in other iterations."""
    if all_in_blocks(body) and not _may_fail(body, body.args[0]):
        parent = body.parent_op()
        assert parent is not None
        for block in child_blocks(parent):
            add_predicate(block, write)
        return
    ops = list(body.ops)
    builder = TirBuilder(body)
    branch = builder.insert(IfOp(write(builder)))
    for op in ops:
        op.detach()
        branch.then.block.add_op(op)


def _may_fail(body: Block, variable: SSAValue) -> bool:
    """Whether an expression computed for a loop, branch or block in the body depends on `variable` and may be undefined
    for some value of it: a read, a call, a division by a value that is not constant."""
    for op in body.ops:
        risky = op.operands if isinstance(op, LoadOp) or has_effect(op) else ()
        if isinstance(op, (*DIVISIONS, *SHIFTS)) and not constant_value(op.operands[1]):
            risky = op.operands[1:]
        if depends_on(risky, variable):
            return True
        inside = () if isinstance(op, BlockOp) else (block for region in op.regions for block in region.blocks)
        if any(_may_fail(block, variable) for block in inside):
            return True
    return False


def all_in_blocks(body: Block) -> bool:
    """Whether all work in a body is done in blocks, with only loops, branches and names around them."""
    return all(
        isinstance(op, BlockOp)
        or (isinstance(op, ForOp | IfOp | LetOp) and all(all_in_blocks(region.block) for region in op.regions))
        for op in statements(body)
    )


def set_axes(block: BlockOp, axes: Sequence[Axis]) -> None:
    """Set the axes of a block, whose arguments must already match them."""
    static, domains = split_mixed(n for axis in axes for n in (axis.low, axis.extent))
    block.properties["axis_names"] = string_array(axis.name for axis in axes)
    block.properties["axis_kinds"] = string_array(axis.kind for axis in axes)
    block.properties["static_domains"] = static
    predicate = [] if block.predicate is None else [block.predicate]
    set_operands(block, [[axis.binding for axis in axes], domains, predicate])
    for axis, variable in zip(axes, block.variables, strict=True):
        set_name_hint(variable, axis.name)


def innermost_first(blocks: Iterable[BlockOp]) -> list[BlockOp]:
    """The blocks, inner before outer."""
    return sorted(blocks, key=lambda block: -sum(1 for _ in ancestors(block)))


REGION_MARKS = {"read": "explicit_read_region", "write": "explicit_write_region"}
"""By kind of access, the annotation of a block with the indices of the buffers whose regions a schedule declares."""


def erase_accesses(blocks: Iterable[BlockOp]) -> None:
    """Erase the declared reads and writes of blocks and their marks, except of buffers to which they use a pointer:
    these cannot be inferred."""
    for block in blocks:
        pointed = _pointed_buffers(block)
        for mark in REGION_MARKS.values():
            set_annotation(block, mark, None)
        for access in block.accesses:
            if root_buffer(access.buffer) not in pointed:
                erase_statement(access)


def _pointed_buffers(block: BlockOp) -> set[SSAValue]:
    """The buffers to which a block uses a pointer."""
    return {root_buffer(op.buffer) for op in find_ops(block, BufferDataOp, AddressOfOp)}


def renew_accesses(blocks: Iterable[BlockOp]) -> None:
    """Replace the declared reads and writes of blocks by those inferred from their bodies. ScheduleError if these are
    unknown."""
    for block in innermost_first(blocks):
        erase_accesses([block])
        try:
            infer_accesses(block, declared={access.buffer for access in block.accesses})
        except PassError as error:
            raise ScheduleError(f"block {block_name(block)}: {error}", [block]) from None
        if any(_is_shared(operand) for access in block.accesses for operand in access.operands):
            treeify(function_of(block))


def _is_shared(value: SSAValue) -> bool:
    """Whether the value of an expression has several uses."""
    return isinstance(value.owner, Operation) and is_expression_op(value.owner) and len(list(value.uses)) > 1


def simplify_indices(block: BlockOp) -> None:
    """Simplify the indices of the loads and stores in a block to normal form."""
    simplify_accesses(find_ops(block, LoadOp, StoreOp))


def simplify_accesses(ops: Iterable[LoadOp | StoreOp]) -> None:
    """Simplify the indices of loads and stores to normal form, except vectors of indices."""
    for op in list(ops):
        analyzer = Analyzer(through_lets=False)
        head = len(op.operands) - len(op.indices) - (op.predicate is not None)
        for n, index in enumerate(op.indices, head):
            if not isinstance(index.type, IntegerType):
                continue
            with _assume_iterations(analyzer, op):
                simple = _normal(analyzer, index, op)
            if simple is not index:
                op.operands[n] = simple
                erase_if_dead(index)


@contextmanager
def _assume_iterations(analyzer: Analyzer, op: Operation) -> Generator[None]:
    """Assumes in the body that the loops around an op run at least once."""
    with analyzer.assumptions():
        for parent in ancestors(op):
            if isinstance(parent, ForOp):
                analyzer.enter(parent, parent.body.block)
        yield


def set_annotation(op: ForOp | BlockOp, key: str, value: Attribute | None) -> None:
    """Set an annotation, or remove it (None)."""
    known = dict(op.annotations.data) if op.annotations is not None else {}
    known.pop(key, None)
    if value is not None:
        known[key] = value
    op.annotations = DictionaryAttr(known) if known else None


def rename_block(block: BlockOp, name: str) -> None:
    """Rename a block."""
    block.block_name = StringAttr(name)


def function_of(op: Operation) -> FuncOp:
    """The function that contains an op."""
    parent = op
    while not isinstance(parent, FuncOp):
        parent = cast(Operation, parent.parent_op())
    return parent
