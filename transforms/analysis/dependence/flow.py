"""Value flow: which instance of which statement each read gets its value from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import islpy as isl
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects.tir import AccessOp, BlockOp, ForOp, FuncOp, LaunchThreadOp, MatchBufferOp, WhileOp
from .accesses import buffer_of
from .affine import DIM
from .model import Init, Region, Statement, memory_name
from .touched import touched_memories

Memory: TypeAlias = SSAValue | None
"""A buffer, or what else stands for some memory; None is the world outside of buffers."""

LIVE_IN = "live in"
LIVE_OUT = "live out"

Key: TypeAlias = Operation | Init | str
"""A statement, or what was there before the region (LIVE_IN) or reads after it (LIVE_OUT)."""


@dataclass(frozen=True)
class Sink:
    """The reads of one memory by one statement; contributions read what they are added to, and are apart."""

    key: Key
    memory: Memory
    is_update: bool = False


@dataclass(frozen=True)
class Dependence:
    """{ reader's execution -> [writer's execution, element] }, flat."""

    writer: Key
    relation: isl.Map
    is_contribution: bool


@dataclass
class Flow:
    """The value flow of a region. Holds no op but to know it again, so the program may change.

    statements: by key, in the order of the program.  sources: what each sink reads from.
    live: the memories whose contents may matter after the region.  carried: those for which this is so only if a
    later run of the region reads them before it writes them.  names: what memories are called.
    """

    statements: dict[Key, Statement]
    sources: dict[Sink, list[Dependence]]
    live: frozenset[Memory]
    carried: frozenset[Memory]
    names: dict[Memory, str]
    ranks: dict[Memory, int]
    parameters: list[SSAValue]
    not_affine: tuple[str, ...] = field(default=())

    def renamed(self, like: Flow) -> Flow:
        """The same flow, with the names that another one has for its parameters."""
        raise NotImplementedError


def value_flow(
    root: Operation,
    statements: Iterable[Operation] | None = None,
    buffers: Iterable[SSAValue] | None = None,
    *,
    around: bool = True,
) -> Flow:
    """The value flow of a scope (a function, or a block's body) or of a loop.

    statements: only of memory that these access.  buffers: only of these.  around: whether a loop belongs to its
    region, and not only what is inside of it: then its variable is a parameter.
    """
    region = Region(root, around=around)
    chosen = None if buffers is None else set(buffers)
    if statements is not None:
        touched = {m for op in statements if op in region.places for s in region.statement(op) for m in s.accesses}
        chosen = touched if chosen is None else chosen & touched
    return flow_of(region, chosen)


def flow_of(region: Region, memories: set[Memory] | set[SSAValue] | None) -> Flow:
    """The value flow of a region in some memories."""
    table: dict[Key, Statement] = {}
    for op, place in region.places.items():
        if memories is None or any(not touched_memories(o).isdisjoint(memories) for o in (op, *place.control)):
            for statement in region.statement(op):
                if statement.is_block or statement.accesses:
                    table[statement.key] = statement
    found = dict.fromkeys(m for s in table.values() for m in s.accesses if memories is None or m in memories)
    sources: dict[Sink, list[Dependence]] = {}
    live = frozenset(m for m in found if m is None or _lives_on(region.root, m))
    for memory in found:
        sources.update(_MemoryFlow(memory, list(table.values()), region, memory in live).compute())
    return Flow(
        table,
        sources,
        live,
        frozenset(m for m in live if m is not None and not _is_seen_outside(region.root, m)),
        {m: memory_name(m) for m in found},
        {m: _rank(m) for m in found},
        list(region.parameters.names),
        tuple(dict.fromkeys(text for s in table.values() for text in s.not_affine)),
    )


def _rank(memory: Memory) -> int:
    if memory is None or (buffer := buffer_of(memory)) is None:
        return 0
    return buffer.type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]


# Further away in time than any position or loop variable.
_FAR = 2**62


class _MemoryFlow:
    """The value flow in one memory."""

    def __init__(self, memory: Memory, statements: Sequence[Statement], region: Region, is_live: bool):
        self.memory = memory
        self.statements = [s for s in statements if memory in s.accesses]
        self.rank = _rank(memory)
        self.depth = region.depth + 1
        self.is_live = is_live

    def compute(self) -> dict[Sink, list[Dependence]]:
        if all(a.writes is None and a.updates is None for a in (s.accesses[self.memory] for s in self.statements)):
            return self._unwritten()
        reductions = {a.reduction for s in self.statements if (a := s.accesses[self.memory]).updates is not None}
        result: dict[Sink, list[Dependence]] = {}
        for reduction in (None, *sorted(r for r in reductions if r is not None)):
            result.update(self._compute(reduction))
        return result

    def _unwritten(self) -> dict[Sink, list[Dependence]]:
        reads = ((s.key, s.accesses[self.memory].reads) for s in self.statements)
        return {Sink(key, self.memory): [Dependence(LIVE_IN, relation, False)] for key, relation in reads if relation}

    def _compute(self, reduction: str | None) -> dict[Sink, list[Dependence]]:
        """Of ordinary reads (None), or of what contributions to a reduction are added to: not each other."""
        schedule, must, may, sinks = (isl.UnionMap.empty(_no_parameters()) for _ in range(4))
        readers: dict[str, Sink] = {}
        writers: dict[str, tuple[Key, bool]] = {}
        for n, statement in enumerate(self.statements):
            access = statement.accesses[self.memory]
            read = access.reads if reduction is None else access.updates if access.reduction == reduction else None
            if read is not None:
                name = f"R{n}"
                readers[name] = Sink(statement.key, self.memory, reduction is not None)
                sinks = sinks.union(_tagged(read, name))
                schedule = schedule.union(_scheduled(statement, name, 0))
            if access.writes is not None:
                name = f"W{n}"
                writers[name] = (statement.key, False)
                must = must.union(_tagged(access.writes, name))
                schedule = schedule.union(_scheduled(statement, name, 1))
            if access.updates is not None and (reduction is None or access.reduction != reduction):
                name = f"U{n}"
                writers[name] = (statement.key, True)
                may = may.union(_tagged(access.updates, name))
                schedule = schedule.union(_scheduled(statement, name, 1))
        if reduction is None and self.is_live:
            readers["Out"] = Sink(LIVE_OUT, self.memory)
            sinks = sinks.union(self._everywhere("Out"))
            schedule = schedule.union(self._at("Out", 1))
        writers["In"] = (LIVE_IN, False)
        must = must.union(self._everywhere("In"))
        schedule = schedule.union(self._at("In", -1))
        info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
        found = info.set_schedule_map(schedule).compute_flow().get_full_may_dependence()
        result: dict[Sink, list[Dependence]] = {sink: [] for sink in readers.values()}
        maps = found.get_map_list()
        for relation in (maps.get_at(n) for n in range(maps.n_map())):
            inner = relation.range().unwrap()
            reader = readers[inner.get_tuple_name(DIM.in_)]
            writer, is_contribution = writers[relation.get_tuple_name(DIM.in_)]
            result[reader].append(Dependence(writer, _turned(relation, inner.dim(DIM.in_)), is_contribution))
        order = [writer for writer, _ in writers.values()]
        for dependences in result.values():
            dependences.sort(key=lambda d: order.index(d.writer))
        return result

    def _everywhere(self, name: str) -> isl.Map:
        space = isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, 0, self.rank)
        return isl.Map.universe(space).set_tuple_name(DIM.in_, name).set_tuple_name(DIM.out, "E")

    def _at(self, name: str, side: int) -> isl.Map:
        """The time before (-1) or after (1) all that the region does."""
        space = isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, 0, self.depth)
        time = isl.Map.universe(space)
        for n in range(self.depth):
            time = time.fix_val(DIM.out, n, side * _FAR if n == 0 else 0)
        return time.set_tuple_name(DIM.in_, name)


def _turned(relation: isl.Map, count: int) -> isl.Map:
    """{ writer -> [reader -> element] }, with a reader of `count` dimensions, as { reader -> [writer, element] }."""
    flat = relation.flatten_range().reset_tuple_id(DIM.in_).reset_tuple_id(DIM.out)
    width = flat.dim(DIM.in_)
    flat = flat.move_dims(DIM.in_, width, DIM.out, 0, count)
    return flat.move_dims(DIM.out, 0, DIM.in_, 0, width)


def _no_parameters() -> isl.Space:
    return isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0)


def _tagged(relation: isl.Map, name: str) -> isl.Map:
    return relation.set_tuple_name(DIM.in_, name).set_tuple_name(DIM.out, "E")


def _scheduled(statement: Statement, name: str, later: int) -> isl.Map:
    """When the statement reads, or, with `later` 1, writes."""
    time = statement.time
    if later:
        last = time.dim(DIM.out) - 1
        time = time.set_aff(last, time.get_aff(last).add_constant_val(later))
    return isl.Map.from_multi_aff(time).intersect_domain(statement.domain).set_tuple_name(DIM.in_, name)


# What lives on


def _lives_on(root: Operation, memory: SSAValue) -> bool:
    """Whether the contents of some memory may be read after the region, or in a later run of it."""
    if isinstance(memory, BlockArgument):
        return True
    owner = memory.owner
    assert isinstance(owner, Operation)
    if root.is_ancestor(owner):
        return False
    return is_used_outside(root, memory) or _is_repeated(root, owner)


def _is_seen_outside(root: Operation, memory: SSAValue) -> bool:
    return isinstance(memory, BlockArgument) or is_used_outside(root, memory)


def is_used_outside(root: Operation, value: SSAValue) -> bool:
    for use in value.uses:
        user = use.operation
        if isinstance(user, AccessOp) or root.is_ancestor(user):
            continue
        if not user.results or not all(_is_declaration(user) and not is_used_outside(root, r) for r in user.results):
            return True
    return False


def _is_declaration(op: Operation) -> bool:
    return op.name in ("tir.decl_buffer", "tir.match_region", "tir.buffer_data", "tir.let") or isinstance(
        op, MatchBufferOp
    )


def _is_repeated(root: Operation, allocation: Operation) -> bool:
    """Whether the region runs several times for one allocation."""
    parent = root.parent_op()
    while parent is not None and parent is not allocation.parent_op():
        if isinstance(parent, ForOp | LaunchThreadOp | WhileOp | BlockOp) and not isinstance(parent, FuncOp):
            return True
        parent = parent.parent_op()
    return False
