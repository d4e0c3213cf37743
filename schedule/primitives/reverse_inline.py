"""The primitive `reverse_compute_inline`: blocks inlined into their producer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import detect, invert, iteration_domain, predicate_constraints, why_not_onto
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import binding_sums, enclosing_scope, loops_around, ops_between, precedes_in_text
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.schedule import ReverseComputeInlineOp
from ...dialects.tir import AllocBufferOp, BlockOp, ForOp, IfOp, LoadOp, StoreOp, TirBuilder
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import erase_if_dead, erase_statement
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copying import Copier, loads_in, outer_values, require_invariant_values, stores_in
from ..rewriting.elementwise import (
    block_statements,
    blocks_using,
    element_stores,
    element_text,
    enclosing_block,
    erase_block,
    erase_buffer,
    initialized_stores,
    require_allocation,
    require_loads,
    solve_axes,
)
from ..rewriting.nest import (
    add_predicate,
    builder_before,
    erase_accesses,
    renew_accesses,
    simplify_accesses,
    simplify_blocks,
)
from ..state import State, applies


class ReverseInlinePrimitives(Recorder):
    """The primitive that inlines a block into its producer."""

    def reverse_compute_inline(self, block: BlockLike) -> None:
        """Inline a block into the producer of the element that it reads, and erase the block and the buffer in between.

            for i in range(8):                          for i in range(8):
                with T.block("C"):                          with T.block("C"):
                    vi = T.axis.spatial(8, i)                   vi = T.axis.spatial(8, i)
                    C[vi] = A[vi] * 2.0           ->            D[7 - vi] = A[vi] * 2.0 + 1.0
            for i in range(8):
                with T.block("D"):
                    vi = T.axis.spatial(8, i)
                    D[vi] = C[7 - vi] + 1.0

        block: a block, each instance of which reads one element of a buffer that another block writes, at an index that
        determines the instance, and stores values computed from it (and from other buffers). No other block reads the
        buffer. An instance of the producer for whose element the block does not run is disabled, by a predicate or a
        branch. If the producer has an init, it must have no reduction axis, and the block must be a copy: then init and
        update store to the buffer of the copy.
        Legal if the other inputs of the block have the same values at the producer. ScheduleError if the blocks are not
        of this kind, for instance if the producer is a reduction; or with two conflicting instances.
        """
        self.record(ReverseComputeInlineOp, block=self._block(block))


@dataclass(frozen=True)
class SumComparison:
    """A comparison of two sums: `ge`, `lt` or `eq`."""

    name: str
    lhs: Lin
    rhs: Lin

    def holds(self, analyzer: Analyzer) -> bool:
        return analyzer.is_provably(self.name, self.lhs, self.rhs)

    def with_values(self, analyzer: Analyzer, values: Mapping[SSAValue, Lin]) -> SumComparison:
        return SumComparison(self.name, *(analyzer.substitute(side, values) for side in (self.lhs, self.rhs)))


@dataclass(frozen=True)
class ReverseInlinePlan:
    """A plan to inline a block into its producer.

    store: the store of `producer`, in its init if any, to the buffer that `loads`, of `block`, read.  axes: the axes of
    the instance of `block` that reads the stored element, and `conditions` under which it runs; in terms of the axes of
    `producer`.
    """

    block: BlockOp
    loads: Sequence[LoadOp]
    producer: BlockOp
    store: StoreOp
    axes: Mapping[SSAValue, Lin]
    conditions: Sequence[SumComparison]


@applies(ReverseComputeInlineOp)
def reverse_compute_inline(state: State, block: BlockOp) -> None:
    element_stores(block)
    store = _producing_store(block)
    producer = _writer(store)
    alloc = require_allocation(producer, store.buffer)
    loads = require_loads(producer, store.buffer, block)
    for each in (block, producer):
        require_invariant_values(each, alloc)
    require_visible(block, producer)
    plan = ReverseInlinePlan(block, loads, producer, store, *reading_instance(block, loads, store))
    with state.changing([block, producer]) as change:
        change.copies_before.append(block)
        if producer.init is None:
            # The check looks through the producer, too: the results must depend on its inputs as before.
            change.copies_before.append(producer)
            change.copies_after.append(producer)
        _reverse_inline(plan)


# The producer


def _writer(store: StoreOp) -> BlockOp:
    block = enclosing_block(store)
    assert block is not None
    return block


def _producing_store(block: BlockOp) -> StoreOp:
    """The store to a buffer that `block` reads, in an earlier block; the last one if there are several. ScheduleError
    if there is none."""
    stores: list[StoreOp] = []
    reasons: list[ScheduleError] = []
    for buffer in dict.fromkeys(load.buffer for load in loads_in(block)):
        try:
            stores.append(_store_to(block, buffer))
        except ScheduleError as error:
            reasons.append(error)
    if not stores and not reasons:
        raise ScheduleError(f"block {block_name(block)} reads no buffer", [block])
    if not stores:
        raise max(reasons, key=lambda error: len(error.marks))
    last = stores[0]
    for store in stores[1:]:
        last = store if precedes_in_text(last, store) else last
    return last


def _store_to(block: BlockOp, buffer: SSAValue) -> StoreOp:
    """The only store to a buffer that `block` reads. ScheduleError unless it is in an earlier elementwise block."""
    name = buffer_name(buffer)
    if not isinstance(buffer.owner, AllocBufferOp):
        reason = "which is not allocated in the function, expected one that another block writes"
        raise ScheduleError(f"block {block_name(block)} reads buffer {name}, {reason}", [block])
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    writers = list(dict.fromkeys(enclosing_block(store) for store in stores))
    writer = writers[0] if len(writers) == 1 else None
    if writer is None:
        raise ScheduleError(f"buffer {name} is written in {len(writers)} places, expected one block", [block])
    marks = {writer: "writes the buffer", block: ""}
    title = f"block {block_name(writer)}, which writes buffer {name},"
    if enclosing_scope(writer) is not enclosing_scope(block) or not precedes_in_text(writer, block):
        raise ScheduleError(f"{title} is not in front of block {block_name(block)} in the same scope", marks)
    reduces = any(axis.kind == "reduce" for axis in writer.axes)
    if writer.init is not None and not reduces:
        _require_copy(block, writer)
        return initialized_stores(writer)[0]
    if writer.init is not None or any(load.buffer is buffer for load in loads_in(writer)):
        raise ScheduleError(
            f"{title} reduces: elements are complete only when its last instances have run, expected a block that "
            "stores each element once",
            marks,
        )
    if len(stores) != 1:
        raise ScheduleError(f"{title} stores to it {len(stores)} times, expected once", marks)
    element_stores(writer)
    return stores[0]


def _require_copy(block: BlockOp, writer: BlockOp) -> None:
    """Raise ScheduleError unless `block` copies an element of `writer`, which has an init."""
    copies = block_statements(block)
    values = [copy.value.owner if isinstance(copy, StoreOp) else None for copy in copies]
    if len(copies) != 1 or list(loads_in(block)) != values:
        raise ScheduleError(
            f"block {block_name(writer)} has an init, so only a copy of its elements can be inlined into it, which "
            f"block {block_name(block)} is not",
            {writer: "has an init", block: ""},
        )


def require_visible(block: BlockOp, producer: BlockOp) -> None:
    """Raise ScheduleError unless the outer values that `block` uses are defined before the producer."""
    for value in outer_values(block):
        owner = value.owner
        if isinstance(owner, Operation) and not precedes_in_text(owner, producer):
            raise ScheduleError(
                f"block {block_name(block)} uses {value.name_hint or 'a value'}, which is defined behind block "
                f"{block_name(producer)}",
                [block, producer],
            )


# Instances


def reading_instance(
    block: BlockOp, loads: Sequence[LoadOp], store: StoreOp
) -> tuple[Mapping[SSAValue, Lin], Sequence[SumComparison]]:
    """The axes of the instance of `block` that reads the element of `store`, and the conditions under which it runs."""
    analyzer = Analyzer()
    read = [[analyzer.exact(index) for index in load.indices] for load in loads]
    texts = sorted(set(map(element_text, loads)))
    if any(indices != read[0] for indices in read):
        raise ScheduleError(
            f"block {block_name(block)} reads several elements of buffer {buffer_name(store.buffer)}, "
            f"{', '.join(texts)}, expected one",
            [block],
        )
    element = [analyzer.exact(index) for index in store.indices]
    axes = solve_axes(analyzer, block, block.variables, read[0], element)
    if isinstance(axes, str):
        raise ScheduleError(
            f"block {block_name(block)} reads {texts[0]}, which does not tell its instances apart: {axes}", [block]
        )
    pairs = zip(read[0], element, strict=True)
    conditions = [SumComparison("eq", analyzer.substitute(index, axes), stored) for index, stored in pairs]
    for axis, variable in zip(block.axes, block.variables, strict=True):
        conditions += _inside(axes[variable], analyzer.exact(axis.low), analyzer.exact(axis.extent))
    conditions += _when_run(analyzer, block, axes)
    return axes, [c for c in dict.fromkeys(conditions) if not c.holds(analyzer)]


def _inside(value: Lin, low: Lin, extent: Lin) -> list[SumComparison]:
    return [SumComparison("ge", value, low), SumComparison("lt", value, low + extent)]


def _at_least_zero(lin: Lin) -> SumComparison:
    """The condition `lin >= 0`, without negative coefficients."""
    more = Lin(0, {atom: k for atom, k in lin.terms.items() if k > 0})
    less = Lin(0, {atom: -k for atom, k in lin.terms.items() if k < 0})
    return SumComparison("ge", more, less - lin.const) if more.terms else SumComparison("lt", less, Lin(lin.const + 1))


def _when_run(analyzer: Analyzer, block: BlockOp, axes: Mapping[SSAValue, Lin]) -> list[SumComparison]:
    """The conditions under which the instance of `block` with some axis values runs, except the axis domains."""
    odd = next((op for op in ops_between(block, enclosing_scope(block)) if not isinstance(op, ForOp)), None)
    if odd is not None:
        raise ScheduleError(f"not supported yet: block {block_name(block)} is inside of a {odd.name}", [block])
    domain = iteration_domain(analyzer, loops_around(block), block.predicate)
    bindings = binding_sums(analyzer, block)
    names = [f"axis {axis.name}" for axis in block.axes]
    box = [(analyzer.exact(axis.low), analyzer.exact(axis.extent)) for axis in block.axes]
    if why_not_onto(analyzer, domain, bindings, box, names) is None:
        return []
    values = [axes[variable] for variable in block.variables]
    mapping = detect(analyzer, domain, bindings, names)
    loops = mapping if isinstance(mapping, str) else invert(analyzer, mapping, values)
    constraints, exact = predicate_constraints(analyzer, block.predicate)
    if isinstance(loops, str) or not exact or any(variable.step != 1 for variable in domain.variables):
        reason = loops if isinstance(loops, str) else "its predicate or a loop is not affine"
        raise ScheduleError(f"which instances of block {block_name(block)} run is not known: {reason}", [block])
    pairs = zip(bindings, values, strict=True)
    conditions = [SumComparison("eq", analyzer.substitute(binding, loops), value) for binding, value in pairs]
    for variable in domain.variables:
        low, extent = (analyzer.substitute(side, loops) for side in (variable.low, variable.extent))
        conditions += _inside(loops[variable.value], low, extent)
    return conditions + [_at_least_zero(analyzer.substitute(lin, loops)) for lin in constraints]


# Rewriting


def _reverse_inline(plan: ReverseInlinePlan) -> None:
    buffer = plan.store.buffer
    touched = blocks_using([buffer]) - {plan.block}
    erase_accesses([*touched, plan.block])
    if plan.producer.init is None:
        _write(plan)
        erase_statement(plan.store)
    else:
        redirect_producer(plan)
    erase_block(plan.block)
    erase_buffer(buffer)
    renew_accesses([*touched])
    simplify_blocks([plan.producer])


def redirect_producer(plan: ReverseInlinePlan) -> None:
    """Redirect the accesses of the producer to the buffer into which the block copies the element."""
    analyzer, producer = Analyzer(), plan.producer
    (copy,) = stores_in(block_statements(plan.block))

    def replace(builder: TirBuilder, value: SSAValue) -> SSAValue | None:
        return export(analyzer, plan.axes[value], builder, value.type) if value in plan.axes else None

    copier = Copier(plan.block, replace)
    accesses = [use.operation for use in plan.store.buffer.uses if producer.is_ancestor(use.operation)]
    for op in accesses:
        assert isinstance(op, LoadOp | StoreOp)
        old = list(op.indices)
        redirect_access(op, copy.buffer, [copier.value(builder_before(op), index) for index in copy.indices])
        for index in old:
            erase_if_dead(index)
        simplify_accesses([op])
    _disable(plan)


def _disable(plan: ReverseInlinePlan) -> None:
    """Disable the instances of the producer for whose element the block does not run, by its predicate."""
    if not plan.conditions:
        return
    analyzer, producer = Analyzer(), plan.producer
    bound: dict[SSAValue, Lin] = dict(zip(producer.variables, map(analyzer.exact, producer.bindings), strict=True))
    outside = [condition.with_values(analyzer, bound) for condition in plan.conditions]
    add_predicate(producer, lambda builder: _joint(analyzer, builder, outside))


def _write(plan: ReverseInlinePlan) -> None:
    """Emit the computation of the block on the stored element, before the store."""
    analyzer, store, producer = Analyzer(), plan.store, plan.producer
    loaded = {load.result for load in plan.loads}
    own = Copier(producer, lambda builder, value: None)

    def replace(builder: TirBuilder, value: SSAValue) -> SSAValue | None:
        if value in plan.axes:
            return export(analyzer, plan.axes[value], builder, value.type)
        return own.value(builder, store.value) if value in loaded else None

    copier = Copier(plan.block, replace)
    written: list[LoadOp | StoreOp] = []

    def write(builder: TirBuilder, old: StoreOp) -> None:
        value = copier.value(builder, old.value)
        written.append(builder.store(value, old.buffer, [copier.value(builder, index) for index in old.indices]))

    alone = store.parent_op() is producer and sum(1 for _ in stores_in(block_statements(producer))) == 1
    builder = builder_before(store)
    if plan.conditions and not alone:
        branch = builder.insert(IfOp(_joint(analyzer, builder, plan.conditions)))
        builder = TirBuilder(branch.then.block, store.location)
    copier.statements(builder, block_statements(plan.block), write)
    simplify_accesses([*copier.loads, *written])
    if alone:
        _disable(plan)


def _joint(analyzer: Analyzer, builder: TirBuilder, conditions: Iterable[SumComparison]) -> SSAValue:
    """The conjunction of some comparisons, emitted by `builder`."""
    joint: SSAValue | None = None
    for condition in conditions:
        type = _type_of(condition)
        lhs, rhs = (export(analyzer, side, builder, type) for side in (condition.lhs, condition.rhs))
        comparison = builder.binary(condition.name, lhs, rhs)
        joint = comparison if joint is None else builder.binary("and", joint, comparison)
    assert joint is not None
    return joint


def _type_of(condition: SumComparison) -> Attribute:
    """The widest type among the operands of a comparison; i32 for constants."""
    leaves = [leaf for side in (condition.lhs, condition.rhs) for leaf in side.leaves()]
    return max((leaf.type for leaf in leaves), key=lambda type: dtype_of(type).bits, default=i32)
