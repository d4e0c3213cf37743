"""The value flow in memory of which each element is assigned once, without a search for last writers.

This is nearly all memory of tensor programs. Where no two instances write the same element, who wrote what is read is
known from the element; what remains is whether it was written before. And where all that is written to an element is
one init and contributions to one reduction, what remains is whether all these came before.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from .affine import DIM
from .order import Event, is_unique, lift, not_after, shared_by_all, some_before
from .sources import LIVE_IN, Ambiguous, MemoryEvents, Named, Sink, Source


class NotAssignedOnce(Exception):
    """The memory is written in another way."""


class AssignedOnce:
    """The flow in one memory, whose updates are contributions to one reduction."""

    def __init__(self, events: MemoryEvents):
        self.events = events
        self.named_writes = [w.named() for w in events.writes]
        self.named_updates = [u.named() for _, u in events.updates]
        self._check_writes()

    def _check_writes(self) -> None:
        """Refuse memory with an element that two instances write."""
        ranges = [w.range() for w in self.named_writes]
        for n, (relation, written) in enumerate(zip(self.named_writes, ranges, strict=True)):
            if not relation.is_injective() or any(not written.is_disjoint(other) for other in ranges[:n]):
                raise NotAssignedOnce

    def compute(self) -> Named:
        if not self.events.updates:
            return self._assigned()
        return self._reduced()

    # Without reductions

    def _assigned(self) -> Named:
        result: Named = {}
        for sink, read in self.events.reads:
            result[sink] = self._sources_of_read(sink, read)
        if self.events.last is not None:
            result[self.events.last] = self._sources(self.events.everything)
        return result

    def _sources_of_read(self, sink: Sink, read: Event) -> list[tuple[Source, isl.Map]]:
        """Sources of one statement's reads; what is read too early is read from before the region."""
        instances = read.statement.instances
        found: list[tuple[Source, isl.Map]] = []
        before = read.relation
        for write, named in zip(self.events.writes, self.named_writes, strict=True):
            early = not_after(read, write, write.relation.range())
            before = before.subtract(read.relation.intersect_range(write.relation.range()))
            late = read.relation.intersect_range(write.relation.range())
            if not early.is_empty():
                lifted = late.intersect(lift(early, late.dim(DIM.in_)))
                late = late.subtract(lifted)
                before = before.union(lifted)
            if not late.is_empty():
                found.append((Source(write.statement.key), _joined(late.apply_domain(instances), named)))
        if not before.is_empty():
            self._check_alike(sink, read, before)
            found.append((Source(LIVE_IN, self.events.memory), _doubled(before.apply_domain(instances))))
        return found

    def _check_alike(self, sink: Sink, read: Event, before: isl.Map) -> None:
        """Refuse if only some executions of an instance read an element too early."""
        if read.statement.is_injective:
            return
        instances = read.statement.instances
        both = before.apply_domain(instances).intersect(read.relation.subtract(before).apply_domain(instances))
        if not both.is_empty():
            raise Ambiguous(sink, Source(LIVE_IN, self.events.memory), _doubled(both), "some")

    def _sources(self, relation: isl.Map, *, contributions: bool = True) -> list[tuple[Source, isl.Map]]:
        """Sources of what is read by a relation { instance -> element } when all has been written."""
        found: list[tuple[Source, isl.Map]] = []
        rest = relation
        for write, named in zip(self.events.writes, self.named_writes, strict=True):
            found.append((Source(write.statement.key), _joined(relation, named)))
            rest = rest.subtract_range(named.range())
        found.append((Source(LIVE_IN, self.events.memory), _doubled(rest)))
        if contributions:
            for (_, update), named in zip(self.events.updates, self.named_updates, strict=True):
                found.append((Source(update.statement.key, None, True), _joined(relation, named)))
        return [(s, m) for s, m in found if not m.is_empty()]

    # With one

    def _reduced(self) -> Named:
        """All contributions to an element come behind its init and before its reads, in each iteration of some outer
        loops (of none, if the contents matter later)."""
        if len({u.statement.accesses[self.events.memory].reduction for _, u in self.events.updates}) > 1:
            raise NotAssignedOnce
        if not any(self._is_complete(level) for level in self._levels()):
            raise NotAssignedOnce
        result: Named = {sink: self._sources(read.named()) for sink, read in self.events.reads}
        for (sink, _), named in zip(self.events.updates, self.named_updates, strict=True):
            result[sink] = self._sources(named, contributions=False)
        if self.events.last is not None:
            result[self.events.last] = self._sources(self.events.everything)
        return result

    def _levels(self) -> Sequence[int]:
        """The numbers of outer loops in each iteration of which the reduction may be done anew."""
        if self.events.last is not None:
            return [0]
        return [0, *range(shared_by_all([*(r for _, r in self.events.reads), *self._written()]), 0, -1)]

    def _written(self) -> list[Event]:
        return [*self.events.writes, *(u for _, u in self.events.updates)]

    def _is_complete(self, level: int) -> bool:
        updates = [u for _, u in self.events.updates]
        reads = [r for _, r in self.events.reads]
        return (
            all(is_unique(e.statement, level) for e in self._written())
            and all(some_before(u, w, level) is None for u in updates for w in self.events.writes)
            and all(some_before(r, w, level) is None for r in reads for w in self._written())
            and (level == 0 or self._is_done_anew(level))
        )

    def _is_done_anew(self, level: int) -> bool:
        """Whether each iteration of outer loops inits what it contributes to, and completes what it reads."""
        for _, update in self.events.updates:
            started = update.prefix(level)
            for write in self.events.writes:
                started = started.subtract(write.prefix(level))
            if not started.is_empty():
                return False
        return all(self._is_all_there(read, level) for _, read in self.events.reads)

    def _is_all_there(self, read: Event, level: int) -> bool:
        asked = read.prefix(level)
        for event, named in zip(self._written(), [*self.named_writes, *self.named_updates], strict=True):
            instances = event.statement.instances
            run = instances.project_out(DIM.in_, level, instances.dim(DIM.in_) - level)
            if not asked.apply_range(named.reverse()).is_subset(run):
                return False
        return True


def _joined(reads: isl.Map, writes: isl.Map) -> isl.Map:
    """{ reader -> [writer, element] } of { reader -> element } and { writer -> element }."""
    elements = isl.Map.identity(writes.get_space().range().map_from_set())
    return reads.apply_range(writes.reverse().flat_range_product(elements))


def _doubled(reads: isl.Map) -> isl.Map:
    """{ reader -> [element, element] }: what was there before is called by its element."""
    same = isl.Map.identity(reads.get_space().range().map_from_set())
    return reads.apply_range(same.flat_range_product(same))
