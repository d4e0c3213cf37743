"""Shadow memory: for each allocation, a buffer of bools that records the elements that were written.

The shadow has the layout of the allocation. Each view of the allocation has a view of the shadow, so an access and its
record have the same indices. An allocation whose views have elements of several sizes has an entry for each unit, the
greatest common divisor of the sizes: the shadows of its views have another dimension, the entries of an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import MemRefType, NoneAttr, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....analysis.regions.access_regions import buffer_shape
from ....analysis.scopes import ancestors
from ....analysis.threads.atomics import atomic_of
from ....dialects.tir import (
    CONCURRENT_KINDS,
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    BlockOp,
    BufferDataOp,
    BufferOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    HandleType,
    IfThenElseOp,
    LetOp,
    LoadOp,
    MatchRegionOp,
    Mixed,
    StoreOp,
    TirBuilder,
)
from ....dialects.tir.tree import is_expression_op
from .memories import Positions, byte_size_of

_VIEWS = (MatchRegionOp, DeclBufferOp, BufferDataOp, AddressOfOp, AccessPtrOp, LetOp)
_CALLS = (CallOp, CallExternOp, CallPackedOp, CallIntrinOp)
_DECLARATIONS = (AccessOp, BufferOp, AllocateOp)


@dataclass(frozen=True)
class _Uses:
    """The uses of an allocation. views: the operations whose results refer to its memory, operands first."""

    views: list[Operation]
    accesses: list[Operation]
    calls: list[Operation]


class Shadows:
    """The shadows of the allocations of a function.

    own: the statements that this class inserted, which need no checks.
    """

    def __init__(self, func: FuncOp):
        self.own: set[Operation] = set()
        self._shadow_of: dict[SSAValue, SSAValue] = {}
        self._entries: dict[SSAValue, int] = {}
        self._written_by: dict[Operation, list[SSAValue]] = {}
        for op in list(func.walk()):
            if isinstance(op, AllocBufferOp | AllocateOp):
                self._create(op)

    # Records of elements

    def mark(self, builder: TirBuilder, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Emits the record that an element is written."""
        for shadow, position in self._cells(builder, buffer, indices):
            self.own.add(builder.store(builder.const(True, "bool"), shadow, position))

    def is_written(self, builder: TirBuilder, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue | None:
        """Whether all bytes of an element were written; None for a buffer without shadow."""
        cells = [builder.load(*cell) for cell in self._cells(builder, buffer, indices)]
        self.own.update(cell.owner for cell in cells if isinstance(cell.owner, Operation))
        return builder.conjunction(cells) if cells else None

    def _cells(
        self, builder: TirBuilder, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
        shadow = self._shadow_of.get(buffer)
        if shadow is None:
            return
        entries = self._entries[buffer]
        for n in range(entries):
            yield shadow, [*indices, *([builder.value(n)] if entries > 1 else [])]

    def after_call(self, op: Operation) -> None:
        """Emits records that a call has written all of the memory that it may access."""
        for shadow in self._written_by.get(op, ()):
            self._fill(TirBuilder(InsertPoint.after(op), op.location), shadow, True)

    # Creation

    def _create(self, op: AllocBufferOp | AllocateOp) -> None:
        """Creates the shadow of an allocation, and of its views; none if the memory escapes."""
        root = op.buffer if isinstance(op, AllocBufferOp) else op.pointer
        uses = _uses_of(root)
        if uses is None or not any(isinstance(access, LoadOp | CallExternOp) for access in uses.accesses):
            return
        sizes = [size for size in map(_size_of, (root, *(v.results[0] for v in uses.views))) if size is not None]
        unit = gcd(*sizes)
        entries = byte_size_of(root) // unit
        home = _home(op, [*uses.accesses, *uses.calls])
        builder = TirBuilder(home, op.location)
        alloc = builder.insert(self._allocation(builder, op, entries))
        shadow = alloc.buffer
        self._shadow_of[root], self._entries[root] = self._pointer(builder, root, shadow), entries
        self._fill(TirBuilder(_after_declarations(alloc), op.location), shadow, False)
        for view in uses.views:
            self._mirror(view, unit, builder)
        for call in uses.calls:
            self._written_by.setdefault(call, []).append(shadow)

    def _allocation(self, builder: TirBuilder, op: AllocBufferOp | AllocateOp, entries: int) -> AllocBufferOp:
        positions = Positions(builder)
        if isinstance(op, AllocateOp):
            count = positions.mul(positions.product(op.mixed_extents), entries)
            return AllocBufferOp(f"{op.var_name.data}_written", i1, [count])
        shape, strides, offset = _refine(positions, op, entries)
        name, space = f"{op.buffer_name.data}_written", op.type.memory_space
        return AllocBufferOp(name, i1, shape, strides=strides, offset=offset, space=space)

    def _pointer(self, builder: TirBuilder, root: SSAValue, shadow: SSAValue) -> SSAValue:
        """The shadow of an allocation: a buffer for a buffer, a pointer for a pointer."""
        return shadow if isinstance(root.type, MemRefType) else builder.insert(BufferDataOp(shadow)).pointer

    def _fill(self, builder: TirBuilder, shadow: SSAValue, written: bool) -> None:
        """Emits stores of one bool to all entries of a shadow."""
        shape = buffer_shape(shadow)
        with builder.loops([f"i{d}" for d in range(len(shape))], shape, type=i32) as indices:
            store = builder.store(builder.const(written, "bool"), shadow, indices)
        outermost: Operation = store
        for _ in shape:
            parent = outermost.parent_op()
            assert parent is not None
            outermost = parent
        self.own.add(outermost)

    def _mirror(self, view: Operation, unit: int, home: TirBuilder) -> None:
        """Creates the shadow of a view: after the view, or after the shadow of the allocation if that is later."""
        parent = home.point.block.parent_op()
        nested = parent is not None and parent.is_ancestor(view)
        builder = TirBuilder(InsertPoint.after(view), view.location) if nested else home
        result = view.results[0]
        size = _size_of(result)
        entries = 1 if size is None else size // unit
        self._shadow_of[result] = self._view(builder, view, entries)
        self._entries[result] = entries

    def _view(self, builder: TirBuilder, view: Operation, entries: int) -> SSAValue:
        shadow_of, positions = self._shadow_of, Positions(builder)
        match view:
            case MatchRegionOp():
                missing = len(view.region) - view.type.get_num_dims()
                region = view.region + ([(0, entries)] if entries > 1 else [])
                shape = [extent for _, extent in region[missing:]]
                name = f"{view.buffer_name.data}_written"
                return builder.insert(MatchRegionOp(name, shadow_of[view.source], region, shape)).buffer
            case DeclBufferOp():
                shape, strides, offset = _refine(positions, view, entries)
                name, pointer = f"{view.buffer_name.data}_written", shadow_of[view.data]
                space = view.type.memory_space
                declared = DeclBufferOp(name, pointer, i1, shape, strides=strides, offset=offset, space=space)
                return builder.insert(declared).buffer
            case BufferDataOp():
                source = view.buffer
                while isinstance(region := source.owner, MatchRegionOp) and region.mixed_offset != 0:
                    source = region.source
                return builder.insert(BufferDataOp(shadow_of[source])).pointer
            case AddressOfOp():
                first = [builder.value(0)] if self._entries[view.buffer] > 1 else []
                return builder.insert(AddressOfOp(shadow_of[view.buffer], [*view.indices, *first])).pointer
            case AccessPtrOp():
                offset, extent = (builder.value(positions.mul(n, entries)) for n in (view.offset, view.extent))
                pointer = shadow_of[view.data]
                type = HandleType(i1, view.pointer.type.scope.data)
                return builder.insert(AccessPtrOp(pointer, offset, extent, view.access.value.data, type)).pointer
            case _:
                return shadow_of[view.operands[0]]


def _size_of(value: SSAValue) -> int | None:
    """The bytes of an element of the memory of a pointer or buffer; None for a pointer without element type."""
    if isinstance(value.type, HandleType) and isinstance(value.type.element, NoneAttr):
        return None
    return byte_size_of(value)


def _refine(
    positions: Positions, op: AllocBufferOp | DeclBufferOp, entries: int
) -> tuple[list[Mixed], list[Mixed] | None, Mixed]:
    """The shape, strides and offset of a buffer with another dimension for the entries of an element."""
    shape, strides = op.mixed_shape, op.mixed_strides
    if entries == 1:
        return shape, strides, op.mixed_offset
    finer = None if strides is None else [*(positions.mul(stride, entries) for stride in strides), 1]
    return [*shape, entries], finer, positions.mul(op.mixed_offset, entries)


# Uses


def _uses_of(root: SSAValue) -> _Uses | None:
    """The uses of an allocation; None if its memory escapes: a use that is no view, access or call."""
    uses, pending = _Uses([], [], []), [root]
    while pending:
        for use in pending.pop(0).uses:
            op = use.operation
            if isinstance(op, AccessOp | AttrOp | EvaluateOp):
                continue
            if isinstance(op, _VIEWS):
                uses.views.append(op)
                pending.append(op.results[0])
            elif isinstance(op, LoadOp) or (isinstance(op, StoreOp) and use.index == 1):
                uses.accesses.append(op)
            elif isinstance(op, CallExternOp) and atomic_of(op) is not None:
                uses.accesses.append(op)
            elif isinstance(op, _CALLS) and not isinstance(op.parent_op(), IfThenElseOp):
                uses.calls.append(op)
            else:
                return None
    return uses


def _home(op: AllocBufferOp | AllocateOp, users: Sequence[Operation]) -> InsertPoint:
    """The insertion point of a shadow: after its allocation; at the start of a concurrent loop each of whose iterations
    has a memory of its own, as the loop encloses all uses but not the allocation."""
    around = set(ancestors(op))
    common = [loop for loop in ancestors(users[0]) if _is_concurrent(loop) and loop not in around]
    for loop in common:
        if all(loop.is_ancestor(user) for user in users):
            return InsertPoint.at_start(loop.regions[0].block)
    return InsertPoint.after(op)


def _is_concurrent(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind.data in CONCURRENT_KINDS


def _after_declarations(op: Operation) -> InsertPoint:
    """The insertion point after an operation and the declarations that follow it, which begin the body of a block."""
    last = op
    while (following := last.next_op) is not None and isinstance(op.parent_op(), BlockOp):
        if not isinstance(following, _DECLARATIONS) and not is_expression_op(following):
            break
        last = following
    return InsertPoint.after(last)
