"""The pass `merge-allocations`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from ...core.dtypes import element_byte_size
from ...core.remarks import PassRemarks
from ...core.sizes import align_up, byte_count
from ...dialects.attributes import DISJOINT, WORKSPACE_MEMORY
from .allocations import VIEWS, description_of, release_of

_remarks = PassRemarks("merge-allocations")

OpT = TypeVar("OpT", bound=Operation)

_ALIGNMENT = 64
"""The alignment of a buffer in bytes: a cache line, and the widest vector."""


class MergeAllocationsPass(ModulePass):
    """Merges the heap memory of a function into one workspace, allocated once, at the start of the function.

    Only allocations of static size are merged, those in loops and branches among them: the memory of all branches
    exists when the function starts. Memory of dynamic size is a workspace of its own. A module keeps workspaces for
    later calls, so that a call neither maps nor clears pages that an earlier call had.

    Two buffers share memory if all uses of one precede all uses of the other in each execution of the region that
    contains both. Buffers that do not share memory are views of separate parts of the workspace, so that accesses of
    one are known not to concern the other.

    Before
        scf.for %i = %c0 to %c8 step %c1 {
          %A = memref.alloc() : memref<100x100xf32>
          "use"(%A) : (memref<100x100xf32>) -> ()
          %B = memref.alloc() : memref<50x100xf32>
          "use"(%B) : (memref<50x100xf32>) -> ()
          memref.dealloc %B : memref<50x100xf32>
          memref.dealloc %A : memref<100x100xf32>
        }

    After
        %workspace = memref.alloc() {stepwell.workspace} : memref<40000xi8>
        %part = memref.view %workspace[%c0][] {stepwell.disjoint} : memref<40000xi8> to memref<40000xi8>
        %A = memref.view %part[%c0][] : memref<40000xi8> to memref<100x100xf32>
        %B = memref.view %part[%c0][] : memref<40000xi8> to memref<50x100xf32>
        scf.for %i = %c0 to %c8 step %c1 {
          "use"(%A) : (memref<100x100xf32>) -> ()
          "use"(%B) : (memref<50x100xf32>) -> ()
        }
        memref.dealloc %workspace : memref<40000xi8>

    Must hold before: functions have one block, and buffers are compact.

    Gone after: `memref.alloc` with a `memref.dealloc` in the same block, except workspaces.
    """

    name = "merge-allocations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration and len(function.body.blocks) == 1:
                _merge(function.body.block)


@dataclass
class _Buffer:
    """An allocation with its release, and the positions of its first and last use in the text of the function."""

    alloc: memref.AllocOp
    dealloc: memref.DeallocOp
    first: int
    last: int

    @property
    def type(self) -> MemRefType[Attribute]:
        return self.alloc.memref.type

    @property
    def size(self) -> int:
        """The size in bytes."""
        return byte_count(self.type.get_shape(), element_byte_size(self.type.element_type))

    @property
    def alignment(self) -> int:
        required = self.alloc.alignment
        return max(_ALIGNMENT, 1 if required is None else required.value.data)

    def meets(self, other: _Buffer) -> bool:
        """Whether both are in use at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass
class _Part:
    """A part of the workspace: buffers that are in use one after the other, the largest first."""

    buffers: list[_Buffer] = field(default_factory=list)

    @property
    def size(self) -> int:
        return align_up(max(1, self.buffers[0].size), _ALIGNMENT)

    @property
    def alignment(self) -> int:
        return max(buffer.alignment for buffer in self.buffers)


def _merge(body: Block) -> None:
    parts = _parts(_buffers(body))
    if not parts:
        return
    offsets: list[int] = []
    total = 0
    for part in parts:
        total = align_up(total, part.alignment)
        offsets.append(total)
        total += part.size
    builder = _Builder(body)
    whole = _bytes_type(total)
    alignment = {"alignment": IntegerAttr(max(part.alignment for part in parts), i64)}
    alloc = builder.insert(memref.AllocOp.build(operands=[[], []], result_types=[whole], properties=alignment))
    alloc.attributes[WORKSPACE_MEMORY] = UnitAttr()
    alloc.memref.name_hint = "workspace"
    for part, offset in zip(parts, offsets, strict=True):
        view = builder.view(alloc.memref, offset, _bytes_type(part.size))
        view.attributes[DISJOINT] = UnitAttr()
        view.result.name_hint = "part"
        for buffer in part.buffers:
            _report(buffer, offset)
            _replace(builder, buffer, view.result)
    _report_total(body, [buffer.size for part in parts for buffer in part.buffers], total)
    end = body.last_op
    assert end is not None
    Rewriter.insert_op(memref.DeallocOp.get(alloc.memref), InsertPoint.before(end))


def _report(buffer: _Buffer, offset: int) -> None:
    _remarks.applied(
        buffer.alloc, lambda: f"{description_of(buffer.alloc)} is in the workspace, {buffer.size} bytes from {offset}"
    )


def _report_total(body: Block, sizes: Sequence[int], total: int) -> None:
    """Reports the workspace of a function. sizes: of its buffers, in bytes.  total: its own size."""
    function = body.parent_op()
    assert function is not None
    _remarks.applied(function, lambda: f"the workspace has {total} bytes, its buffers have {sum(sizes)} bytes in all")


def _bytes_type(size: int) -> MemRefType[Attribute]:
    return MemRefType(i8, [size])


def _replace(builder: _Builder, buffer: _Buffer, part: SSAValue) -> None:
    """Replaces an allocation by a view of a part of the workspace."""
    space = buffer.type.memory_space
    builder.location = buffer.alloc.location
    value = builder.view(part, 0, MemRefType(buffer.type.element_type, buffer.type.shape)).result
    if not isinstance(space, NoneAttr):
        value = builder.insert(memref.MemorySpaceCastOp(value, buffer.type)).results[0]
    value.name_hint = buffer.alloc.memref.name_hint
    Rewriter.erase_op(buffer.dealloc)
    buffer.alloc.memref.replace_all_uses_with(value)
    Rewriter.erase_op(buffer.alloc)


class _Builder:
    """Inserts ops at the start of a block, after its first constants, in order."""

    def __init__(self, block: Block):
        constants = list(takewhile(lambda op: isinstance(op, arith.ConstantOp), block.ops))
        self._block = block
        self._last = constants[-1] if constants else None
        self._offsets: dict[int, SSAValue] = {
            op.value.value.data: op.result
            for op in constants
            if isinstance(op, arith.ConstantOp)
            and isinstance(op.value, IntegerAttr)
            and isinstance(op.result.type, IndexType)
        }
        function = block.parent_op()
        assert function is not None
        self.location = function.location

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        Rewriter.insert_op(
            op, InsertPoint.at_start(self._block) if self._last is None else InsertPoint.after(self._last)
        )
        self._last = op
        return op

    def view(self, source: SSAValue, offset: int, type: MemRefType[Attribute]) -> memref.ViewOp:
        """A view of memory from an offset in bytes."""
        if offset not in self._offsets:
            number = self.insert(arith.ConstantOp(IntegerAttr(offset, IndexType())))
            number.result.name_hint = f"c{offset}"
            self._offsets[offset] = number.result
        return self.insert(memref.ViewOp(source, self._offsets[offset], [], type))  # pyright: ignore[reportArgumentType]


# Lifetimes


def _buffers(body: Block) -> list[_Buffer]:
    """The allocations that can be merged."""
    start = {op: n for n, op in enumerate(inner for op in body.ops for inner in op.walk())}
    buffers: list[_Buffer] = []
    for op in start:
        if not isinstance(op, memref.AllocOp):
            continue
        release = release_of(op)
        if release is None:
            _keep(op, "its memory may be in use after the region of its allocation")
        elif op.dynamic_sizes:
            _keep_memory(op)
        elif op.parent is not None:
            users = [release if user is None else user for user in _users(op.memref)]
            around = [user for user in map(op.parent.find_ancestor_op_in_block, users) if user is not None] or [op]
            first, last = (choose(around, key=start.__getitem__) for choose in (min, max))
            buffers.append(_Buffer(op, release, start[first], start[_last_op(last)]))
    return buffers


def _keep(alloc: memref.AllocOp, reason: str) -> None:
    _remarks.missed(alloc, lambda: f"{description_of(alloc)} is allocated where it is used: {reason}")


def _keep_memory(alloc: memref.AllocOp) -> None:
    """Marks memory of dynamic size as a workspace, which is kept for later calls."""
    alloc.attributes[WORKSPACE_MEMORY] = UnitAttr()
    _remarks.applied(alloc, lambda: f"{description_of(alloc)} is a workspace of its own: its size is dynamic")


def _last_op(op: Operation) -> Operation:
    """The last op in the text of an op."""
    *_, last = op.walk()
    return last


def _users(buffer: SSAValue) -> Iterator[Operation | None]:
    """The ops that use a buffer or a view of it, its release excluded; None where a use may keep the address."""
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, memref.DeallocOp):
            continue
        yield user
        if type(user) in VIEWS:
            for result in user.results:
                yield from _users(result)
        elif _keeps(user, use.index):
            yield None


def _keeps(user: Operation, index: int) -> bool:
    """Whether an op may keep the address that is its operand: it stores the address, computes with it, or passes it on
    to another block or a caller."""
    if user.has_trait(IsTerminator):
        return True
    if isinstance(user, memref.StoreOp):
        return index == 0
    return not isinstance(user.operands[index].type, MemRefType) or any(
        isinstance(result.type, MemRefType | llvm.LLVMPointerType) for result in user.results
    )


def _parts(buffers: Sequence[_Buffer]) -> list[_Part]:
    """Parts for buffers: each buffer, the largest first, is in the first part in which no other is in use meanwhile."""
    parts: list[_Part] = []
    for buffer in sorted(buffers, key=lambda buffer: -buffer.size):
        fitting = (part for part in parts if not any(buffer.meets(other) for other in part.buffers))
        part = next(fitting, None)
        if part is None:
            parts.append(part := _Part())
        part.buffers.append(buffer)
    return parts
