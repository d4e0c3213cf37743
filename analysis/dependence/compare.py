"""Comparison of the value flows of two programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from xdsl.ir import Operation

from .. import isl, isl_budget
from .affine import ranges_of
from .digits import Digit
from .flow import Flow
from .liveness import Liveness, liveness
from .matching import UnmatchedError, align_flows
from .sources import LIVE_IN, LIVE_OUT, AmbiguousSources, Key, Memory, NamedSources, Sink, ValueSource
from .violation import Difference, Violation, explain


def compare_flows(
    before: Flow,
    after: Flow,
    composed_before: Iterable[Key] = (),
    composed_after: Iterable[Key] = (),
    renamed: Mapping[Any, Any] | None = None,
    relocated: Collection[Memory] = (),
) -> Violation | None:
    """The first difference between the value flows of a program before and after a transformation, or None.

    composed_before, composed_after: statements that copy (or are inlined): a reader of their writes counts as a reader
    of their reads.  renamed: statements (`Init(block)` for the init of a block) and buffers of the program before,
    mapped to their counterparts in the program after.  relocated: buffers of the program after whose elements have
    other indices than in the program before: only the instances that write the values are compared, not the elements.
    """
    pairs = dict(renamed or {})
    after = _unify_parameters(before, after, pairs)
    copies = set(composed_before), set(composed_after)
    try:
        with isl_budget.isl_operation_limit(isl_budget.DEPENDENCES):
            before, after = align_flows(before, after, pairs)
            violation = _compare(before, after, *copies, pairs, relocated)
    except UnmatchedError as unmatched:
        return Violation(str(unmatched), unmatched.statements, unmatched.names)
    except isl.Error:
        return Violation("whether it computes the same takes too much to find out", *_involved_ops(before))
    if violation is None:
        return None
    # The search for dead executions is expensive, and most programs have none, or none that matter.
    try:
        with isl_budget.isl_operation_limit(isl_budget.DEAD_EXECUTIONS):
            return _compare_live(before, after, *copies, pairs, relocated, violation)
    except isl.Error:
        return violation


def _involved_ops(flow: Flow) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
    ops = {key: statement.label for key, statement in flow.statements.items() if isinstance(key, Operation)}
    return tuple(ops), tuple(ops.values())


def _compare_live(
    before: Flow,
    after: Flow,
    composed_before: set[Key],
    composed_after: set[Key],
    pairs: dict[Any, Any],
    relocated: Collection[Memory],
    violation: Violation,
) -> Violation | None:
    """The first difference with dead executions left out. violation: the difference with them included."""
    copies = composed_before, composed_after
    alive_before, alive_after = liveness(before), liveness(after)
    live_before, live_after = alive_before.part_of(before), alive_after.part_of(after)
    if live_before is before and live_after is after:
        return violation
    if not _are_compared(alive_after, live_before, after, pairs):
        return violation
    rest = _compare(live_before, live_after, *copies, pairs, relocated, all_after=after)
    return rest if rest is None or violation.is_ambiguous else violation


def _are_compared(alive: Liveness, before: Flow, after: Flow, renamed: dict[Any, Any]) -> bool:
    """Whether the executions after that may not run on arbitrary values are among the compared instances, or new."""
    originals = {renamed.get(key, key): statement for key, statement in before.statements.items()}
    for key, executions in alive.needed.items():
        if key in originals:
            instances, was = executions.apply(after.statements[key].instances), originals[key].instances.range()
            if instances.dim(isl.dim_type.set) != was.dim(isl.dim_type.set) or not instances.is_subset(was):
                return False
    return True


def _compare(
    before: Flow,
    after: Flow,
    composed_before: set[Key],
    composed_after: set[Key],
    renamed: dict[Any, Any],
    relocated: Collection[Memory],
    all_after: Flow | None = None,
) -> Violation | None:
    """The first difference; if axes do not identify instances well enough, the values of more loops are appended to
    their names.

    all_after: the program after with its dead executions, if `after` lacks these.
    """
    comparison = _Comparison(before, after, composed_before, composed_after, renamed, relocated)
    violation = comparison.run(all_after)
    if not comparison.is_ambiguous_before:
        return violation
    loops = _common_loops(before, after, renamed)
    if not loops:
        return violation
    images = {comparison.image(key): value for key, value in loops.items()}
    names = before.with_loop_names(loops), after.with_loop_names(images)
    longer = _Comparison(*names, composed_before, composed_after, renamed, relocated)
    return longer.run(None if all_after is None else all_after.with_loop_names(images))


def _common_loops(before: Flow, after: Flow, renamed: dict[Any, Any]) -> dict[Key, tuple[Operation | Digit, ...]]:
    """The loops around a statement both before and after, by statement whose instances run several times before."""
    result: dict[Key, tuple[Operation | Digit, ...]] = {}
    for key, statement in before.statements.items():
        other = after.statements.get(renamed.get(key, key))
        if other is not None and not statement.is_injective:
            loops = tuple(loop for loop in statement.loops if loop in other.loops)
            if loops:
                result[key] = loops
    return result


def _unify_parameters(before: Flow, after: Flow, renamed: dict[Any, Any]) -> Flow:
    """The flow after a transformation, with the parameter names of the flow before."""
    names = {renamed.get(value, value): name for value, name in before.parameters.items()}
    if all(names.get(value) == name for value, name in after.parameters.items()):
        return after
    fresh = (f"q{n}" for n in count())
    return after.with_parameters({v: names[v] if v in names else next(fresh) for v in after.parameters})


@dataclass(frozen=True)
class Reads:
    """The reads of a memory by a reader."""

    reader: Key
    memory: Memory
    is_update: bool


class CyclicCopyError(ValueError):
    """A composed statement reads its own writes. statement: the key of that statement."""

    def __init__(self, statement: Key):
        super().__init__("a statement that is composed away reads what it writes itself")
        self.statement = statement


class _Refused(Exception):
    """The flows differ."""

    def __init__(self, difference: Difference):
        super().__init__()
        self.difference = difference


class _Comparison:
    def __init__(
        self,
        before: Flow,
        after: Flow,
        composed_before: set[Key],
        composed_after: set[Key],
        renamed: dict[Any, Any],
        relocated: Collection[Memory],
    ):
        self.before, self.after = before, after
        self.renamed = renamed
        self.relocated = relocated
        old_memories = {self.image(m) for m in before.memories}
        self.old = _Side(before, composed_before, lambda m: self.image(m) in after.memories)
        self.new = _Side(after, composed_after, lambda m: m in old_memories)
        self.is_ambiguous_before = False

    def image(self, key: Any) -> Any:
        """The counterpart after the transformation of a statement or buffer before it."""
        return self.renamed.get(key, key)

    def run(self, all_after: Flow | None = None) -> Violation | None:
        """The first difference, or None."""
        try:
            for side in (self.old, self.new):
                self._compute(side)
            self._compare()
        except _Refused as refused:
            return explain(refused.difference, self.before, all_after or self.after, self.renamed)
        return None

    def _compute(self, side: _Side) -> None:
        try:
            side.compute()
        except AmbiguousSources as problem:
            self.is_ambiguous_before = side is self.old
            reads = Reads(problem.sink.key, problem.sink.memory, problem.sink.is_update)
            table = {problem.source: problem.pairs}
            difference = Difference(reads, {}, table, problem.source, problem.pairs, problem.how, side.flow)
            raise _Refused(difference) from problem

    def _compare(self) -> None:
        old = {
            Reads(self.image(r.reader), self.image(r.memory), r.is_update): {
                ValueSource(self.image(s.writer), self.image(s.memory), s.is_contribution): m for s, m in table.items()
            }
            for r, table in self.old.table.items()
        }
        for reads in dict.fromkeys([*old, *self.new.table]):
            self._compare_reads(reads, old.get(reads, {}), self.new.table.get(reads, {}))

    def _compare_reads(self, reads: Reads, old: dict[ValueSource, isl.Map], new: dict[ValueSource, isl.Map]) -> None:
        if reads.reader != LIVE_OUT:
            common = self._common(reads.reader)
            if common is None:
                return
            old = {s: m.intersect_domain(common) for s, m in old.items()}
            new = {s: m.intersect_domain(common) for s, m in new.items()}
        elif self._is_irrelevant(reads.memory):
            return
        rank = self.after.memories[reads.memory].rank if reads.memory in self.relocated else 0
        for source in dict.fromkeys([*old, *new]):
            was, now = old.get(source), new.get(source)
            missing = was if now is None or was is None else _subtract(was, now, rank)
            extra = now if now is None or was is None else _subtract(now, was, rank)
            for difference in (missing, extra):
                if difference is None or difference.is_empty():
                    continue
                difference = difference.intersect_params(self._context)
                if not difference.is_empty():
                    raise _Refused(Difference(reads, old, new, source, difference))

    @cached_property
    def _context(self) -> isl.Set:
        """The set of values that parameters can have."""
        values = {name: value for flow in (self.after, self.before) for value, name in flow.parameters.items()}
        return ranges_of({value: name for name, value in values.items()})

    def _common(self, reader: Key) -> isl.Set | None:
        """The instances of a reader that run in both programs; None if only one program has the statement."""
        was = next((s for k, s in self.before.statements.items() if self.image(k) == reader), None)
        now = self.after.statements.get(reader)
        if was is None or now is None:
            return None
        return was.instances.range().intersect(now.instances.range())

    def _is_irrelevant(self, memory: Memory) -> bool:
        """Whether the final contents of some memory are never read: their only possible reader is the next run of the
        region, and each run reads only its own writes."""
        before = {self.image(m): f for m, f in self.before.memories.items()}
        flow, table = before.get(memory), self.old.table
        if flow is None:  # memory that only the program after has
            flow, table = self.after.memories.get(memory), self.new.table
        if flow is None or not flow.is_carried:
            return False
        return not any(
            s.writer == LIVE_IN and s.memory == memory and not m.intersect_params(self._context).is_empty()
            for r, sources in table.items()
            if r.reader != LIVE_OUT
            for s, m in sources.items()
        )


class _Side:
    """The flow of one program, with the copies composed away."""

    def __init__(self, flow: Flow, composed: set[Key], keeps: Callable[[Memory], bool]):
        self.flow = flow
        self.composed = composed
        self.keeps = keeps
        self.named: NamedSources = {}
        self.table: dict[Reads, dict[ValueSource, isl.Map]] = {}

    def compute(self) -> None:
        """Computes the table of sources."""
        for memory in self.flow.memories.values():
            self.named.update(memory.named_sources)
        for sink, sources in self.named.items():
            if sink.key not in self.composed:
                for source, relation in sources:
                    self._trace(sink, sink.memory, source, relation, ())

    def _trace(self, sink: Sink, at: Memory, source: ValueSource, relation: isl.Map, path: tuple[Key, ...]) -> None:
        """Adds a source, or the origin of its copy. relation: { reader -> [writer, element of `at`] }."""
        if source.writer not in self.composed:
            memory, relation = self._original(at, relation)
            table = self.table.setdefault(Reads(sink.key, memory, sink.is_update), {})
            table[source] = table[source].union(relation) if source in table else relation
            return
        if source.writer in path:
            raise CyclicCopyError(source.writer)
        rank = self.flow.memories[at].rank
        elements = isl.Map.identity(relation.get_space().params().add_unnamed_tuple_ui(rank).map_from_set())
        for inner, sources in self.named.items():
            if inner.key != source.writer:
                continue
            for origin, copied in sources:
                # { [copy, element] -> [origin, element copied from, element] }
                flow = relation.apply_range(copied.flat_product(elements))
                other, keeps = self.flow.memories[inner.memory].rank, self.keeps(at)
                width = flow.dim(isl.dim_type.out)
                first, count = (width - rank - other, other) if keeps else (width - rank, rank)
                flow = flow.project_out(isl.dim_type.out, first, count)
                self._trace(sink, at if keeps else inner.memory, origin, flow, (*path, source.writer))

    def _original(self, at: Memory, relation: isl.Map) -> tuple[Memory, isl.Map]:
        """The memory and elements that replace elements of memory of this program alone that is copied to memory of
        both: the destination of the copy. relation: { reader -> [writer, element of `at`] }."""
        if self.keeps(at):
            return at, relation
        for key in self.composed:
            statement = self.flow.statements.get(key)
            if statement is None or at not in statement.accesses or (read := statement.accesses[at].reads) is None:
                continue
            for memory, accesses in statement.accesses.items():
                if accesses.writes is not None and self.keeps(memory):
                    elements = read.reverse().apply_range(accesses.writes)
                    width = relation.dim(isl.dim_type.out) - self.flow.memories[at].rank
                    writers = isl.Map.identity(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, width, width))
                    return memory, relation.apply_range(writers.flat_product(elements))
        return at, relation


def _subtract(a: isl.Map, b: isl.Map, rank: int) -> isl.Map:
    """The pairs of a relation { reader -> [writer, element] } that another one lacks.

    rank: the number of indices of an element, if elements have different indices in the two relations and count as
    equal; else 0.
    """
    if not rank:
        return a.subtract(b)
    position = a.dim(isl.dim_type.out) - rank
    writers = (relation.project_out(isl.dim_type.out, position, rank) for relation in (a, b))
    lacking = next(writers).subtract(next(writers))
    return a.intersect(lacking.insert_dims(isl.dim_type.out, position, rank))
