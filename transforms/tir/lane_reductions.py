"""Reductions over the lanes of a vectorized loop: a partial result in each lane, combined after the loop."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.lanes import PartialResults
from ...analysis.loop_accesses import are_apart, uses_address
from ...analysis.reducers import Accumulator, is_invariant, reductions_of_loop, uses_in
from ...analysis.scopes import ancestors
from ...analysis.threads.memories import local_buffer, memory_of
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype
from ...dialects.attributes import TIR_NOALIAS, is_true
from ...dialects.tir import (
    AllocBufferOp,
    AssertOp,
    AttrOp,
    ForOp,
    FuncOp,
    IfOp,
    LoadOp,
    ReturnOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_out
from ...dialects.tir.tree import has_effect

_BOOL = parse_dtype("bool")
_OF_BOOLS = ("and", "or", "xor")


class LaneReduction:
    """The reduction of one element by the lanes of a loop. A local buffer has the partial result of each lane; another
    one, where the extents of the loops do not determine it, whether a lane has reached the update.

    lanes: the maximum number of lanes that reduce at once.
    around: the loop after which the lanes are combined: the vectorized loop, or a serial loop around it.
    """

    def __init__(self, loop: ForOp, accumulator: Accumulator, lanes: int):
        self._loop, self._accumulator, self._lanes = loop, accumulator, lanes
        self.around = _loop_to_combine_after(loop, accumulator)
        name, dtype = accumulator.buffer.name_hint or "partial", accumulator.dtype
        self._starts = [(local_buffer(name, mlir_type(dtype), lanes), _start_value(accumulator))]
        self._extents = _deciding_extents(accumulator.store, self.around)
        if self._extents is None:
            self._starts.append((local_buffer(f"{name}_reached", mlir_type(_BOOL), lanes), False))
        self.results = PartialResults(*(alloc.buffer for alloc, _ in self._starts))

    @property
    def accesses(self) -> list[Operation]:
        """The accesses of the element, which become accesses of the partial results."""
        return [*self._accumulator.loads, self._accumulator.store]

    def __str__(self) -> str:
        element = self._accumulator.buffer.name_hint or "a buffer"
        kind, after = self._accumulator.kind, self.around.loop_var.data
        return f"{self._lanes} partial results ({kind}) of an element of {element} are combined after loop {after}"

    def finish(self, first: Operation | None) -> bool:
        """Emits the start values and the combination, unless the lanes of the loop do not reduce; returns whether they
        do. first: the first of the ops that the lanes of the loop have become.
        """
        if not any(isinstance(use.operation, StoreOp) for use in self.results.buffer.uses):
            return False
        start = first if self.around is self._loop else self.around
        assert start is not None
        builder = TirBuilder(InsertPoint.before(start), self.around.location)
        for alloc, value in self._starts:
            builder.insert(alloc)
            builder.store(
                builder.const(value, _vector_of(alloc, self._lanes)), alloc.buffer, _all(builder, self._lanes)
            )
        at_end = InsertPoint.before if self.around is self._loop else InsertPoint.after
        self._combine(TirBuilder(at_end(self.around), self.around.location))
        return True

    def _combine(self, builder: TirBuilder) -> None:
        """Combines the element with the partial results, if a lane has reached the update."""
        reached = self.results.reached
        if reached is None and not self._extents:
            self._update(builder)
            return
        branch = IfOp(self._have_iterations(builder) if reached is None else self._all_lanes("or", reached, builder))
        builder.insert(branch)
        with builder.at(branch.then.block):
            self._update(builder)

    def _have_iterations(self, builder: TirBuilder) -> SSAValue:
        """Emits whether all loops around the update have iterations."""
        copies = [copy_out(extent, self.around, builder, {}) for extent in self._extents or ()]
        return builder.conjunction([builder.binary("gt", extent, 0) for extent in copies])

    def _update(self, builder: TirBuilder) -> None:
        a = self._accumulator
        result = self._all_lanes(a.kind, self.results.buffer, builder)
        indices = [copy_out(index, self.around, builder, {}) for index in a.indices]
        builder.store(builder.binary(a.kind, builder.load(a.buffer, indices), result), a.buffer, indices)

    def _all_lanes(self, kind: str, buffer: SSAValue, builder: TirBuilder) -> SSAValue:
        """The combination of all lanes, by halves."""
        name = buffer.name_hint or "partial"
        vector, count = builder.load(buffer, _all(builder, self._lanes)), self._lanes
        rest: list[SSAValue] = []
        while count > 1:
            vector = builder.let(name, vector)
            if count % 2:
                rest.append(builder.shuffle([vector], [count - 1]))
            count //= 2
            low, high = (builder.shuffle([vector], range(n, n + count)) for n in (0, count))
            vector = builder.binary(kind, low, high)
        for value in rest:
            vector = builder.binary(kind, vector, value)
        return vector


def lane_reductions(loop: ForOp, lanes: int) -> list[LaneReduction]:
    """The reductions by the lanes of a loop. None in a vectorized loop, whose lanes may be results then; floats of less
    than 16 bits are reduced in order."""
    if any(isinstance(op, ForOp) and op.kind.data == "vectorized" for op in ancestors(loop)):
        return []
    return [LaneReduction(loop, a, lanes) for a in reductions_of_loop(loop) if _has_partial_results(loop, a)]


def _has_partial_results(loop: ForOp, accumulator: Accumulator) -> bool:
    """Whether lanes may have partial results of an element, which is the same in all of a loop."""
    dtype = accumulator.dtype
    if not all(is_invariant(loop, index) for index in accumulator.indices):
        return False
    return accumulator.kind in _OF_BOOLS if dtype.is_bool else not (dtype.is_float and dtype.bits < 16)


def _start_value(accumulator: Accumulator) -> int | float:
    """The identity; negative zero for a sum, because a sum of negative zeros is one."""
    return -0.0 if accumulator.dtype.is_float and accumulator.kind == "add" else accumulator.identity


def _vector_of(alloc: AllocBufferOp, lanes: int) -> DType:
    """The data type of a vector of all elements of a local buffer."""
    return dtype_of(memref_type(alloc.buffer).element_type).with_lanes(lanes)


def _all(builder: TirBuilder, lanes: int) -> list[SSAValue]:
    """The indices of all lanes."""
    return [builder.ramp(builder.const(0, "int32"), 1, lanes)]


def _loop_to_combine_after(loop: ForOp, accumulator: Accumulator) -> ForOp:
    """The outermost serial loop around a loop that accesses the memory of an element by its update alone."""
    result = loop
    for parent in ancestors(loop):
        if isinstance(parent, ForOp) and parent.kind.data in ("serial", "unrolled"):
            if not _may_wait(parent, accumulator):
                break
            result = parent
        elif not isinstance(parent, IfOp | AttrOp):
            break
    return result


def _may_wait(loop: ForOp, accumulator: Accumulator) -> bool:
    """Whether the element of an accumulator may be updated after a loop, instead of in its iterations."""
    memory = memory_of(accumulator.buffer)
    accesses = {*accumulator.loads, accumulator.store}
    func = next(op for op in ancestors(loop) if isinstance(op, FuncOp))
    noalias = is_true(func.attr(TIR_NOALIAS))
    assert memory is not None
    if loop.is_ancestor(accumulator.buffer.owner) or not all(is_invariant(loop, i) for i in accumulator.indices):
        return False
    if not accesses.issuperset(uses_in(loop, memory)):
        return False
    for op in loop.body.walk():
        if isinstance(op, LoadOp | StoreOp):
            if op not in accesses and not are_apart(memory_of(op.buffer), memory, noalias):
                return False
        elif isinstance(op, AssertOp | ReturnOp) or has_effect(op):
            return False
        elif not isinstance(op, AllocBufferOp) and uses_address(op):
            return False
    return True


def _deciding_extents(store: StoreOp, loop: ForOp) -> list[SSAValue] | None:
    """The extents of the loops around a store, up to `loop`, that are not numbers: an execution of `loop` executes the
    store if and only if all of them are positive. None if the extents do not determine this."""
    extents: list[SSAValue] = []
    op = store.parent_op()
    while op is not None:
        if isinstance(op, ForOp):
            _, extent, step = op.mixed_bounds
            if not isinstance(step, int) or (isinstance(extent, int) and extent <= 0):
                return None
            if not isinstance(extent, int):
                if not is_invariant(loop, extent):
                    return None
                extents.append(extent)
        elif not isinstance(op, AttrOp):
            return None
        if op is loop:
            return list(dict.fromkeys(extents))
        op = op.parent_op()
    return None
