"""Allocations of upstream functions, and views of them."""

from __future__ import annotations

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import UnrealizedConversionCastOp

VIEWS = (
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
"""Ops whose results refer to the memory of an operand."""


def description_of(alloc: memref.AllocOp | memref.AllocaOp) -> str:
    """The name and the type of a buffer, for messages."""
    return " ".join(filter(None, ["buffer", alloc.memref.name_hint, str(alloc.memref.type)]))


def release_of(alloc: memref.AllocOp) -> memref.DeallocOp | None:
    """The release of an allocation in its own block; None if the memory may outlive the block."""
    releases = [use.operation for use in alloc.memref.uses if isinstance(use.operation, memref.DeallocOp)]
    return releases[0] if len(releases) == 1 and releases[0].parent is alloc.parent else None
