"""The value flow in memory of which each element is assigned once, without a search for last writers.

This covers nearly all memory of tensor programs. Where no two instances write the same element, the element determines
the writer of each read; only the order of write and read remains to be checked. And where one init and contributions to
one reduction are the only writes of an element, only their precedence over the read remains to be checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import isl
from .order import AccessEvent, common_loop_count, is_unique, lift, pairs_before, reads_before_writes
from .sources import LIVE_IN, AmbiguousSources, MemoryAccesses, NamedSources, Sink, ValueSource


class NotAssignedOnce(Exception):
    """The memory has an element with several assignments."""


class AssignedOnce:
    """The flow in one memory with contributions to at most one reduction."""

    def __init__(self, events: MemoryAccesses):
        self.events = events
        self.named_writes = [w.relation_by_instance() for w in events.writes]
        self.named_updates = [u.relation_by_instance() for _, u in events.updates]
        self._check_writes()

    def _check_writes(self) -> None:
        """Raises NotAssignedOnce if two instances write the same element."""
        ranges = [w.range() for w in self.named_writes]
        for n, (relation, written) in enumerate(zip(self.named_writes, ranges, strict=True)):
            if not relation.is_injective() or any(not written.is_disjoint(other) for other in ranges[:n]):
                raise NotAssignedOnce

    def compute(self) -> NamedSources:
        """The sources of each sink. NotAssignedOnce if the reads cannot be resolved this way."""
        if not self.events.updates:
            return self._flow_of_assignments()
        return self._flow_of_reduction()

    # Without reductions

    def _flow_of_assignments(self) -> NamedSources:
        result: NamedSources = {}
        for sink, read in self.events.reads:
            result[sink] = self._sources_of_read(sink, read)
        if self.events.last is not None:
            result[self.events.last] = self._sources(self.events.everything)
        return result

    def _sources_of_read(self, sink: Sink, read: AccessEvent) -> list[tuple[ValueSource, isl.Map]]:
        """The sources of the reads by one statement; the source of a read before the write lies before the region."""
        instances = read.statement.instances
        sources: list[tuple[ValueSource, isl.Map]] = []
        before = read.relation
        for write, named in zip(self.events.writes, self.named_writes, strict=True):
            early = reads_before_writes(read, write, write.relation.range())
            before = before.subtract(read.relation.intersect_range(write.relation.range()))
            late = read.relation.intersect_range(write.relation.range())
            if not early.is_empty():
                lifted = late.intersect(lift(early, late.dim(isl.dim_type.in_)))
                late = late.subtract(lifted)
                before = before.union(lifted)
            if not late.is_empty():
                sources.append((ValueSource(write.statement.key), _join(late.apply_domain(instances), named)))
        if not before.is_empty():
            self._check_unambiguous(sink, read, before)
            sources.append(
                (ValueSource(LIVE_IN, self.events.memory), _duplicate_elements(before.apply_domain(instances)))
            )
        return sources

    def _check_unambiguous(self, sink: Sink, read: AccessEvent, before: isl.Map) -> None:
        """Raises Ambiguous if only some executions of an instance read an element too early."""
        if read.statement.is_injective:
            return
        instances = read.statement.instances
        both = before.apply_domain(instances).intersect(read.relation.subtract(before).apply_domain(instances))
        if not both.is_empty():
            raise AmbiguousSources(sink, ValueSource(LIVE_IN, self.events.memory), _duplicate_elements(both), "some")

    def _sources(self, relation: isl.Map, *, contributions: bool = True) -> list[tuple[ValueSource, isl.Map]]:
        """The sources of the reads in a relation { instance -> element } when all writes precede them."""
        sources: list[tuple[ValueSource, isl.Map]] = []
        rest = relation
        for write, named in zip(self.events.writes, self.named_writes, strict=True):
            sources.append((ValueSource(write.statement.key), _join(relation, named)))
            rest = rest.subtract_range(named.range())
        sources.append((ValueSource(LIVE_IN, self.events.memory), _duplicate_elements(rest)))
        if contributions:
            for (_, update), named in zip(self.events.updates, self.named_updates, strict=True):
                sources.append((ValueSource(update.statement.key, None, True), _join(relation, named)))
        return [(s, m) for s, m in sources if not m.is_empty()]

    # With one reduction

    def _flow_of_reduction(self) -> NamedSources:
        """The sources of each sink, if all contributions to an element follow its init and precede its reads, in each
        iteration of some outer loops (of none, if the contents matter later)."""
        if len({u.statement.accesses[self.events.memory].reduction for _, u in self.events.updates}) > 1:
            raise NotAssignedOnce
        if not any(self._is_complete(level) for level in self._levels()):
            raise NotAssignedOnce
        result: NamedSources = {sink: self._sources(read.relation_by_instance()) for sink, read in self.events.reads}
        for (sink, _), named in zip(self.events.updates, self.named_updates, strict=True):
            result[sink] = self._sources(named, contributions=False)
        if self.events.last is not None:
            result[self.events.last] = self._sources(self.events.everything)
        return result

    def _levels(self) -> Sequence[int]:
        """The candidate numbers of outer loops in each iteration of which the reduction may be restarted."""
        if self.events.last is not None:
            return [0]
        return [0, *range(common_loop_count([*(r for _, r in self.events.reads), *self._all_writes()]), 0, -1)]

    def _all_writes(self) -> list[AccessEvent]:
        return [*self.events.writes, *(u for _, u in self.events.updates)]

    def _is_complete(self, level: int) -> bool:
        updates = [u for _, u in self.events.updates]
        reads = [r for _, r in self.events.reads]
        return (
            all(is_unique(e.statement, level) for e in self._all_writes())
            and all(pairs_before(u, w, level) is None for u in updates for w in self.events.writes)
            and all(pairs_before(r, w, level) is None for r in reads for w in self._all_writes())
            and (level == 0 or self._is_restarted(level))
        )

    def _is_restarted(self, level: int) -> bool:
        """Whether each iteration of outer loops initializes the elements that it contributes to, and completes the
        elements that it reads."""
        for _, update in self.events.updates:
            started = update.prefix(level)
            for write in self.events.writes:
                started = started.subtract(write.prefix(level))
            if not started.is_empty():
                return False
        return all(self._is_complete_before(read, level) for _, read in self.events.reads)

    def _is_complete_before(self, read: AccessEvent, level: int) -> bool:
        asked = read.prefix(level)
        for event, named in zip(self._all_writes(), [*self.named_writes, *self.named_updates], strict=True):
            instances = event.statement.instances
            run = instances.project_out(isl.dim_type.in_, level, instances.dim(isl.dim_type.in_) - level)
            if not asked.apply_range(named.reverse()).is_subset(run):
                return False
        return True


def _join(reads: isl.Map, writes: isl.Map) -> isl.Map:
    """{ reader -> [writer, element] } of { reader -> element } and { writer -> element }."""
    elements = isl.Map.identity(writes.get_space().range().map_from_set())
    return reads.apply_range(writes.reverse().flat_range_product(elements))


def _duplicate_elements(reads: isl.Map) -> isl.Map:
    """{ reader -> [element, element] }: a value from before the region is named by its element."""
    same = isl.Map.identity(reads.get_space().range().map_from_set())
    return reads.apply_range(same.flat_range_product(same))
