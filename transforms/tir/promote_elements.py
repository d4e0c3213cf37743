"""The pass `tir-promote-elements`."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.loop_accesses import (
    are_apart,
    contiguous_elements,
    is_allocation,
    is_certain,
    is_parameter,
    uses_address,
)
from ...analysis.reducers import is_invariant
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import thread_axis_of
from ...analysis.threads.memories import local_buffer, memory_of
from ...core.dtypes import element_byte_size
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import TIR_NOALIAS, is_true
from ...dialects.tir import (
    AssertOp,
    ForOp,
    FuncOp,
    IfOp,
    LoadOp,
    RampOp,
    ReturnOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_out
from ...dialects.tir.operands import drop_mask, redirect_access
from ...dialects.tir.tree import erase_if_dead, expression_key, has_effect, is_expression_op
from .allocation_accesses import drop_conditions_of_first_stores, unmask_updates
from .preconditions import report_blocks

_remarks = PassRemarks("tir-promote-elements")


@dataclass(frozen=True)
class TirPromoteElementsPass(ModulePass):
    """Copies elements that each iteration of a loop loads and stores to a local buffer, for the time of the loop.

    The indices of the copies are constant, so they are registers. A buffer takes part in a loop where all its accesses
    have indices that the loop does not change, where two accesses concern the same elements or none in common, and
    where no other access of the loop may concern its memory: other buffers are allocations, or the function has
    `tir.noalias`; no thread and no vectorized loop is around. Each element must be accessed in every iteration, for it
    is loaded before, unless the loop first stores it; if the number of iterations is unknown, elements are loaded and
    stored where it is positive. All accesses of an element may have the same mask, which the loop does not change: the
    accesses of the copy have none. Outer loops are tried first; the loops contain no calls, assertions or `return`.

    First, a number that the first statements after an allocation store, some under conditions or with masks, is stored
    unconditionally, so that the elements have values in each iteration around the allocation. Updates of vectors of an
    allocation with a mask select the lanes of the mask, and store the others as they are.

    max-bytes: the maximum size of the copies of a buffer; the size of all registers of a processor.

    Before
        tir.for serial "k" %k : i32 in [0 +: 8] {
          %c = tir.load %C[%i] : memref<4xf32>
          ...
          tir.store %sum, %C[%i] : memref<4xf32>
        }

    After
        %C_1 = tir.alloc_buffer "C" : memref<1xf32, "local">
        %0 = tir.load %C[%i] : memref<4xf32>
        tir.store %0, %C_1[0] : memref<1xf32, "local">
        tir.for serial "k" %k : i32 in [0 +: 8] {
          %c = tir.load %C_1[0] : memref<1xf32, "local">
          ...
          tir.store %sum, %C_1[0] : memref<1xf32, "local">
        }
        %1 = tir.load %C_1[0] : memref<1xf32, "local">
        tir.store %1, %C[%i] : memref<4xf32>

    Must hold before: no tir.block (`tir-resolve-blocks`).

    Gone after: nothing.
    """

    name = "tir-promote-elements"

    max_bytes: int = 2048

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                drop_conditions_of_first_stores(function)
                unmask_updates(function)
                _Promotion(function, self.max_bytes).block(function.body.block)
                report_blocks(_remarks, function)


Access = LoadOp | StoreOp


@dataclass(frozen=True)
class _Place:
    """The elements of an access. indices: of the first element, with their types.  lanes: the number of elements of a
    vector, None for a scalar.  mask: a key of the expression `predicate` that computes the lanes that are accessed.
    """

    indices: tuple[Lin, ...]
    types: tuple[Attribute, ...]
    lanes: int | None
    mask: Hashable = None
    predicate: SSAValue | None = field(default=None, compare=False)

    @property
    def count(self) -> int:
        """The number of elements."""
        return self.lanes or 1

    def emit(self, analyzer: Analyzer, builder: TirBuilder) -> list[SSAValue]:
        """Emits the indices of an access."""
        pairs = zip(self.indices, self.types, strict=True)
        return _with_lanes(builder, [export(analyzer, lin, builder, type) for lin, type in pairs], self.lanes)

    def copy_mask(self, loop: ForOp, builder: TirBuilder) -> SSAValue | None:
        """Emits the mask of an access outside of a loop; None without a mask."""
        return None if self.predicate is None else copy_out(self.predicate, loop, builder, {})


def _is_obstacle(op: Operation) -> bool:
    """Whether an operation may leave a loop or use the address of a buffer."""
    return type(op) is AssertOp or type(op) is ReturnOp or has_effect(op) or uses_address(op)


@dataclass
class _Elements:
    """The accesses of a buffer in a loop, by their places."""

    buffer: SSAValue
    accesses: dict[_Place, list[Access]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of elements."""
        return sum(place.count for place in self.accesses)

    def are_separate(self) -> bool:
        """Whether no two places have elements in common. Their indices differ by constants; with strides, elements of
        different indices may be the same."""
        assert isinstance(self.buffer.type, MemRefType)
        if len(self.accesses) > 1 and not isinstance(self.buffer.type.layout, NoneAttr):
            return False
        ends: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        terms = {tuple(frozenset(lin.terms.items()) for lin in place.indices) for place in self.accesses}
        for place in self.accesses:
            *rows, first = [lin.const for lin in place.indices] or [0]
            ends.setdefault(tuple(rows), []).append((first, first + place.count))
        return len(terms) == 1 and all(
            end <= start for row in ends.values() for (_, end), (start, _) in pairwise(sorted(row))
        )


class _Promotion:
    """The promotion of the elements of a function."""

    def __init__(self, function: FuncOp, max_bytes: int):
        self._max_bytes = max_bytes
        self._noalias = is_true(function.attr(TIR_NOALIAS))
        self._analyzer = Analyzer()
        self._obstacles = dict[Operation, Operation]()
        """For each loop, the last operation in it that prevents all promotions."""
        for op in function.walk():
            if type(op) is not LoadOp and type(op) is not StoreOp and _is_obstacle(op):
                self._obstacles |= dict.fromkeys(ancestors(op), op)

    def block(self, block: Block) -> None:
        """Promotes elements in the loops of a block, the outermost first. Threads may exchange values by elements, and
        lanes reduce into them."""
        for op in list(block.ops):
            if thread_axis_of(op) is not None or (isinstance(op, ForOp) and op.kind.data == "vectorized"):
                continue
            if isinstance(op, ForOp):
                self._loop(op)
            for region in op.regions:
                self.block(region.block)

    def _loop(self, loop: ForOp) -> None:
        _, extent, step = loop.mixed_bounds
        if not isinstance(step, int) or (isinstance(extent, int) and extent <= 0):
            return
        if any(op.kind.data != "serial" for op in find_ops(loop, ForOp)):
            return
        for elements in self._candidates(loop):
            count, name = elements.count, elements.buffer.name_hint
            size = count * _element_size(elements.buffer)
            if size > self._max_bytes:
                _keep(loop, elements, f"they are {size} bytes, more than {self._max_bytes}")
                continue
            self._promote(loop, elements)
            _remarks.applied(
                loop, lambda: f"{count} elements of {name} are in registers during loop {loop.loop_var.data}"
            )

    def _candidates(self, loop: ForOp) -> list[_Elements]:
        """The elements that a loop uses at indices that it does not change, and that no other statement concerns."""
        last = self._obstacles.get(loop)
        if last is not None and not _remarks.are_collected:
            return []
        obstacle = "" if last is None else f"the loop contains {last.name}"
        accesses: dict[SSAValue, list[Access]] = {}
        for op in find_ops(loop.body, LoadOp, StoreOp):
            accesses.setdefault(op.buffer, []).append(op)
        stored = [buffer for buffer, ops in accesses.items() if any(isinstance(op, StoreOp) for op in ops)]
        candidates: list[_Elements] = []
        for buffer in stored:
            reason = obstacle or self._alias(buffer, accesses)
            if reason and not _remarks.are_collected:
                continue
            elements = self._elements(loop, buffer, memory_of(buffer), accesses[buffer])
            if elements is not None and reason:
                _keep(loop, elements, reason)
            elif elements is not None:
                candidates.append(elements)
        return candidates

    def _alias(self, buffer: SSAValue, others: Iterable[SSAValue]) -> str:
        """The reason why an access of another buffer may concern the memory of a buffer; "" if none does."""
        memory = memory_of(buffer)
        for other in others:
            if other is not buffer and not are_apart(memory, memory_of(other), self._noalias):
                return f"{other.name_hint} may be the same memory"
        return ""

    def _elements(
        self, loop: ForOp, buffer: SSAValue, memory: SSAValue | None, accesses: Sequence[Access]
    ) -> _Elements | None:
        """The accesses of a buffer by their places; None if a loop changes one, or if they are not separate."""
        elements = _Elements(buffer)
        certain: set[_Place] = set()
        for access in accesses:
            place = self._place(loop, access)
            if place is None:
                return None
            known = elements.accesses.setdefault(place, [])
            executed = is_certain(access, loop)
            if not known and not executed and not is_parameter(memory):
                return None  # the element may have no value yet
            known.append(access)
            if executed:
                certain.add(place)
        if is_allocation(memory) and self._is_in_registers(buffer):
            return None
        return elements if len(certain) == len(elements.accesses) and elements.are_separate() else None

    def _is_in_registers(self, buffer: SSAValue) -> bool:
        """Whether all accesses of a buffer are loads and stores at constant indices."""
        users = [use.operation for use in buffer.uses]
        return all(isinstance(user, LoadOp | StoreOp) and all(map(self._is_constant, user.indices)) for user in users)

    def _is_constant(self, index: SSAValue) -> bool:
        """Whether the index of the first element of an access is constant."""
        first = index.owner.base if isinstance(index.owner, RampOp) else index
        return not isinstance(first.type, VectorType) and not self._analyzer.lin(first).terms

    def _place(self, loop: ForOp, access: Access) -> _Place | None:
        """The place of an access; None if a loop changes the indices, or if they are no range."""
        contiguous = contiguous_elements(access.indices)
        if contiguous is None:
            return None
        indices, lanes = contiguous
        mask = access.predicate
        if mask is not None and (lanes is None or not is_invariant(loop, mask)):
            return None
        lins = tuple(map(self._analyzer.lin, indices))
        if any(loop.is_ancestor(leaf.owner) for lin in lins for leaf in lin.leaves()):
            return None
        key = None if mask is None else expression_key(mask)
        return _Place(lins, tuple(index.type for index in indices), lanes, key, mask)

    def _promote(self, loop: ForOp, elements: _Elements) -> None:
        """Replaces the elements of a buffer by copies. Stores directly before the loop become stores of the copies."""
        first = self._include_stores_before(loop, elements)
        before = TirBuilder(InsertPoint.before(loop), loop.location)
        after = TirBuilder(InsertPoint.after(loop), loop.location)
        places: dict[int | None, list[_Place]] = {}
        for place in elements.accesses:
            places.setdefault(place.lanes, []).append(place)
        builder = TirBuilder(InsertPoint.before(first), loop.location)
        # All copies are allocated before an access changes, whose dead operands may include the insertion point.
        copies = {
            lanes: self._allocate(builder, elements.buffer, len(group) * (lanes or 1))
            for lanes, group in places.items()
        }
        for lanes, group in places.items():
            copy = copies[lanes]
            for number, place in enumerate(group):
                accesses = elements.accesses[place]
                if not _begins_with_store(accesses[0], loop):
                    with _if_it_runs(loop, before):
                        value = before.load(
                            elements.buffer, place.emit(self._analyzer, before), place.copy_mask(loop, before)
                        )
                        before.insert(StoreOp(value, copy, _copied(before, number, lanes)))
                if any(isinstance(access, StoreOp) for access in accesses):
                    is_stored_before = _begins_with_store(accesses[0], loop) and not loop.is_ancestor(accesses[0])
                    with nullcontext() if is_stored_before else _if_it_runs(loop, after):
                        result = after.load(copy, _copied(after, number, lanes))
                        indices = place.emit(self._analyzer, after)
                        after.insert(StoreOp(result, elements.buffer, indices, place.copy_mask(loop, after)))
                for access in accesses:
                    unused = [*access.indices, *([] if access.predicate is None else [access.predicate])]
                    builder = TirBuilder(InsertPoint.before(access), access.location)
                    redirect_access(access, copy, _copied(builder, number, lanes))
                    drop_mask(access)
                    for value in unused:
                        erase_if_dead(value)

    def _allocate(self, builder: TirBuilder, buffer: SSAValue, count: int) -> SSAValue:
        """Allocates copies of elements of a buffer."""
        type = memref_type(buffer).element_type
        return builder.insert(local_buffer(buffer.name_hint or "element", type, count)).buffer

    def _include_stores_before(self, loop: ForOp, elements: _Elements) -> Operation:
        """Adds the stores directly before a loop that concern its elements to the accesses of their places. Returns the
        first op of these stores, or the loop."""
        first, op = loop, loop.prev_op
        while op is not None:
            if isinstance(op, StoreOp) and op.buffer is elements.buffer:
                place = self._place(loop, op)
                if place not in elements.accesses:
                    break
                elements.accesses[place].insert(0, op)
            elif not is_expression_op(op) or has_effect(op) or not self._reads_other_memory(op, elements.buffer):
                break
            first, op = op, op.prev_op
        while first is not loop and is_expression_op(first):  # operands of a statement that is not included
            following = first.next_op
            assert following is not None
            first = following
        while first is not loop and (op := first.prev_op) is not None and is_expression_op(op):
            first = op
        return first

    def _reads_other_memory(self, op: Operation, buffer: SSAValue) -> bool:
        """Whether no load of an expression may concern the memory of a buffer."""
        loads = find_ops(op, LoadOp)
        return all(are_apart(memory_of(load.buffer), memory_of(buffer), self._noalias) for load in loads)


def _keep(loop: ForOp, elements: _Elements, reason: str) -> None:
    """Reports elements that stay in memory."""
    text = f"{elements.count} elements of {elements.buffer.name_hint} stay in memory during loop {loop.loop_var.data}"
    _remarks.missed(loop, lambda: f"{text}: {reason}")


@contextmanager
def _if_it_runs(loop: ForOp, builder: TirBuilder) -> Generator[None]:
    """Emits the ops of the body in a branch that is taken if a loop has iterations."""
    extent = loop.mixed_bounds[1]
    if isinstance(extent, int):
        yield
        return
    branch = builder.insert(IfOp(builder.binary("gt", extent, 0)))
    with builder.at(branch.then.block):
        yield


def _with_lanes(builder: TirBuilder, indices: list[SSAValue], lanes: int | None) -> list[SSAValue]:
    """Indices of which the last is that of the first of some lanes."""
    return indices if lanes is None else [*indices[:-1], builder.ramp(indices[-1], 1, lanes)]


def _copied(builder: TirBuilder, number: int, lanes: int | None) -> list[SSAValue]:
    """The indices of a copy in the local buffer."""
    return _with_lanes(builder, [builder.const(number * (lanes or 1), "int32")], lanes)


def _element_size(buffer: SSAValue) -> int:
    return element_byte_size(memref_type(buffer).element_type)


def _begins_with_store(access: Access, loop: ForOp) -> bool:
    """Whether the first access of an element, in a loop or before it, is a store that is executed."""
    return isinstance(access, StoreOp) and (not loop.is_ancestor(access) or is_certain(access, loop))
