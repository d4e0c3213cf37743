"""Allocations of upstream functions, and views of them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from ...core.dtypes import element_byte_size
from ...core.sizes import byte_count
from ...dialects.attributes import DISJOINT

VIEWS = frozenset(
    (
        memref.CastOp,
        memref.MemorySpaceCastOp,
        memref.SubviewOp,
        memref.ReinterpretCastOp,
        memref.ViewOp,
        memref.ExtractAlignedPointerAsIndexOp,
        memref.ExtractStridedMetaDataOp,
        UnrealizedConversionCastOp,
        llvm.IntToPtrOp,
        llvm.PtrToIntOp,
    )
)
"""Ops whose results refer to the memory of an operand."""

_REGISTERS = 2048
"""The size in bytes of a stack buffer that may be in registers: 32 of the widest."""


def description_of(alloc: memref.AllocOp | memref.AllocaOp) -> str:
    """The name and the type of a buffer, for messages."""
    return " ".join(filter(None, ["buffer", alloc.memref.name_hint, str(alloc.memref.type)]))


def release_of(alloc: memref.AllocOp) -> memref.DeallocOp | None:
    """The release of an allocation in its own block; None if the memory may outlive the block."""
    releases = [use.operation for use in alloc.memref.uses if isinstance(use.operation, memref.DeallocOp)]
    return releases[0] if len(releases) == 1 and releases[0].parent is alloc.parent else None


def root_of(buffer: SSAValue) -> SSAValue:
    """The buffer that a view shows, or the disjoint part of it."""
    while isinstance(owner := buffer.owner, Operation) and type(owner) in VIEWS and DISJOINT not in owner.attributes:
        buffer = owner.operands[0]
    return buffer


def users_of(buffer: SSAValue) -> Iterator[Operation]:
    """The ops that use a buffer or a view of it, the views included."""
    for use in buffer.uses:
        yield use.operation
        if type(use.operation) in VIEWS:
            for result in use.operation.results:
                yield from users_of(result)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is the result of a constant op."""
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def is_in_registers(alloc: memref.AllocaOp) -> bool:
    """Whether a small stack buffer is accessed at constant indices."""
    kind = alloc.memref.type
    if alloc.dynamic_sizes or byte_count(kind.get_shape(), element_byte_size(kind.element_type)) > _REGISTERS:
        return False
    accesses = [op for op in users_of(alloc.memref) if type(op) not in VIEWS]
    return any(all(map(is_constant, getattr(op, "indices", ()))) for op in accesses)
