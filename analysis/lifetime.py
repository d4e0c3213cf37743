"""The test whether the contents of a buffer must survive from one iteration of a loop to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialects.tir import (
    AttrOp,
    BufferOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    LaunchThreadOp,
    LoadOp,
    Mixed,
    StoreOp,
    WhileOp,
)
from . import isl
from .dependence.affine import Affine, NotAffineValue, Parameters, condition, iterations
from .filled import is_filled_before_reads
from .index import Analyzer, Lin
from .iter_map import predicate_constraints
from .scopes import ancestors
from .vector_indices import Lanes


def is_fresh_in_each_iteration(loop: Operation, buffer: SSAValue, analyzer: Analyzer) -> bool:
    """Whether each iteration of `loop` reads only elements of `buffer` that the same iteration has written before.

    Exact for accesses and conditions that are affine in loop variables and in values that are fixed during an
    iteration; elsewhere a read may be of any element and a write counts as none. False when the buffer has uses other
    than loads and stores.
    """
    if isinstance(loop, ForOp | LaunchThreadOp) and is_filled_before_reads(loop, buffer, _shape(buffer), analyzer):
        return True
    try:
        accesses = _Collector(loop, buffer).collect()
    except _OpaqueUse:
        return False
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    if not reads:
        return True
    if _is_written_first(accesses, _rank(buffer)):
        return True
    depth = max(len(a.time) for a in accesses)
    read, written = (_relation([a.relation(depth) for a in group], depth, _rank(buffer)) for group in (reads, writes))
    # { time -> element }: an element is related to every time later than a write of it.
    later = isl.Map.lex_gt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, depth))
    return read.is_subset(later.apply_range(written))


def _is_written_first(accesses: Sequence[_Access], rank: int) -> bool:
    """Whether preceding statements, in the same iterations of their common loops, write every element that is read.

    This is sufficient and the usual case: isl decides it much faster than the lexicographic order of all times.
    """
    first = accesses[0].time
    shared = 0
    while all(shared < len(a.time) and a.time[shared].plain_is_equal(first[shared]) for a in accesses):
        shared += 1
    if any(shared >= len(a.time) or not a.time[shared].is_cst() for a in accesses):
        return False
    positions = [a.time[shared].max_val().to_python() for a in accesses]
    relations = [a.relation(shared, shared) for a in accesses]
    written = _relation([], shared, rank)
    for position in sorted(set(positions)):
        here = [n for n, at in enumerate(positions) if at == position]
        rest = [accesses[n] for n in here if accesses[n].is_write or not relations[n].is_subset(written)]
        if any(not a.is_write for a in rest) and (len(rest) == len(accesses) or not _is_written_first(rest, rank)):
            return False
        for n in here:
            written = written.union(relations[n]) if accesses[n].is_write else written
    return True


@dataclass(frozen=True)
class _Context:
    """The position of an access in an iteration: its time (numbers and dimensions, as functions), the conditions that
    it runs under, and whether these conditions are complete."""

    time: tuple[isl.PwAff, ...]
    where: isl.Set
    exact: bool = True

    def at(self, *time: isl.PwAff) -> _Context:
        """The context with further entries in its time."""
        return replace(self, time=self.time + time)

    def under(self, where: isl.Set | None) -> _Context:
        """The context under a further condition; None for an unknown condition."""
        if where is None:
            return replace(self, exact=False)
        return replace(self, where=self.where.intersect(where))


@dataclass(frozen=True)
class _Access:
    """A load or store of the buffer. elements: { loops and lanes inside -> element }."""

    is_write: bool
    time: tuple[isl.PwAff, ...]
    elements: isl.Map

    def relation(self, depth: int, shared: int | None = None) -> isl.Map:
        """{ time -> element }, with times padded with zeros. shared: the number of leading entries of a time to use."""
        times = isl.Map.from_domain(self.elements.domain())
        time = self.time[:shared]
        for entry in time:
            times = times.flat_range_product(isl.Map.from_pw_aff(entry))
        relation = times.reverse().apply_range(self.elements)
        for n in range(len(time), depth):
            relation = relation.insert_dims(isl.dim_type.in_, n, 1).fix_val(isl.dim_type.in_, n, 0)
        return relation


class _OpaqueUse(Exception):
    """The buffer has a use other than a load or store."""


class _Collector:
    """The accesses to one buffer in one iteration of a loop."""

    def __init__(self, loop: Operation, buffer: SSAValue):
        self.loop = loop
        self.buffer = buffer
        self.analyzer = Analyzer()
        self.concerned = _users_and_ancestors(loop, buffer)
        inner = sum(isinstance(op, ForOp | LaunchThreadOp) or _has_lanes(op) for op in self.concerned)
        self.affine = Affine(self.analyzer, Parameters(self._is_fixed), inner)
        self.next = 0
        self.found: list[_Access] = []

    def collect(self) -> list[_Access]:
        """The accesses to the buffer in the loop body, in program order."""
        for n, region in enumerate(self.loop.regions):
            # The last round of a while may not run all of its ops.
            context = _Context((self.affine.constant(n),), self.affine.universe())
            self._block(region.block, context)
        return self.found

    def _block(self, block: Block, context: _Context) -> None:
        for position, op in enumerate(block.ops):
            if op in self.concerned:
                self._op(op, context.at(self.affine.constant(position)))

    def _op(self, op: Operation, context: _Context) -> None:
        if isinstance(op, LoadOp | StoreOp) and op.buffer is self.buffer:
            if isinstance(op, StoreOp) and op.value is self.buffer:
                raise _OpaqueUse
            self._access(op, context)
        elif self.buffer in op.operands:
            raise _OpaqueUse
        match op:
            case ForOp():
                self._loop(op, context, op.mixed_bounds)
            case LaunchThreadOp():
                self._loop(op, context, (0, op.mixed_extent, 1))
            case IfOp() | IfThenElseOp():
                self._branches(op, context)
            case AttrOp():
                self._block(op.body.block, context)
            case _:
                # Bodies that run any number of times: reads are possible, writes are not certain.
                for n, region in enumerate(op.regions):
                    inner = context.at(self.affine.constant(n)).under(None)
                    for block in region.blocks:
                        self._block(block, inner)

    def _loop(self, op: ForOp | LaunchThreadOp, context: _Context, bounds: tuple[Mixed, Mixed, Mixed]) -> None:
        position = self._new_dimension(op.variable)
        inner = context.at(self.affine.variable(position)).under(iterations(self.affine, position, *bounds))
        with self.analyzer.assumptions():
            self.analyzer.enter(op, op.body.block)
            self._block(op.body.block, inner)

    def _new_dimension(self, value: SSAValue) -> int:
        position = self.affine.dims.setdefault(value, self.next)
        self.next += position == self.next
        return position

    def _branches(self, op: IfOp | IfThenElseOp, context: _Context) -> None:
        holds = condition(self.affine, op.condition)
        for n, region in enumerate((op.then, op.orelse)):
            here = holds if holds is None or n == 0 else holds.complement()
            with self.analyzer.assumptions():
                self.analyzer.enter(op, region.block)
                self._block(region.block, context.at(self.affine.constant(n)).under(here))

    # Accesses

    def _access(self, op: LoadOp | StoreOp, context: _Context) -> None:
        lanes = Lanes.of(self.analyzer, op)
        if lanes is not None:
            context = self._lanes(op, lanes, context)
        functions = [self._index_function(index, lanes) for index in op.indices]
        if isinstance(op, StoreOp) and (not context.exact or any(f is None for f in functions)):
            return
        elements = isl.Map.from_domain(context.where)
        for n, function in enumerate(functions):
            elements = elements.flat_range_product(self._side(n, function))
        self.found.append(_Access(isinstance(op, StoreOp), context.time, elements))

    def _lanes(self, op: LoadOp | StoreOp, lanes: Lanes, context: _Context) -> _Context:
        """The context of a load or store of several elements: its lanes as a dimension, under its predicate."""
        position = self._new_dimension(lanes.variable)
        context = context.under(self.affine.between(position, 0, lanes.count - 1))
        conditions, is_exact = predicate_constraints(self.analyzer, op.predicate, lanes)
        for each in conditions:
            function = self._function_of(each)
            context = context.under(None if function is None else function.nonneg_set())
        return context if is_exact else context.under(None)

    def _index_function(self, index: SSAValue, lanes: Lanes | None) -> isl.PwAff | None:
        """The function of an index, of several over the dimension of the lanes."""
        if lanes is None or not isinstance(index.type, VectorType):
            return self._function(index)
        lin = lanes.sum(index)
        return None if lin is None else self._function_of(lin)

    def _function_of(self, lin: Lin) -> isl.PwAff | None:
        try:
            return self.affine.function_of(lin)
        except NotAffineValue:
            return None

    def _side(self, dimension: int, function: isl.PwAff | None) -> isl.Map:
        """{ dimensions -> index }. Indices out of bounds are excluded."""
        extent = _shape(self.buffer)[dimension]
        index = Affine(self.analyzer, self.affine.parameters, 1)
        try:
            inside = index.range(0, 0, extent)
        except NotAffineValue:
            inside = index.universe()
        if function is None:
            return isl.Map.from_domain_and_range(self.affine.universe(), inside)
        return isl.Map.from_pw_aff(function).intersect_range(inside)

    def _function(self, value: SSAValue) -> isl.PwAff | None:
        try:
            return self.affine.function(value)
        except NotAffineValue:
            return None

    def _is_fixed(self, value: SSAValue) -> bool:
        """Whether a value is the same throughout an iteration: no inner loop recomputes it."""
        block = value.owner if isinstance(value, BlockArgument) else value.owner.parent  # pyright: ignore[reportAttributeAccessIssue]
        while isinstance(block, Block) and (op := block.parent_op()) is not None and op is not self.loop:
            if not isinstance(op, IfOp | IfThenElseOp | AttrOp) and self.loop.is_ancestor(op):
                return False
            block = op.parent
        return not isinstance(self.loop, WhileOp) or not self._is_in_loop(value)

    def _is_in_loop(self, value: SSAValue) -> bool:
        owner = value.owner
        return self.loop.is_ancestor(owner) if isinstance(owner, Operation) else False


def _has_lanes(op: Operation) -> bool:
    return isinstance(op, LoadOp | StoreOp) and (op.predicate is not None or bool(op.vector_indices))


def _users_and_ancestors(loop: Operation, buffer: SSAValue) -> set[Operation]:
    """The ops inside a loop that use a buffer, and their ancestors inside the loop."""
    concerned = set[Operation]()
    for use in buffer.uses:
        around = [use.operation, *ancestors(use.operation)]
        if loop in around:
            concerned.update(around[: around.index(loop)])
    return concerned


def _type(buffer: SSAValue) -> MemRefType[Any]:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type


def _shape(buffer: SSAValue) -> Sequence[Mixed]:
    return buffer.owner.mixed_shape if isinstance(buffer.owner, BufferOp) else _type(buffer).get_shape()


def _rank(buffer: SSAValue) -> int:
    return _type(buffer).get_num_dims()


def _relation(relations: Sequence[isl.Map], depth: int, rank: int) -> isl.Map:
    """The union of relations { time -> element }."""
    result = isl.Map.empty(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, depth, rank))
    for relation in relations:
        result = result.union(relation)
    return result
