"""What memory a buffer or pointer gives access to, and who looks at it."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    DeclBufferOp,
    LetOp,
    MatchBufferOp,
    MatchRegionOp,
    ReinterpretOp,
)

LOCAL = "local"
"""The scope of memory that each thread has for itself."""
OF_WARP = "warp"
"""The scope of memory that threads have together which differ in `threadIdx.x` alone."""


def memory_of(value: SSAValue) -> SSAValue | None:
    """What stands for the memory that a buffer or pointer gives access to: the buffer that was allocated, or a pointer.

    None where no memory is behind it.
    """
    while isinstance(op := value.owner, Operation):
        match op:
            case MatchRegionOp() | MatchBufferOp():
                value = op.source
            case DeclBufferOp() | AccessPtrOp():
                value = op.data
            case BufferDataOp() | AddressOfOp():
                value = op.buffer
            case LetOp() | ReinterpretOp():
                value = op.value
            case AllocBufferOp() | AllocateOp() | AllocateConstOp():
                return value
            case _:
                # A string, or a pointer that was loaded or is the result of a call.
                return value if op.operands else None
    return value


def views_of(memory: SSAValue) -> list[SSAValue]:
    """The buffers that look at the memory behind a pointer directly; empty if something else is done with it."""
    users = [use.operation for use in memory.uses]
    views: list[SSAValue] = [u.buffer for u in users if isinstance(u, DeclBufferOp | MatchBufferOp)]
    return views if len(views) == len(users) else []


def buffer_of(memory: SSAValue) -> SSAValue | None:
    """The buffer that says the shape of some memory."""
    if isinstance(memory.type, MemRefType):
        return memory
    return next(iter(views_of(memory)), None)


def is_local(memory: SSAValue) -> bool:
    """Whether each thread has some memory for itself, by its scope."""
    type = memory.type
    return isinstance(type, MemRefType) and type.memory_space == StringAttr(LOCAL)


def is_of_warp(memory: SSAValue) -> bool:
    """Whether threads that differ in `threadIdx.x` alone have some memory together, by its scope."""
    type = memory.type
    return isinstance(type, MemRefType) and type.memory_space == StringAttr(OF_WARP)
