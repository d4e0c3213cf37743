"""Live executions: executions with a value that reaches memory live after the region, or an effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, SSAValue

from .. import isl
from .flow import Flow, MemoryFlow
from .sources import LIVE_IN, LIVE_OUT, Key, Sink, ValueSource

# The number of times that the live executions of one statement may grow before all of them count as live.
_ROUNDS = 8


@dataclass(frozen=True)
class Liveness:
    """The live executions of statements. needed: executions that count as live although their writes may be dead,
    because on other values they would execute an excluded operation."""

    live: dict[Key, isl.Set]
    needed: dict[Key, isl.Set]

    def part_of(self, flow: Flow) -> Flow:
        """The flow of the same program without dead executions; `flow` itself if no execution is known to be dead."""
        if all(statement.domain.is_subset(self.live[key]) for key, statement in flow.statements.items()):
            return flow
        return flow.restrict_executions(self.live)


def liveness(flow: Flow) -> Liveness:
    """The live executions of a region: a value that they write reaches memory live after it, or a statement with
    effects, or an execution that may not run on arbitrary values."""
    return _Search(flow).compute()


class _Search:
    def __init__(self, flow: Flow):
        self.flow = flow
        self.memories = {**flow.memories, **flow.overwritten}
        self.live = {key: isl.Set.empty(s.domain.get_space()) for key, s in flow.statements.items()}
        self.needed: dict[Key, isl.Set] = {}
        # By reader: the writers of its reads, { reader's execution -> writer's execution }.
        self.edges: dict[Key, list[tuple[Key, isl.Map]]] = {}
        self.grown: Counter[Key] = Counter()
        self.pending: list[Key] = []

    def compute(self) -> Liveness:
        """The live executions, by a fixed point over the value flow."""
        for key, statement in self.flow.statements.items():
            if any(memory is None or memory not in self.memories for memory in statement.written_memories):
                self._add(key, statement.domain)
            elif not statement.is_total:
                self._need(key, statement.domain)
        for memory, flow in self.memories.items():
            if memory is not None:
                self._find_edges(memory, flow)
        while self.pending:
            key = self.pending.pop(0)
            for writer, edge in self.edges.get(key, ()):
                self._add(writer, self.live[key].apply(edge))
        return Liveness(self.live, self.needed)

    def _find_edges(self, memory: SSAValue, flow: MemoryFlow) -> None:
        executions = flow.executions()
        if not isinstance(memory, BlockArgument):
            self._need_written_elements(executions)
        for sink, source, relation in executions:
            if source.writer == LIVE_IN:
                continue
            edge = relation.project_out(isl.dim_type.out, relation.dim(isl.dim_type.out) - flow.rank, flow.rank)
            if sink.key == LIVE_OUT:
                self._add(source.writer, edge.range())
            else:
                self.edges.setdefault(sink.key, []).append((source.writer, edge))

    def _need_written_elements(self, executions: Sequence[tuple[Sink, ValueSource, isl.Map]]) -> None:
        """Allocated memory may not be read before a write, even by a dead read. A statement that reads such an element
        may not write it either, but leave it as it is, for the reads after it."""
        sources = {LIVE_IN}
        reads = [(sink.key, source.writer, relation) for sink, source, relation in executions if sink.key != LIVE_OUT]
        while more := {key for key, writer, _ in reads if writer in sources} - sources:
            sources |= more
        for key, writer, relation in reads:
            if writer in sources:
                self._need(key, relation.domain())

    def _need(self, key: Key, executions: isl.Set) -> None:
        self.needed[key] = self.needed[key].union(executions) if key in self.needed else executions
        self._add(key, executions)

    def _add(self, key: Key, executions: isl.Set) -> None:
        if executions.is_subset(self.live[key]):
            return
        self.grown[key] += 1
        domain = self.flow.statements[key].domain
        self.live[key] = domain if self.grown[key] > _ROUNDS else self.live[key].union(executions).coalesce()
        if key not in self.pending:
            self.pending.append(key)
