"""Dependences between the iterations of a loop or the instances of a block."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.tir import BlockOp, ForOp, LaunchThreadOp
from .. import isl
from ..names import memory_name
from ..reducers import Reducer, match_reducer
from ..threads.axes import is_thread_loop
from ..threads.memories import buffer_of, memory_of
from .accesses import AccessCollector
from .affine import Affine, IndexAnalyzer, NotAffineValue, Parameters, Point
from .digits import Digit, loop_of_step, step_name
from .flow import Flow, flow_of, is_used_outside, memory_rank
from .model import Region, merge_accesses
from .points import at_point, lexicographic_minimum, render_parameters, render_point
from .rows import has_own_rows
from .sources import LIVE_IN, AmbiguousSources, Memory, ValueSource
from .statements import Statement, StatementAccesses, project
from .violation import Violation


def carried_dependence(
    loop: ForOp | LaunchThreadOp, *, allow_reduction: bool = False, memories: AbstractSet[Memory] | None = None
) -> Violation | None:
    """The dependence that prevents the iterations of a loop from running concurrently in any order, or None.

    No iteration may write an element that another iteration reads or writes, except for temporaries that only this loop
    uses, if each iteration reads only its own writes: then each iteration may have its own copy.

    allow_reduction: whether iterations may contribute to the same element by one reduction: a block with an init.
    memories: restrict the check to these; None for all.
    """
    region = Region(loop)
    touching = [
        op
        for op, touched in region.memories_of_statements.items()
        if memories is None or not touched.isdisjoint(memories)
    ]
    statements = region.statements(touching)
    for memory in dict.fromkeys(m for s in statements for m in s.accesses if memories is None or m in memories):
        if memory is not None and loop.is_ancestor(memory.owner):  # pyright: ignore[reportArgumentType]
            continue
        violation = _Conflicts(region, memory, statements, allow_reduction).find()
        if violation is None or _is_private(loop, memory):
            continue
        if memory is None or not isinstance(loop, ForOp) or not has_own_rows(loop, memory):
            return violation
    return None


def _is_private(loop: Operation, memory: Memory) -> bool:
    """Whether each iteration may have its own copy of some memory."""
    if memory is None or isinstance(memory, BlockArgument) or is_used_outside(loop, memory):
        return False
    sources = _sources_inside(flow_of(Region(loop, around=False), {memory}), memory)
    return sources is not None and all(source.writer != LIVE_IN for source in sources)


def reads_its_writes(block: BlockOp, buffer: SSAValue) -> bool:
    """Whether an instance of a block may read an element of a buffer that it has itself written before.

    buffer: the allocated buffer or the parameter, not a view of it.
    """
    flow = flow_of(Region(block), {buffer})
    updates = flow.memories[buffer].updates if buffer in flow.memories else []
    if any(not event.relation.is_injective() for _, event in updates):  # a reduction adds to its own writes
        return True
    sources = _sources_inside(flow, buffer)
    return sources is None or any(source.writer != LIVE_IN for source in sources)


def _sources_inside(flow: Flow, memory: Memory) -> list[ValueSource] | None:
    """The sources of the reads of some memory by the statements of a region; None if unknown."""
    if memory not in flow.memories:
        return []
    try:
        named = flow.memories[memory].named_sources
    except AmbiguousSources:
        return None
    return [source for sink, sources in named.items() if sink.key in flow.statements for source, _ in sources]


@dataclass(frozen=True)
class _Touch:
    """One kind of access of one statement to the memory: { execution -> element }."""

    statement: Statement
    relation: isl.Map
    is_write: bool
    is_update: bool = False


class _Conflicts:
    """The conflicting accesses of two iterations of a loop to one element of some memory."""

    def __init__(self, region: Region, memory: Memory, statements: list[Statement], allow_reduction: bool):
        self.region = region
        self.memory = memory
        self.allow_reduction = allow_reduction
        self.touches = [t for s in statements if memory in s.accesses for t in _touches(s, s.accesses[memory])]

    def find(self) -> Violation | None:
        """The first conflict; None if the iterations are independent."""
        for n, a in enumerate(self.touches):
            for b in self.touches[n:]:
                if (a.is_write or b.is_write) and not self._is_allowed(a, b) and self._may_meet(a, b):
                    pairs = self._conflicts(a, b)
                    if not pairs.is_empty():
                        return self._explain(a, b, pairs)
        return None

    def _may_meet(self, a: _Touch, b: _Touch) -> bool:
        """Whether two iterations can reach two statements at the same time. All threads of a thread block execute one
        statement after the other if they reach it together."""
        return not is_thread_loop(self.region.root) or self._path_above_threads(a) == self._path_above_threads(b)

    def _path_above_threads(self, touch: _Touch) -> tuple[Operation | Digit | int, ...]:
        """The part of a statement's path that precedes loops over threads."""
        path = touch.statement.path
        threads = [n for n, step in enumerate(path) if not isinstance(step, int) and is_thread_loop(loop_of_step(step))]
        return path[: threads[0]] if threads else ()

    def _conflicts(self, a: _Touch, b: _Touch) -> isl.Map:
        """{ iteration -> another iteration that accesses the same element }."""
        # Threads may write the same value, as the same instance of a statement.
        same_value = a is b and self._is_assigned_by_name(a)
        width = len(_positions(a.statement, self.region.root))
        shared, names = self._shared_loops(a), len(a.statement.names) if same_value else 0
        pairs = self._relation_by_iteration(a, shared, names).apply_range(
            self._relation_by_iteration(b, shared, names).reverse()
        )
        for n in range(shared):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        if same_value:
            same = pairs
            for n in range(shared + width, shared + width + names):
                same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
            pairs = pairs.subtract(same)
        for kind in (isl.dim_type.in_, isl.dim_type.out):
            pairs = pairs.project_out(kind, shared + width, names).project_out(kind, 0, shared)
        return pairs.subtract(isl.Map.identity(pairs.get_space()))

    def _is_assigned_by_name(self, touch: _Touch) -> bool:
        """Whether the instance alone determines the value that a statement writes, whichever thread runs it."""
        named = touch.statement.is_named and touch.is_write and not touch.is_update
        return named and is_thread_loop(self.region.root)

    def _shared_loops(self, touch: _Touch) -> int:
        """The number of loops before the analyzed loop that have the same values in both iterations."""
        if not is_thread_loop(self.region.root):
            return 0
        return sum(not isinstance(step, int) for step in self._path_above_threads(touch))

    def _relation_by_iteration(self, touch: _Touch, shared: int, names: int) -> isl.Map:
        """{ shared loops, iteration, instance -> element } from { execution -> element }."""
        relation, statement = touch.relation, touch.statement
        positions = _positions(statement, self.region.root)
        identity = isl.Map.identity(statement.domain.get_space().map_from_set())
        kept = project(identity, [*range(shared), *positions])
        if names:
            kept = kept.flat_range_product(statement.instances)
        return relation.apply_domain(kept)

    def _is_allowed(self, a: _Touch, b: _Touch) -> bool:
        """Whether both accesses are parts of one reduction, a block with init, that the loop may perform in any
        order."""
        block, other = (getattr(t.statement.key, "block", t.statement.key) for t in (a, b))
        if not self.allow_reduction or block is not other or not isinstance(block, BlockOp) or block.init is None:
            return False
        return a.is_update or b.is_update or self._is_accumulator(block)

    def _is_accumulator(self, block: BlockOp) -> bool:
        """Whether a block accumulates into the memory, possibly several values at once, as argmax does."""
        reducer = match_reducer(block)
        return isinstance(reducer, Reducer) and any(memory_of(a.buffer) is self.memory for a in reducer.accumulators)

    def _explain(self, a: _Touch, b: _Touch, pairs: isl.Map) -> Violation:
        parameters, first, second = lexicographic_minimum(pairs)
        one, other = (self._in_iteration(t, parameters, p) for t, p in ((a, first), (b, second)))
        both = one.range().intersect(other.range())
        _, _, element = lexicographic_minimum(isl.Map.from_range(both))
        texts = [
            self._instance(t, relation.intersect_range(_point(relation, element)))
            for t, relation in ((a, one), (b, other))
        ]
        name = memory_name(self.memory)
        if self.memory is not None:
            buffer = buffer_of(self.memory) or self.memory
            indices = element[: memory_rank(buffer)]
            name = f"{memory_name(buffer)}[{', '.join(map(str, indices))}]"
        steps = [a.statement.loops[n] for n in _positions(a.statement, self.region.root)]
        here, there = (
            ", ".join(f"{step_name(s)}={n}" for s, n in zip(steps, point, strict=True)) for point in (first, second)
        )
        message = (
            f"{name} is {_verb(a)} by {texts[0]} in iteration {here} and {_verb(b)} by {texts[1]} "
            f"in iteration {there}{render_parameters(parameters, self.region.label)}"
        )
        ops = tuple(dict.fromkeys(_op(t.statement) for t in (a, b)))
        not_affine = tuple(dict.fromkeys(text for t in (a, b) for text in t.statement.not_affine))
        return Violation(message, ops, tuple(t.statement.label for t in (a, b)), not_affine)

    def _in_iteration(self, touch: _Touch, parameters: dict[str, int], point: Point) -> isl.Map:
        """The elements that a statement accesses in one iteration of the loop."""
        relation = at_point(touch.relation, parameters, ())
        for position, number in zip(_positions(touch.statement, self.region.root), point, strict=True):
            relation = relation.fix_val(isl.dim_type.in_, position, number)
        return relation

    def _instance(self, touch: _Touch, relation: isl.Map) -> str:
        statement = touch.statement
        instances = statement.instances.intersect_domain(relation.domain())
        _, _, point = lexicographic_minimum(isl.Map.from_range(instances.range()))
        kind = "block " if statement.is_block else ""
        return f"{kind}{statement.label}{f' at {render_point(statement.names, point)}' if point else ''}"


def _positions(statement: Statement, loop: Operation) -> list[int]:
    """The dimensions of the executions of a statement that a loop counts: one, or the digits of a fused loop."""
    return [n for n, step in enumerate(statement.loops) if loop_of_step(step) is loop]


def _op(statement: Statement) -> Operation:
    return statement.key if isinstance(statement.key, Operation) else statement.key.block


def _verb(touch: _Touch) -> str:
    return "updated" if touch.is_update else "written" if touch.is_write else "read"


def _touches(statement: Statement, access: StatementAccesses) -> Iterator[_Touch]:
    if access.writes is not None:
        yield _Touch(statement, access.writes, True)
    if access.updates is not None:
        yield _Touch(statement, access.updates, True, True)
    if access.reads is not None:
        yield _Touch(statement, access.reads, False)


def _conflicts(a: isl.Map, b: isl.Map) -> isl.Map:
    """The pairs of different points that access the same element, one by `a` and the other by `b`."""
    pairs = a.apply_range(b.reverse())
    return pairs.subtract(isl.Map.identity(pairs.get_space()))


def _point(relation: isl.Map, element: tuple[int, ...]) -> isl.Set:
    result = isl.Set.universe(relation.get_space().range())
    for n, number in enumerate(element):
        result = result.fix_val(isl.dim_type.set, n, number)
    return result


# Blocks


def has_self_conflicts(block: BlockOp, *, with_init: bool = True) -> bool:
    """Whether two different instances of a block access the same element, at least one of them as a write.

    Contributions to one recognized reduction do not conflict with each other. Without conflicts, the instances may run
    in any order. The writes of a `tir.init` conflict with the contributions of other instances.

    with_init: False for orders in which the first instance of each reduction stays the first.
    """
    parameters = Parameters(lambda value: not block.is_ancestor(value.owner))  # pyright: ignore[reportArgumentType]
    collector = AccessCollector(parameters, block.variables)
    accesses = collector.block(block)
    domain = _axis_domain(block, parameters)
    for memory in dict.fromkeys(a.memory for a in accesses):
        groups: list[_Pair] = []
        for in_init in (True, False):
            chosen = [(a, a.relation) for a in accesses if a.memory is memory and a.in_init is in_init]
            if chosen and (with_init or not in_init):
                access = merge_accesses(chosen, domain, True)
                groups += [_Pair(access.writes, True), _Pair(access.updates, True, True), _Pair(access.reads, False)]
        groups = [g for g in groups if g.relation is not None]
        for n, a in enumerate(groups):
            for b in groups[n:]:
                if (a.is_write or b.is_write) and not (a.is_update and b.is_update) and a.meets(b):
                    return True
    return False


@dataclass(frozen=True)
class _Pair:
    relation: isl.Map | None
    is_write: bool
    is_update: bool = False

    def meets(self, other: _Pair) -> bool:
        """Whether the two accesses conflict."""
        assert self.relation is not None
        assert other.relation is not None
        return not _conflicts(self.relation, other.relation).is_empty()


def _axis_domain(block: BlockOp, parameters: Parameters) -> isl.Set:
    affine = Affine(IndexAnalyzer(), parameters, len(block.variables))
    domain = affine.universe()
    for n, axis in enumerate(block.axes):
        try:
            domain = domain.intersect(affine.range(n, axis.low, axis.extent))
        except NotAffineValue:
            continue
    return domain
