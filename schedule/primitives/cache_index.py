"""The primitive `cache_index`: indices that are computed before a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name, fresh_block_name, fresh_buffer_name
from ...analysis.scopes import enclosing_scope, statements
from ...core.errors import ScheduleError
from ...dialects.schedule import CacheIndexOp
from ...dialects.tir import AccessOp, AllocBufferOp, Axis, BlockOp, ForOp, FuncOp, LoadOp, TirBuilder
from ...dialects.tir.base import memory_space
from ...dialects.tir.builder import is_speculatable
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import erase_if_dead, is_expression_op, with_expressions
from ..handles import BlockLike, BlockRV
from ..recorder import Recorder
from ..rewriting.copies import index_type, require_block
from ..rewriting.gaps import Gap, body_start, scope_start
from ..rewriting.nest import export_mixed, function_of, make_loop
from ..state import State, applies
from .annotations import require_memory


class CacheIndexPrimitives(Recorder):
    """The primitive that computes the indices of a block beforehand."""

    def cache_index(self, block: BlockLike, storage_scope: str = "global", cse_thresh: int = 0) -> list[BlockRV]:
        """Compute the indices of a block before it, each in a buffer of its own, and load them from there.

            for i in range(8):                  for ax0 in range(8):
                with T.block("B"):                  with T.block("index_0"):
                    vi = ...             ->             v0 = T.axis.spatial(8, ax0)
                    B[vi] = A[vi // 2]                  index_var_0[v0] = v0 // 2
                                                for i in range(8):
                                                    with T.block("B"):
                                                        B[vi] = A[index_var_0[vi]]

        block: a block without nested blocks.  storage_scope: of the buffers, "global", "shared", "local", ...
        cse_thresh: 0 for each index of a load that is computed from axes of the block; a greater number for the
        expressions of axes that occur at least so many times in the block, outside of larger ones that do.
        Returns the blocks that compute the indices, at the start of the scope, the largest expression first with a
        threshold; none if nothing is computed from axes.
        Legal for every block: an expression is cached if it depends on nothing but axes of the block and values known
        in the scope, and if it can be computed for all values of the axes. ScheduleError for a negative threshold, and
        for axes whose domain is not known at the start of the scope.
        """
        if cse_thresh < 0:
            raise ScheduleError(f"cse_thresh {cse_thresh}, expected a number from 0 on")
        return self.record(CacheIndexOp, block=self._block(block), storage_scope=storage_scope, cse_thresh=cse_thresh)


@applies(CacheIndexOp)
def cache_index(state: State, block: BlockOp | FuncOp, storage_scope: str, cse_thresh: int) -> list[BlockOp]:
    block = require_block(block)
    require_memory(storage_scope, block)
    if any(isinstance(op, BlockOp) for op in block.body.walk()):
        raise ScheduleError(f"block {block_name(block)} contains blocks, expected one without", [block])
    scope = enclosing_scope(block)
    gap = body_start(scope)
    found = _Expressions(block, gap).cached(cse_thresh)
    analyzer = Analyzer(through_lets=False)
    plans = [_plan(analyzer, block, uses, gap) for uses in found]
    # An index is a pure expression of axes, computed for all their values: the flow is equal by construction.
    with state.changing([block], check=False):
        return [_cache(analyzer, block, plan, n, gap, memory_space(storage_scope)) for n, plan in enumerate(plans)]


# Expressions

Key: TypeAlias = Hashable
"""The structure of an expression: equal for expressions of equal value."""


@dataclass(frozen=True)
class _Use:
    """An operand of an op, which is the value of an expression."""

    op: Operation
    index: int

    @property
    def value(self) -> SSAValue:
        return self.op.operands[self.index]


@dataclass
class _Expressions:
    """The expressions in the statements of a block."""

    block: BlockOp
    gap: Gap
    keys: dict[SSAValue, Key] = field(default_factory=dict[SSAValue, Key])

    def cached(self, cse_thresh: int) -> list[list[_Use]]:
        """The uses of each expression that is to be cached."""
        if cse_thresh == 0:
            chosen = [use for use in self._uses() if isinstance(use.op, LoadOp) and use.index > 0]
            return _grouped((self.key(use.value), use) for use in chosen if self._is_computed(use.value))
        frequent = self._frequent(cse_thresh)
        chosen = ((self.key(use.value), use) for use in self._uses(frequent))
        groups = _grouped((key, use) for key, use in chosen if key in frequent)
        return sorted(groups, key=lambda uses: -_size(uses[0].value))

    def _frequent(self, cse_thresh: int) -> set[Key]:
        """The expressions that occur often enough outside of larger ones that do."""
        computed = [use.value for use in self._uses() if self._is_computed(use.value)]
        counts, sizes = Counter(map(self.key, computed)), {self.key(value): _size(value) for value in computed}
        frequent = set[Key]()
        for key in sorted((key for key, count in counts.items() if count >= cse_thresh), key=lambda key: -sizes[key]):
            if sum(self.key(use.value) == key for use in self._uses(frequent)) >= cse_thresh:
                frequent.add(key)
        return frequent

    def _uses(self, frequent: set[Key] | None = None) -> Iterator[_Use]:
        """The operands of statements and expressions, outside first; not inside of expressions in `frequent`."""
        for statement in self._statements(self.block.body.block):
            yield from self._uses_of(statement, frequent or set())

    def _statements(self, body: Block) -> Iterator[Operation]:
        for op in statements(body):
            if not isinstance(op, AccessOp):
                yield op
            for region in op.regions:
                for inner in region.blocks:
                    yield from self._statements(inner)

    def _uses_of(self, op: Operation, frequent: set[Key]) -> Iterator[_Use]:
        for index, value in enumerate(op.operands):
            yield _Use(op, index)
            inside = value.owner
            if not isinstance(inside, Block) and is_expression_op(inside) and self.key(value) not in frequent:
                yield from self._uses_of(inside, frequent)

    def key(self, value: SSAValue) -> Key:
        """The structure of an expression; the value itself for other values."""
        if value not in self.keys:
            op = value.owner
            is_pure = not isinstance(op, Block) and not op.regions and is_expression_op(op) and is_speculatable(op)
            self.keys[value] = self._structure(op) if is_pure and not isinstance(op, Block) else value
        return self.keys[value]

    def _structure(self, op: Operation) -> Key:
        types = tuple(result.type for result in op.results)
        attributes = tuple(sorted((name, str(each)) for name, each in {**op.attributes, **op.properties}.items()))
        return (op.name, attributes, types, tuple(self.key(operand) for operand in op.operands))

    def _is_computed(self, value: SSAValue) -> bool:
        """Whether a value is computed by more than a conversion, from an axis of the block, and from nothing else that
        is not known at the gap."""
        if isinstance(value.owner, Block) or self.key(value) is value:
            return False
        leaves = list(_leaves(value))
        axes = set(self.block.variables)
        known = all(each in axes or self.gap.is_fixed(each) for each in leaves)
        return known and any(each in axes for each in leaves) and not _is_conversion(value)


def _leaves(value: SSAValue) -> Iterator[SSAValue]:
    """The values from which expressions compute a value, without constants."""
    op = value.owner
    if isinstance(op, Block) or not is_expression_op(op) or op.regions or not is_speculatable(op):
        yield value
        return
    for operand in op.operands:
        yield from _leaves(operand)


def _size(value: SSAValue) -> int:
    """The number of operations in an expression."""
    op = value.owner
    if isinstance(op, Block) or not is_expression_op(op):
        return 0
    return 1 + sum(map(_size, op.operands))


def _is_conversion(value: SSAValue) -> bool:
    """Whether a value is another one in another type."""
    op = value.owner
    return not isinstance(op, Block) and len(op.operands) == 1 and isinstance(op.operands[0].owner, Block)


def _grouped(uses: Iterator[tuple[Key, _Use]] | list[tuple[Key, _Use]]) -> list[list[_Use]]:
    groups: dict[Key, list[_Use]] = {}
    for key, use in uses:
        groups.setdefault(key, []).append(use)
    return list(groups.values())


# Rewriting


@dataclass(frozen=True)
class _Plan:
    """A cached expression. uses: the operands that it becomes.  axes: the positions of the axes that it depends on.
    lows, extents: their domains."""

    uses: list[_Use]
    axes: list[int]
    lows: list[Lin]
    extents: list[Lin]


def _plan(analyzer: Analyzer, block: BlockOp, uses: list[_Use], gap: Gap) -> _Plan:
    leaves = set(_leaves(uses[0].value))
    axes = [n for n, variable in enumerate(block.variables) if variable in leaves]
    domains = [(analyzer.lin(block.axes[n].low), analyzer.lin(block.axes[n].extent)) for n in axes]
    for leaf in (leaf for domain in domains for bound in domain for leaf in bound.leaves()):
        if not gap.is_fixed(leaf):
            raise ScheduleError(
                f"the domain of an axis of block {block_name(block)} is not known at the start of its scope", [block]
            )
    return _Plan(uses, axes, [low for low, _ in domains], [extent for _, extent in domains])


def _cache(analyzer: Analyzer, block: BlockOp, plan: _Plan, number: int, gap: Gap, space: Attribute) -> BlockOp:
    """Allocates the buffer of an expression, inserts the block that fills it, and replaces the uses of the
    expression."""
    func, value = function_of(block), plan.uses[0].value
    buffer = _allocate(
        analyzer, enclosing_scope(block), fresh_buffer_name(func, f"index_var_{number}"), value, plan, space
    )
    new = _compute(analyzer, block, plan, buffer, fresh_block_name(func, f"index_{number}"), gap)
    _load(analyzer, block, plan, buffer)
    return new


def _allocate(
    analyzer: Analyzer, scope: FuncOp | BlockOp, name: str, value: SSAValue, plan: _Plan, space: Attribute
) -> SSAValue:
    start, scratch = scope_start(scope), Block()
    builder = TirBuilder(scratch, scope.location)
    dims = [export_mixed(analyzer, extent, builder, value.type) for extent in plan.extents]
    op = builder.insert(AllocBufferOp(name, value.type, dims, space=space))
    start.insert_all(scratch)
    return op.buffer


def _compute(analyzer: Analyzer, block: BlockOp, plan: _Plan, buffer: SSAValue, name: str, gap: Gap) -> BlockOp:
    """Inserts the loops `ax0, ax1, ...` around the block that computes the expression."""
    scratch, type = Block(), index_type(block)
    builder = TirBuilder(scratch, gap.outer.location)
    loops: list[ForOp] = []
    for n, extent in enumerate(plan.extents):
        loops.append(builder.insert(make_loop(f"ax{n}", 0, export_mixed(analyzer, extent, builder, type), type)))
        builder.point = InsertPoint.at_end(loops[-1].body.block)
    axes = [
        Axis(
            f"v{n}",
            "spatial",
            export_mixed(analyzer, low, builder, type),
            export_mixed(analyzer, extent, builder, type),
            export(analyzer, low + Lin.of(loop.variable), builder, type),
        )
        for n, (low, extent, loop) in enumerate(zip(plan.lows, plan.extents, loops, strict=True))
    ]
    new = builder.insert(BlockOp(name, axes))
    inner = TirBuilder(new.body.block, block.location)
    elements = [Lin.of(axis) - low for axis, low in zip(new.variables, plan.lows, strict=True)]
    inner.insert(AccessOp("writes", buffer, [(export_mixed(analyzer, each, inner, type), 1) for each in elements]))
    known: dict[SSAValue, SSAValue] = dict(zip((block.variables[n] for n in plan.axes), new.variables, strict=True))
    value = copy_expression(plan.uses[0].value, inner, known)
    inner.store(value, buffer, [export(analyzer, each, inner, type) for each in elements])
    gap.insert_all(scratch)
    return new


def _load(analyzer: Analyzer, block: BlockOp, plan: _Plan, buffer: SSAValue) -> None:
    """Replaces the uses of an expression by loads, which the block declares."""
    type = index_type(block)
    elements = [Lin.of(block.variables[n]) - low for n, low in zip(plan.axes, plan.lows, strict=True)]
    accesses = block.accesses
    if accesses:
        first = with_expressions(accesses[0])[0]
        builder = TirBuilder(InsertPoint.before(first), accesses[0].location)
        region = [(export_mixed(analyzer, each, builder, type), 1) for each in elements]
        builder.insert(AccessOp("reads", buffer, region))
    for use in plan.uses:
        old = use.value
        builder = TirBuilder(InsertPoint.before(use.op), use.op.location)
        use.op.operands[use.index] = builder.load(buffer, [export(analyzer, each, builder, type) for each in elements])
        erase_if_dead(old)
