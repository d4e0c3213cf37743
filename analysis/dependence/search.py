"""The value flow in any memory, by isl's search for the last writer before each read."""

from __future__ import annotations

from collections.abc import Sequence

from .. import isl
from .order import AccessEvent
from .reductions import IDEMPOTENT
from .sources import LIVE_IN, LIVE_OUT, AmbiguousSources, Key, Memory, MemoryAccesses, NamedSources, Sink, ValueSource
from .statements import Statement

# A time beyond every position and loop variable.
_FAR = 2**62


class LastWriters:
    """The flow in any memory, from its reads and writes in the order of the program."""

    def __init__(self, events: MemoryAccesses):
        self.events = events
        self.rank = events.everything.dim(isl.dim_type.out)
        all_events = (*events.writes, *(e for _, e in events.reads), *(e for _, e in events.updates))
        self.statements: dict[Key, Statement] = {e.statement.key: e.statement for e in all_events}
        self.depth = max((s.time.dim(isl.dim_type.out) for s in self.statements.values()), default=1)

    def compute(self) -> NamedSources:
        """The sources of each sink, by the names of instances. `AmbiguousSources` if names do not determine them."""
        flow: NamedSources = {}
        for sink, source, relation in self.executions():
            flow.setdefault(sink, []).append((source, self._name(sink, source, relation)))
        return flow

    def executions(self) -> list[tuple[Sink, ValueSource, isl.Map]]:
        """The sources of each sink, by executions: { reader -> [writer, element] }."""
        flow = self._search(self.events.reads, self.events.updates, self.events.last)
        for reduction in sorted({_reduction(u, self.events.memory) for _, u in self.events.updates}):
            mine = [u for u in self.events.updates if _reduction(u[1], self.events.memory) == reduction]
            others = [u for u in self.events.updates if _reduction(u[1], self.events.memory) != reduction]
            flow += self._search(mine, others, None)
        return flow

    def _search(
        self, reads: Sequence[tuple[Sink, AccessEvent]], updates: Sequence[tuple[Sink, AccessEvent]], last: Sink | None
    ) -> list[tuple[Sink, ValueSource, isl.Map]]:
        schedule, must, may, sinks = (isl.UnionMap.empty(_no_parameters()) for _ in range(4))
        readers: dict[str, Sink] = {}
        writers: dict[str, ValueSource] = {}
        for n, (sink, event) in enumerate(reads):
            readers[name := f"R{n}"] = sink
            sinks = sinks.union(_tag(event.relation, name))
            schedule = schedule.union(_schedule(event, name))
        for n, event in enumerate(self.events.writes):
            writers[name := f"W{n}"] = ValueSource(event.statement.key)
            must = must.union(_tag(event.relation, name))
            schedule = schedule.union(_schedule(event, name))
        for n, (_, event) in enumerate(updates):
            writers[name := f"U{n}"] = ValueSource(event.statement.key, None, True)
            may = may.union(_tag(event.relation, name))
            schedule = schedule.union(_schedule(event, name))
        if last is not None:
            readers["Out"] = last
            sinks = sinks.union(_tag(self.events.everything, "Out"))
            schedule = schedule.union(self._at("Out", 1))
        writers["In"] = ValueSource(LIVE_IN, self.events.memory)
        must = must.union(_tag(self._everywhere(), "In"))
        schedule = schedule.union(self._at("In", -1))
        info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
        maps = info.set_schedule_map(schedule).compute_flow().get_full_may_dependence().get_map_list()
        flow: list[tuple[Sink, ValueSource, isl.Map]] = []
        for relation in (maps.get_at(n) for n in range(maps.n_map())):
            inner = relation.range().unwrap()
            sink, source = (
                readers[inner.get_tuple_name(isl.dim_type.in_)],
                writers[relation.get_tuple_name(isl.dim_type.in_)],
            )
            flow.append((sink, source, _reader_to_writer(relation, inner.dim(isl.dim_type.in_))))
        sinks_in_order, sources_in_order = list(readers.values()), list(writers.values())
        return sorted(flow, key=lambda f: (sinks_in_order.index(f[0]), sources_in_order.index(f[1])))

    def _everywhere(self) -> isl.Map:
        return isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, 0, self.rank))

    def _at(self, name: str, side: int) -> isl.Map:
        """A time before (-1) or after (1) the whole region."""
        time = isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, 0, self.depth))
        for n in range(self.depth):
            time = time.fix_val(isl.dim_type.out, n, side * _FAR if n == 0 else 0)
        return time.set_tuple_name(isl.dim_type.in_, name)

    # Names

    def _name(self, sink: Sink, source: ValueSource, relation: isl.Map) -> isl.Map:
        """{ reader -> [writer, element] } by the names of instances, from a relation by executions."""
        if source.writer == LIVE_IN:
            same = _identity(relation, self.rank)
            relation = relation.apply_range(same.flat_range_product(same))
        else:
            writer = self.statements[source.writer]
            names = writer.instances.flat_product(_identity(relation, self.rank))
            reduction = writer.accesses[self.events.memory].reduction
            if source.is_contribution and not writer.is_injective and reduction not in IDEMPOTENT:
                self._check_contributions(sink, source, relation, names)
            relation = relation.apply_range(names)
        if sink.key == LIVE_OUT:
            return relation
        reader = self.statements[sink.key]
        named = relation.apply_domain(reader.instances)
        if not reader.is_injective:
            again = reader.instances.apply_range(named).intersect_domain(reader.domain)
            if not again.is_subset(relation):
                raise AmbiguousSources(sink, source, again.subtract(relation).apply_domain(reader.instances), "some")
        return named

    def _check_contributions(self, sink: Sink, source: ValueSource, relation: isl.Map, names: isl.Map) -> None:
        """Raises Ambiguous if a reader sees a contribution twice."""
        executions = relation.wrap().flatten()
        count = relation.dim(isl.dim_type.in_)
        called = _identity(relation, count).flat_product(names).intersect_domain(executions)
        twice = called.apply_range(called.reverse()).intersect(isl.Map.lex_lt(executions.get_space()))
        if twice.is_empty():
            return
        pairs = _split(called.intersect_domain(twice.domain()).range(), count)
        if sink.key != LIVE_OUT:
            pairs = pairs.apply_domain(self.statements[sink.key].instances)
        raise AmbiguousSources(sink, source, pairs, "twice")


def _reduction(event: AccessEvent, memory: Memory) -> str:
    return event.statement.accesses[memory].reduction or ""


def _no_parameters() -> isl.Space:
    return isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0)


def _tag(relation: isl.Map, name: str) -> isl.Map:
    return relation.set_tuple_name(isl.dim_type.in_, name).set_tuple_name(isl.dim_type.out, "E")


def _schedule(event: AccessEvent, name: str) -> isl.Map:
    """The schedule of an event: { execution -> time }."""
    time = event.statement.time
    last = time.dim(isl.dim_type.out) - 1
    domain = time.get_domain_space()
    phase = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain)).set_constant_val(event.phase)
    time = isl.Map.from_multi_aff(time.set_aff(last, phase))
    return time.intersect_domain(event.statement.domain).set_tuple_name(isl.dim_type.in_, name)


def _reader_to_writer(relation: isl.Map, count: int) -> isl.Map:
    """{ writer -> [reader -> element] }, with a reader of `count` dimensions, as { reader -> [writer, element] }."""
    flat = relation.flatten_range().reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    width = flat.dim(isl.dim_type.in_)
    flat = flat.move_dims(isl.dim_type.in_, width, isl.dim_type.out, 0, count)
    return flat.move_dims(isl.dim_type.out, 0, isl.dim_type.in_, 0, width)


def _identity(like: isl.Map, rank: int) -> isl.Map:
    return isl.Map.identity(like.get_space().params().add_unnamed_tuple_ui(rank).map_from_set())


def _split(points: isl.Set, count: int) -> isl.Map:
    """A set of flat pairs as a relation whose domain has `count` dimensions."""
    relation = isl.Map.from_domain(points)
    return relation.move_dims(isl.dim_type.out, 0, isl.dim_type.in_, count, points.dim(isl.dim_type.set) - count)
