"""Value flow: the writer instance of the value of each read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp, LaunchThreadOp, MatchBufferOp, WhileOp
from .. import isl, isl_budget
from ..index import Atom
from ..names import memory_name
from ..threads.axes import thread_axes_of
from ..threads.memories import buffer_of
from .affine import parameter_name
from .assignment import AssignedOnce, NotAssignedOnce
from .digits import Digit
from .model import Region
from .order import AccessEvent
from .search import LastWriters
from .sources import LIVE_IN, LIVE_OUT, Key, Memory, MemoryAccesses, NamedSources, Sink, ValueSource
from .statements import Init, Statement


@dataclass
class MemoryFlow:
    """The value flow in one memory, computed on demand from the accesses recorded before.

    statements: the statements that access it.  is_live: whether its contents may matter after the region.  is_carried:
    whether they matter only if a later run of the region reads them before it writes them.  threads: the number of
    thread indices appended to the indices of an element during the computation, because each thread has its own copy.
    """

    memory: Memory
    name: str
    rank: int
    statements: list[Statement]
    is_live: bool
    is_carried: bool
    threads: int = 0

    @cached_property
    def named_sources(self) -> NamedSources:
        """The sources of each sink, by the names of instances. `AmbiguousSources` if names do not determine them."""
        try:
            flow = AssignedOnce(self._events()).compute()
        except NotAssignedOnce:
            flow = LastWriters(self._events()).compute()
        return {sink: [(s, self._drop_threads(s, r)) for s, r in sources] for sink, sources in flow.items()}

    def executions(self) -> list[tuple[Sink, ValueSource, isl.Map]]:
        """The sources of each sink, by executions: { reader -> [writer, element] }."""
        flow = LastWriters(self._events()).executions()
        return [(sink, source, _drop_last(relation, self.threads)) for sink, source, relation in flow]

    def _drop_threads(self, source: ValueSource, relation: isl.Map) -> isl.Map:
        """{ reader -> [writer, element] } without the thread indices."""
        relation = _drop_last(relation, self.threads)
        if source.writer == LIVE_IN and self.threads:  # named by the element
            relation = relation.project_out(isl.dim_type.out, self.rank, self.threads)
        return relation

    def _events(self) -> MemoryAccesses:
        return MemoryAccesses(self.memory, self.reads, self.writes, self.updates, self._last(), self._everything())

    @property
    def reads(self) -> list[tuple[Sink, AccessEvent]]:
        """The reads by each statement."""
        return [
            (Sink(s.key, self.memory), AccessEvent(s, s.phase, relation))
            for s in self.statements
            if (relation := s.accesses[self.memory].reads) is not None
        ]

    @property
    def writes(self) -> list[AccessEvent]:
        """The writes by each statement."""
        return [
            AccessEvent(s, s.phase + 1, relation)
            for s in self.statements
            if (relation := s.accesses[self.memory].writes) is not None
        ]

    @property
    def updates(self) -> list[tuple[Sink, AccessEvent]]:
        """The contributions to a reduction by each statement."""
        return [
            (Sink(s.key, self.memory, True), AccessEvent(s, s.phase + 1, relation))
            for s in self.statements
            if (relation := s.accesses[self.memory].updates) is not None
        ]

    def _last(self) -> Sink | None:
        return Sink(LIVE_OUT, self.memory) if self.is_live else None

    def _everything(self) -> isl.Map:
        return isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, 0, self.rank + self.threads))


@dataclass
class Flow:
    """The value flow of a region. It refers to ops by identity only, so the program may change.

    statements: by key, in program order.  memories: the flow in each.  parameters: the values that are fixed in the
    region, and their names in isl.  overwritten: the flow in memory outside of the query that statements write several
    times, which therefore decides which of their executions matter.
    """

    statements: dict[Key, Statement]
    memories: dict[Memory, MemoryFlow]
    parameters: dict[Atom, str]
    overwritten: dict[Memory, MemoryFlow] = field(default_factory=dict[Memory, MemoryFlow])

    @property
    def not_affine(self) -> tuple[str, ...]:
        """The accesses to unknown elements."""
        return tuple(dict.fromkeys(text for s in self.statements.values() for text in s.not_affine))

    def label(self, parameter: str) -> str:
        """The name in the program of a parameter that isl calls `parameter`."""
        return next((parameter_name(v) for v, name in self.parameters.items() if name == parameter), parameter)

    def with_loop_names(self, loops: Mapping[Key, tuple[Operation | Digit, ...]]) -> Flow:
        """The same flow, with the values of some loops appended to the names of instances."""
        return self._map_statements(lambda s: s.with_loop_names(loops[s.key]) if s.key in loops else s, self.parameters)

    def restrict_executions(self, executions: Mapping[Key, isl.Set]) -> Flow:
        """The flow restricted to some executions of the statements."""
        return self._map_statements(lambda s: s.restrict_executions(executions[s.key]), self.parameters)

    def with_statements(self, statements: Mapping[Key, Statement]) -> Flow:
        """The same flow with some statements replaced."""
        return self._map_statements(lambda s: statements.get(s.key, s), self.parameters) if statements else self

    def with_parameters(self, names: dict[Atom, str]) -> Flow:
        """The same flow with its parameters renamed."""
        renaming = {old: names[value] for value, old in self.parameters.items()}
        return self._map_statements(lambda s: s.with_parameters(renaming), names)

    def _map_statements(self, change: Callable[[Statement], Statement], parameters: dict[Atom, str]) -> Flow:
        statements = {key: change(s) for key, s in self.statements.items()}
        memories, overwritten = (
            {m: replace(f, statements=[statements[s.key] for s in f.statements]) for m, f in flows.items()}
            for flows in (self.memories, self.overwritten)
        )
        return Flow(statements, memories, parameters, overwritten)


def value_flow(
    root: Operation,
    statements: Iterable[Operation] | None = None,
    buffers: Iterable[SSAValue] | None = None,
    *,
    around: bool = True,
) -> Flow:
    """The value flow of a scope (a function, or the body of a block) or of a loop.

    statements: restrict the flow to memory that these access.  buffers: restrict the flow to these.  around: whether a
    loop belongs to its region, and not only its body: if not, its variable is a parameter. isl.Error if the analysis
    takes too much work.
    """
    region = Region(root, around=around)
    chosen: set[Memory] | None = None if buffers is None else set(buffers)
    if statements is not None:
        touched = {m for op in statements if op in region.places for m in region.memories_of_statements[op]}
        chosen = touched if chosen is None else chosen & touched
    with isl_budget.isl_operation_limit(isl_budget.DEPENDENCES):
        if statements is not None and chosen is not None:
            chosen = _add_origins(region, chosen)
        return flow_of(region, chosen)


def _add_origins(region: Region, memories: set[Memory]) -> set[Memory]:
    """The memories, and transitively the memory read by statements that write them several times: such a statement
    writes different values only if it reads different values."""
    touched = region.memories_of_statements
    known: dict[Operation, dict[Key, Statement]] = {}
    chosen, more = set[Memory](), memories
    while more:
        chosen |= more
        ops = [op for op, ms in touched.items() if op not in known and not ms.isdisjoint(chosen)]
        known |= {op: _statements(region, [op]) for op in ops}
        repeated = [s for table in known.values() for s in table.values() if not s.is_injective]
        writers = [s for s in repeated if not chosen.isdisjoint(s.written_memories)]
        more = {m for s in writers for m, a in s.accesses.items() if a.reads is not None} - chosen
    return chosen


def flow_of(region: Region, chosen: set[Memory] | None) -> Flow:
    """The value flow of a region in the memories `chosen`; None for all."""
    touched = region.memories_of_statements
    table = _statements(region, (op for op, ms in touched.items() if chosen is None or not ms.isdisjoint(chosen)))
    accessed = dict.fromkeys(m for s in table.values() for m in s.accesses if chosen is None or m in chosen)
    others = {
        m
        for s in table.values()
        for m in s.written_memories
        if m is not None and m not in accessed and not s.is_injective
    }
    missing = [op for op, ms in touched.items() if not ms.isdisjoint(others) and op not in table]
    if missing:
        table = _sort(region, {**table, **_statements(region, missing)})
    memories, overwritten = (
        {m: _memory_flow(region.root, m, [s for s in table.values() if m in s.accesses]) for m in some}
        for some in (accessed, others)
    )
    return Flow(table, memories, dict(region.parameters.names), overwritten)


def _statements(region: Region, ops: Iterable[Operation]) -> dict[Key, Statement]:
    return {s.key: s for s in region.statements(ops) if s.is_block or s.accesses}


def _sort(region: Region, table: dict[Key, Statement]) -> dict[Key, Statement]:
    """The statements in program order."""
    keys = (key for op in region.places for key in (Init(op) if isinstance(op, BlockOp) else op, op))
    return {key: table[key] for key in dict.fromkeys(keys) if key in table}


def _memory_flow(root: Operation, memory: Memory, statements: list[Statement]) -> MemoryFlow:
    if memory is None:
        return MemoryFlow(None, memory_name(None), 0, statements, True, False)
    is_seen = isinstance(memory, BlockArgument) or is_used_outside(root, memory)
    is_carried = not is_seen and _is_repeated(root, memory)
    name, threads = memory_name(buffer_of(memory) or memory), len(thread_axes_of(memory))
    return MemoryFlow(memory, name, memory_rank(memory), statements, is_seen or is_carried, is_carried, threads)


def _drop_last(relation: isl.Map, count: int) -> isl.Map:
    return relation.project_out(isl.dim_type.out, relation.dim(isl.dim_type.out) - count, count) if count else relation


def memory_rank(memory: SSAValue) -> int:
    """The number of indices of an element of some memory."""
    buffer = buffer_of(memory)
    return 0 if buffer is None else buffer.type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]


# Lifetime of memory


def is_used_outside(root: Operation, value: SSAValue) -> bool:
    """Whether an op outside of `root` that does not enclose it uses a buffer or pointer, or a view of it."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, AccessOp) or root.is_ancestor(user):
            continue
        if not user.results or not all(_is_declaration(user) and not is_used_outside(root, r) for r in user.results):
            return True
    return False


def _is_declaration(op: Operation) -> bool:
    names = ("tir.decl_buffer", "tir.match_region", "tir.buffer_data", "tir.let")
    return op.name in names or isinstance(op, MatchBufferOp)


def _is_repeated(root: Operation, memory: SSAValue) -> bool:
    """Whether the region may run several times during the lifetime of some memory."""
    allocation = memory.owner
    assert isinstance(allocation, Operation)
    if root.is_ancestor(allocation):
        return False
    parent = root.parent_op()
    while parent is not None and parent is not allocation.parent_op():
        if isinstance(parent, ForOp | LaunchThreadOp | WhileOp | BlockOp) and not isinstance(parent, FuncOp):
            return True
        parent = parent.parent_op()
    return False
