"""The construction of the two steps of a factored reduction: see `ReductionPrimitives.rfactor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name, fresh_block_name, fresh_buffer_name, loop_name
from ...analysis.reducers import Reducer, init_is_identity
from ...analysis.scopes import enclosing_scope, root_buffer, statements
from ...dialects.text.names import source_name
from ...dialects.tir import (
    BINARY_NAMES,
    AccessOp,
    AllocBufferOp,
    Axis,
    BlockOp,
    BufferOp,
    ForOp,
    IfThenElseOp,
    InitOp,
    LetOp,
    LoadOp,
    Mixed,
    StoreOp,
    TirBuilder,
    YieldOp,
)
from ...dialects.tir.copying import copy_bound, copy_expression
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.static import known_constant
from ...dialects.tir.tree import erase_if_dead, erase_statement, with_expressions
from .nest import (
    add_predicate,
    builder_before,
    builder_before_expressions,
    function_of,
    rename_block,
    renew_accesses,
    replace_variable,
    simplify_blocks,
)
from .rebuild import emit_bound, move_body_out, rebind_axes


@dataclass
class Factoring:
    """A reduction and the plan of its factoring.

    loop: the reduction loop of the second step.  chain: the loops around the block that are duplicated, outermost
    first.  rest: the loops of `chain` that are reduction loops of the first step.  axes: the axes of the first step
    after the axis of `loop`: an axis of the block by its index, or a loop.  positions: the dimension
    of `loop` in each new buffer.
    """

    block: BlockOp
    loop: ForOp
    chain: Sequence[ForOp]
    rest: Sequence[ForOp]
    axes: Sequence[int | ForOp]
    reducer: Reducer
    positions: Sequence[int]


def write_both_steps(factoring: Factoring) -> BlockOp:
    """Insert the first step before the block, and turn the block into the second; returns the block of the first."""
    ops = with_expressions(factoring.chain[0])
    known: dict[SSAValue, SSAValue] = {}
    copies = [op.clone(known) for op in ops]
    pairs: dict[Operation, Operation] = {}
    for op, copy in zip(ops, copies, strict=True):
        for x, y in zip(op.walk(), copy.walk(), strict=True):
            pairs[x] = y
            y.location = x.location
    buffers = _declare(factoring)
    parent = ops[0].parent
    assert parent is not None
    for copy in copies:
        parent.insert_op_before(copy, ops[0])
    first = _FirstStep(factoring, pairs, buffers).write()
    outermost = _second_step(factoring, buffers)
    simplify_blocks([copies[-1], outermost])
    return first


# Buffers


def _declare(factoring: Factoring) -> list[SSAValue]:
    """Allocate the buffers between the steps, in the scope of the block."""
    scope, func = enclosing_scope(factoring.block), function_of(factoring.block)
    builder = builder_before_expressions(statements(scope.body.block)[0])
    buffers: list[SSAValue] = []
    for accumulator, position in zip(factoring.reducer.accumulators, factoring.positions, strict=True):
        type = accumulator.buffer.type
        assert isinstance(type, MemRefType)
        owner = accumulator.buffer.owner
        shape: list[Mixed] = owner.mixed_shape if isinstance(owner, BufferOp) else list(type.get_shape())
        shape.insert(position, factoring.loop.mixed_bounds[1])
        shape = [copy_bound(n, builder, {}, scope) for n in shape]
        name = fresh_buffer_name(func, f"{source_name(accumulator.buffer)}_rf")
        op = AllocBufferOp(name, type.element_type, shape, space=type.memory_space)
        buffers.append(builder.insert(op).buffer)
    return buffers


def _element(factoring: Factoring, factor: SSAValue, builder: TirBuilder) -> SSAValue:
    """The index in the new dimension: the iteration, from 0, of the factored loop, whose variable is `factor`."""
    analyzer = Analyzer()
    low = analyzer.exact(factoring.loop.mixed_bounds[0])
    return export(analyzer, Lin.of(factor) - low, builder, factor.type)


def _loop_axis(loop: ForOp, kind: str, block: BlockOp) -> Axis:
    """The axis of a block that is bound to a loop around it."""
    builder = builder_before(block)
    low, extent = (copy_bound(n, builder, {}) for n in loop.mixed_bounds[:2])
    return Axis(f"v{loop_name(loop)}", kind, low, extent, loop.variable)


# The first step


class _FirstStep:
    """The first step, built from a copy of the block.

    pairs: the copy of each op of the old nest.  buffers: the new buffers, in the order of the accumulators.
    """

    def __init__(self, factoring: Factoring, pairs: dict[Operation, Operation], buffers: Sequence[SSAValue]):
        self.factoring = factoring
        self.pairs = pairs
        accumulated = [a.buffer for a in factoring.reducer.accumulators]
        self.buffers = dict(zip(accumulated, buffers, strict=True))
        self.positions = dict(zip(accumulated, factoring.positions, strict=True))
        self.block: BlockOp = self._copy_of(factoring.block)

    def _copy_of(self, op: Any) -> Any:
        return self.pairs[op]

    def write(self) -> BlockOp:
        block, factoring = self.block, self.factoring
        rename_block(block, fresh_block_name(function_of(factoring.block), f"{block_name(block)}_rf"))
        self._replace_axes()
        stores: list[StoreOp] = [self._copy_of(a.store) for a in factoring.reducer.accumulators]
        if not factoring.rest and all(s.parent is block.body.block for s in stores):
            self._store_contributions(stores)
        else:
            self._start_from_identity()
        self._replace_buffers()
        self._replace_accesses()
        return block

    def _replace_axes(self) -> None:
        """Replace the reduction axes of the block by an axis for each reduction loop, with the factored loop first."""
        block, factoring = self.block, self.factoring
        analyzer = Analyzer()
        old = block.axes
        sums = [analyzer.exact(axis.binding) for axis in old]
        sources: list[int | ForOp] = [factoring.loop, *factoring.axes]
        axes: list[Axis] = []
        for source in sources:
            if isinstance(source, int):
                axes.append(old[source])
            else:
                kind = "spatial" if source is factoring.loop else "reduce"
                axes.append(_loop_axis(self._copy_of(source), kind, block))

        def meaning(new: Sequence[SSAValue]) -> list[Lin]:
            kept = {source: new[n] for n, source in enumerate(sources)}
            loops = {self._copy_of(s).variable: Lin.of(v) for s, v in kept.items() if not isinstance(s, int)}
            inner = Analyzer()
            return [Lin.of(kept[n]) if n in kept else inner.substitute(lin, loops) for n, lin in enumerate(sums)]

        rebind_axes(block, axes, meaning)

    # Values

    def _store_contributions(self, stores: Sequence[StoreOp]) -> None:
        """Store the contribution alone, as each element has only one."""
        accumulators = self.factoring.reducer.accumulators
        if self.block.init is not None:
            erase_statement(self.block.init)
        for accumulator, store in zip(accumulators, stores, strict=True):
            loads = {self._copy_of(load) for load in accumulator.loads}
            value = _contribution(store, loads, accumulator.kind)
            if value is not None:
                old = store.value
                store.operands[0] = copy_expression(value, builder_before(store), {}, self.block)
                erase_if_dead(old)
        for op in reversed(list(self.block.body.block.ops)):
            if isinstance(op, LetOp) and op.result.first_use is None:
                erase_statement(op)
        for accumulator, number in zip(accumulators, self.factoring.reducer.identity(), strict=True):
            for load in map(self._copy_of, accumulator.loads):
                if load.parent is not None:
                    builder = TirBuilder(InsertPoint.before(load), load.location)
                    load.result.replace_all_uses_with(builder.const(number, accumulator.dtype))
                    erase_if_dead(load.result)

    def _start_from_identity(self) -> None:
        """Let the init store the identity elements; an init that already does is kept."""
        block, reducer = self.block, self.factoring.reducer
        if block.init is not None:
            if init_is_identity(self.factoring.block, reducer):
                return
            erase_statement(block.init)
        init = InitOp()
        builder_before_expressions(statements(block.body.block)[0]).insert(init)
        builder = TirBuilder(init.body.block, block.location)
        for accumulator, number in zip(reducer.accumulators, reducer.identity(), strict=True):
            value = builder.const(number, accumulator.dtype)
            indices = self._copy_of(accumulator.store).indices
            builder.store(value, accumulator.buffer, [copy_expression(i, builder, {}, block) for i in indices])

    # Buffers

    def _replace_buffers(self) -> None:
        factor = self.block.variables[0]
        for op in list(self.block.walk()):
            if not isinstance(op, LoadOp | StoreOp) or op.buffer not in self.buffers:
                continue
            builder = TirBuilder(InsertPoint.before(op), op.location)
            indices = list(op.indices)
            indices.insert(self.positions[op.buffer], _element(self.factoring, factor, builder))
            redirect_access(op, self.buffers[op.buffer], indices)

    def _replace_accesses(self) -> None:
        memories = {root_buffer(b) for b in self.buffers}
        factor = self.block.variables[0]
        for access in self.block.accesses:
            if root_buffer(access.buffer) not in memories:
                continue
            if access.buffer not in self.buffers:
                renew_accesses([self.block])
                return
            if access.is_write:
                builder = builder_before(access)
                region = [(copy_bound(a, builder, {}), copy_bound(b, builder, {})) for a, b in access.region]
                index = _element(self.factoring, factor, builder)
                region.insert(self.positions[access.buffer], (known_constant(index), 1))
                builder.insert(AccessOp("writes", self.buffers[access.buffer], region))
                erase_if_dead(index)
            erase_statement(access)


def _contribution(store: StoreOp, loads: set[LoadOp], kind: str) -> SSAValue | None:
    """The operand that a store combines with the accumulated value; None if the store has another form."""
    op = _strip_names(store.value).owner
    match op:
        case arith.SelectOp() if kind == "arg":
            sides = (op.lhs, op.rhs)
        case IfThenElseOp() if kind == "arg":
            ends = [region.block.last_op for region in op.regions]
            sides = tuple(end.value for end in ends if isinstance(end, YieldOp))
        case Operation() if BINARY_NAMES.get(type(op)) in ((kind,) if kind != "arg" else ("min", "max")):
            sides = (op.operands[0], op.operands[1])
        case _:
            return None
    others = [side for side in sides if _strip_names(side).owner not in loads]
    return others[0] if len(others) == 1 else None


def _strip_names(value: SSAValue) -> SSAValue:
    while isinstance(op := value.owner, LetOp):
        value = op.value
    return value


# The second step


def _second_step(factoring: Factoring, buffers: Sequence[SSAValue]) -> Operation:
    """Turn the block into the second step, and remove the reduction loops of the first step; returns the outermost
    remaining statement."""
    block = factoring.block
    axes, n = block.axes, len(block.axes)
    kept = [i for i in range(n) if axes[i].kind != "reduce"]
    new = [_loop_axis(factoring.loop, "reduce", block), *(axes[i] for i in kept)]

    def meaning(variables: Sequence[SSAValue]) -> list[Lin]:
        # Only statements that are erased use the reduction axes.
        return [Lin.of(variables[1 + kept.index(i)]) if i in kept else Lin() for i in range(n)]

    rebind_axes(block, new, meaning)
    _write_update(factoring, buffers)
    _restrict(factoring)
    outermost: Operation = next((loop for loop in factoring.chain if loop not in factoring.rest), block)
    for loop in factoring.rest:
        move_body_out(loop)
        erase_statement(loop)
    return outermost


def _write_update(factoring: Factoring, buffers: Sequence[SSAValue]) -> None:
    block, reducer = factoring.block, factoring.reducer
    body = block.body.block
    old = [op for op in statements(body) if not isinstance(op, InitOp)]
    builder = TirBuilder(body, block.location)
    count = len(reducer.accumulators)
    _declare_reads(factoring, buffers)
    if count == 1:
        builder.store(_combine(factoring, buffers, 0, builder), *_target(factoring, 0, builder))
    else:
        names = [f"v_{source_name(a.buffer)}" for a in reducer.accumulators]
        values = [builder.let(names[n], _combine(factoring, buffers, n, builder)) for n in range(count)]
        for n, value in enumerate(values):
            builder.store(value, *_target(factoring, n, builder))
    for op in reversed(old):
        erase_statement(op)


def _target(factoring: Factoring, n: int, builder: TirBuilder) -> tuple[SSAValue, list[SSAValue]]:
    """The buffer and indices of accumulator `n`."""
    accumulator = factoring.reducer.accumulators[n]
    return accumulator.buffer, [copy_expression(i, builder, {}, factoring.block) for i in accumulator.store.indices]


def _partial(
    factoring: Factoring, buffers: Sequence[SSAValue], n: int, builder: TirBuilder
) -> tuple[SSAValue, list[SSAValue]]:
    """The buffer and indices of the partial result that is combined with accumulator `n`."""
    indices = _target(factoring, n, builder)[1]
    indices.insert(factoring.positions[n], _element(factoring, factoring.block.variables[0], builder))
    return buffers[n], indices


def _combine(factoring: Factoring, buffers: Sequence[SSAValue], n: int, builder: TirBuilder) -> SSAValue:
    """The new value of accumulator `n`, computed from the old values of all accumulators."""
    count = len(factoring.reducer.accumulators)
    lhs = [builder.load(*_target(factoring, i, builder)) for i in range(count)]
    rhs = [builder.load(*_partial(factoring, buffers, i, builder)) for i in range(count)]
    values = factoring.reducer.combine(builder, lhs, rhs)
    for i, value in enumerate(values):
        if i != n:
            erase_if_dead(value)
    for value in (*lhs, *rhs):
        erase_if_dead(value)
    return values[n]


def _declare_reads(factoring: Factoring, buffers: Sequence[SSAValue]) -> None:
    """Declare that the block reads the new buffers, and no longer the inputs of the first step."""
    block = factoring.block
    memories = {root_buffer(a.buffer) for a in factoring.reducer.accumulators}
    accesses = block.accesses
    if not accesses:
        return
    builder = builder_before_expressions(accesses[0])
    for n in range(len(buffers)):
        buffer, indices = _partial(factoring, buffers, n, builder)
        builder.insert(AccessOp("reads", buffer, [(known_constant(i), 1) for i in indices]))
        for index in indices:
            erase_if_dead(index)
    for access in accesses:
        if not access.is_write and root_buffer(access.buffer) not in memories:
            erase_statement(access)


def _restrict(factoring: Factoring) -> None:
    """Restrict the second step to the results that the first step has stored: the loops of the first step are replaced
    by their first iteration, if they have one."""
    analyzer = Analyzer()
    positive = [analyzer.is_provably("gt", analyzer.exact(loop.mixed_bounds[1]), 0) for loop in factoring.rest]
    for loop, runs in zip(factoring.rest, positive, strict=True):
        low, extent, _ = loop.mixed_bounds
        type = loop.variable.type
        replace_variable(loop.variable, partial(emit_bound, low, type))
        if not runs:
            write = partial(emit_bound, extent, type)
            add_predicate(factoring.block, lambda builder, write=write: builder.binary("gt", write(builder), 0))
