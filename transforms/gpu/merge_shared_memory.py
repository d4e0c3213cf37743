"""The pass `gpu-merge-shared-memory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, ModuleOp, StringAttr, i8, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.diagnostics import where
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.gpu import max_shared_bytes
from ...core.sizes import align_up
from ...core.walking import find_ops
from ...dialects.attributes import WARP_BARRIER

_DYNAMIC, _STATIC = StringAttr("shared.dyn"), StringAttr("shared")
_ALIGNMENT = 16
"""The alignment of a buffer in bytes, as required by the widest access."""


@dataclass(frozen=True)
class GpuMergeSharedMemoryPass(ModulePass):
    """Merges the `shared.dyn` memory of a kernel into one allocation, whose size becomes an operand of the launch.

    Two buffers overlap if a barrier for all threads separates the last use of one from the first use of the other.

    arch: the architecture, as `sm_90`.

    Raises UnsupportedError for a kernel with more static and dynamic shared memory than a block of this architecture
    can have.

    Before
        gpu.launch blocks(...) threads(...) {
          %A = memref.alloca() : memref<100xf32, "shared.dyn">
          %B = memref.alloca() : memref<8xf16, "shared.dyn">
          ...
        }

    After
        %size = arith.constant 416 : i32
        gpu.launch blocks(...) threads(...) dynamic_shared_memory_size %size {
          %shared_dyn = memref.alloca() : memref<416xi8, "shared.dyn">
          %A = memref.view %shared_dyn[%c0][] : memref<416xi8, "shared.dyn"> to memref<100xf32, "shared.dyn">
          %B = memref.view %shared_dyn[%c400][] : memref<416xi8, "shared.dyn"> to memref<8xf16, "shared.dyn">
          ...
        }

    Must hold before: launches have the form that `convert-tir-to-scf` produces, with allocations at the start of the
    kernel.

    Gone after: more than one allocation of `shared.dyn` in a launch.
    """

    name = "gpu-merge-shared-memory"

    arch: str = "sm_90"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        available = max_shared_bytes(self.arch)
        for launch in list(find_ops(op, gpu.LaunchOp)):
            buffers = _plan(launch.body.block, _allocations(launch, _DYNAMIC))
            total = max((buffer.offset + buffer.size for buffer in buffers), default=0)
            static = sum(_bytes(alloc) for alloc in _allocations(launch, _STATIC))
            if total + static > available:
                sizes = [*_allocations(launch, _STATIC), *(buffer.alloc for buffer in buffers)]
                listed = ", ".join(f"{alloc.memref.name_hint}: {_bytes(alloc)}" for alloc in sizes)
                raise UnsupportedError(
                    f"{where(launch)}{total + static} bytes ({listed}) of shared memory, expected at most {available} "
                    f"on {self.arch}"
                )
            if buffers:
                _merge(launch, buffers, total)


@dataclass
class _Buffer:
    """An allocation, the positions of its first and last use among the top-level operations of the kernel, and its
    offset in bytes.
    """

    alloc: memref.AllocaOp
    first: int
    last: int
    offset: int = 0

    @property
    def size(self) -> int:
        return _bytes(self.alloc)

    @property
    def alignment(self) -> int:
        required = self.alloc.alignment
        return max(_ALIGNMENT, 1 if required is None else required.value.data)


def _allocations(launch: gpu.LaunchOp, space: StringAttr) -> list[memref.AllocaOp]:
    allocs = list(find_ops(launch, memref.AllocaOp))
    return [op for op in allocs if op.memref.type.memory_space == space]


def _bytes(alloc: memref.AllocaOp) -> int:
    type = alloc.memref.type
    if DYNAMIC_INDEX in type.get_shape():
        raise UnsupportedError(f"{where(alloc)}the size of {alloc.memref.name_hint}, in shared memory, is not known")
    return prod(type.get_shape()) * dtype_of(type.element_type).bytes


# Offsets of buffers


def _plan(body: Block, allocs: Sequence[memref.AllocaOp]) -> list[_Buffer]:
    """The buffers, largest first, each at the lowest offset that does not overlap a buffer live at the same time."""
    ops = list(body.ops)
    number = {op: n for n, op in enumerate(ops)}
    barriers = [n for n, op in enumerate(ops) if isinstance(op, gpu.BarrierOp) and WARP_BARRIER not in op.attributes]
    placed: list[_Buffer] = []
    for alloc in sorted(reversed(allocs), key=_bytes, reverse=True):
        uses = sorted({number[_top_level_op(user, body)] for user in _users(alloc.memref)}) or [
            number[_top_level_op(alloc, body)]
        ]
        buffer = _Buffer(alloc, uses[0], uses[-1])
        others = [other for other in placed if not _are_separated(buffer, other, barriers)]
        buffer.offset = _free_offset(buffer, others)
        placed.append(buffer)
    return placed


def _are_separated(a: _Buffer, b: _Buffer, barriers: Sequence[int]) -> bool:
    """Whether a barrier for all threads separates all uses of one buffer from all uses of the other."""
    before, after = (a, b) if a.last < b.first else (b, a)
    return any(before.last < barrier < after.first for barrier in barriers)


def _free_offset(buffer: _Buffer, others: Sequence[_Buffer]) -> int:
    offset = 0
    for other in sorted(others, key=lambda other: other.offset):
        if offset + buffer.size > other.offset:
            offset = max(offset, align_up(other.offset + other.size, buffer.alignment))
    return offset


def _users(buffer: SSAValue) -> list[Operation]:
    """The operations that use a buffer or a view of it."""
    users: list[Operation] = []
    for use in buffer.uses:
        users.append(use.operation)
        for result in use.operation.results:
            if not isinstance(use.operation, memref.LoadOp):
                users += _users(result)
    return users


def _top_level_op(op: Operation, body: Block) -> Operation:
    while op.parent is not body:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


# The merged allocation


def _merge(launch: gpu.LaunchOp, buffers: Sequence[_Buffer], total: int) -> None:
    body = launch.body.block
    whole = MemRefType(i8, [total], memory_space=_DYNAMIC)
    alignment = IntegerAttr(max(buffer.alignment for buffer in buffers), i64)
    base = memref.AllocaOp.build(operands=[[], []], result_types=[whole], properties={"alignment": alignment})
    base.memref.name_hint = "shared_dyn"
    base.location = launch.location
    Rewriter.insert_op(base, InsertPoint.at_start(body))
    last: Operation = base
    for buffer in buffers:
        alloc = buffer.alloc
        offset = arith.ConstantOp(IntegerAttr(buffer.offset, IndexType()))
        offset.result.name_hint = f"c{buffer.offset}"
        view = memref.ViewOp(base, offset, [], alloc.memref.type)  # pyright: ignore[reportArgumentType]
        view.result.name_hint = alloc.memref.name_hint
        for op in (offset, view):
            op.location = alloc.location
            Rewriter.insert_op(op, InsertPoint.after(last))
            last = op
        alloc.memref.replace_all_uses_with(view.result)
        alloc.detach()
        alloc.erase()
    size = arith.ConstantOp(IntegerAttr(total, i32))
    Rewriter.insert_op(size, InsertPoint.before(launch))
    new = gpu.LaunchOp(
        launch.detach_region(launch.body),
        [launch.gridSizeX, launch.gridSizeY, launch.gridSizeZ],
        [launch.blockSizeX, launch.blockSizeY, launch.blockSizeZ],
        dynamicSharedMemorySize=size,
    )
    new.location = launch.location
    Rewriter.replace_op(launch, new)
