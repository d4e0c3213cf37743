"""`gpu-merge-shared-memory`."""

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
from ...core.gpu import shared_bytes
from ...dialects.attributes import OF_WARP

_DYNAMIC, _STATIC = StringAttr("shared.dyn"), StringAttr("shared")
_ALIGNMENT = 16
"""Bytes: where a buffer starts, as the widest access asks for it."""


@dataclass(frozen=True)
class GpuMergeSharedMemoryPass(ModulePass):
    """Put all memory of scope `shared.dyn` of a kernel into one allocation, whose size the launch says.

    Two buffers lie in the same place if one is used no more when the other is first used, and all threads wait for each
    other between.

    arch: the architecture; UnsupportedError if it does not have so much shared memory, static and dynamic.

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

    Must hold before: launches are those of `convert-tir-to-scf`, which allocate at the start of the kernel.

    Gone after: more than one allocation of `shared.dyn` in a launch.
    """

    name = "gpu-merge-shared-memory"

    arch: str = "sm_90"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        available = shared_bytes(self.arch)
        for launch in [inner for inner in op.walk() if isinstance(inner, gpu.LaunchOp)]:
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
    """An allocation, which top-level operations of the kernel use it (first and last), and where it is."""

    alloc: memref.AllocaOp
    first: int
    last: int
    offset: int = 0

    @property
    def size(self) -> int:
        return _bytes(self.alloc)

    @property
    def alignment(self) -> int:
        asked = self.alloc.alignment
        return max(_ALIGNMENT, 1 if asked is None else asked.value.data)


def _allocations(launch: gpu.LaunchOp, space: StringAttr) -> list[memref.AllocaOp]:
    found = [op for op in launch.walk() if isinstance(op, memref.AllocaOp)]
    return [op for op in found if op.memref.type.memory_space == space]


def _bytes(alloc: memref.AllocaOp) -> int:
    type = alloc.memref.type
    if DYNAMIC_INDEX in type.get_shape():
        raise UnsupportedError(f"{where(alloc)}the size of {alloc.memref.name_hint}, in shared memory, is not known")
    return prod(type.get_shape()) * dtype_of(type.element_type).bytes


# Where each buffer is


def _plan(body: Block, allocs: Sequence[memref.AllocaOp]) -> list[_Buffer]:
    """Each buffer, the largest first, at the lowest place that none has which is used at the same time."""
    ops = list(body.ops)
    number = {op: n for n, op in enumerate(ops)}
    barriers = [n for n, op in enumerate(ops) if isinstance(op, gpu.BarrierOp) and OF_WARP not in op.attributes]
    placed: list[_Buffer] = []
    for alloc in sorted(reversed(allocs), key=_bytes, reverse=True):
        uses = sorted({number[_top(user, body)] for user in _users(alloc.memref)}) or [number[_top(alloc, body)]]
        buffer = _Buffer(alloc, uses[0], uses[-1])
        others = [other for other in placed if not _apart(buffer, other, barriers)]
        buffer.offset = _free_offset(buffer, others)
        placed.append(buffer)
    return placed


def _apart(a: _Buffer, b: _Buffer, barriers: Sequence[int]) -> bool:
    """Whether all threads wait for each other between all uses of one and all of the other."""
    before, behind = (a, b) if a.last < b.first else (b, a)
    return any(before.last < barrier < behind.first for barrier in barriers)


def _free_offset(buffer: _Buffer, others: Sequence[_Buffer]) -> int:
    offset = 0
    for other in sorted(others, key=lambda other: other.offset):
        if offset + buffer.size > other.offset:
            offset = max(offset, _up(other.offset + other.size, buffer.alignment))
    return offset


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _users(buffer: SSAValue) -> list[Operation]:
    """What uses a buffer, and what is made of it that points there."""
    found: list[Operation] = []
    for use in buffer.uses:
        found.append(use.operation)
        for result in use.operation.results:
            if not isinstance(use.operation, memref.LoadOp):
                found += _users(result)
    return found


def _top(op: Operation, body: Block) -> Operation:
    while op.parent is not body:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


# The one allocation


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
