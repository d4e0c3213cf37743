"""The memory that buffers and pointers refer to, and its views."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    DeclBufferOp,
    HandleType,
    LetOp,
    MatchBufferOp,
    MatchRegionOp,
    ReinterpretOp,
    scope_of,
)

LOCAL = "local"
"""The scope of memory private to each thread."""
_LOCAL = StringAttr(LOCAL)
SHARED = "shared"
"""The scope of memory shared by the threads of a thread block, and the prefix of other such scopes."""
OF_WARP = "warp"
"""The scope of memory shared by the threads that differ in `threadIdx.x` alone."""
FRAGMENT = "wmma."
"""The prefix of the scopes of matrices in the registers of a warp, which the threads that differ in `threadIdx.x` alone
share."""


def local_buffer(name: str, type: Attribute, extent: int) -> AllocBufferOp:
    """Allocates a buffer of one dimension in memory private to each thread. type: of an element."""
    return AllocBufferOp(name, type, [extent], space=StringAttr(LOCAL))


def memory_of(value: SSAValue) -> SSAValue | None:
    """The value that represents the memory of a buffer or pointer: the allocated buffer, or a pointer.

    None if the value refers to no memory.
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
                # A string, or a pointer from a load or a call.
                return value if op.operands else None
    return value


def pointer_views(memory: SSAValue) -> list[SSAValue]:
    """The buffers that directly view the memory of a pointer; empty if the pointer has any other use."""
    users = [use.operation for use in memory.uses]
    views: list[SSAValue] = [u.buffer for u in users if isinstance(u, DeclBufferOp | MatchBufferOp)]
    return views if len(views) == len(users) else []


def buffer_of(memory: SSAValue) -> SSAValue | None:
    """The buffer that declares the shape of some memory; None if no buffer does."""
    if isinstance(memory.type, MemRefType):
        return memory
    return next(iter(pointer_views(memory)), None)


def is_local(memory: SSAValue) -> bool:
    """Whether each thread has its own copy of the memory, by its scope."""
    type = memory.type
    return isinstance(type, MemRefType) and type.memory_space == _LOCAL


def is_of_warp(memory: SSAValue) -> bool:
    """Whether the threads that differ in `threadIdx.x` alone share the memory, by its scope."""
    type = memory.type
    return isinstance(type, MemRefType) and type.memory_space == StringAttr(OF_WARP)


def is_fragment(memory: SSAValue) -> bool:
    """Whether some memory is the registers of a warp for matrices, by its scope."""
    type = memory.type
    if isinstance(type, HandleType):
        return type.scope.data.startswith(FRAGMENT)
    return isinstance(type, MemRefType) and scope_of(type).startswith(FRAGMENT)


def has_copy_for_each_warp(memory: SSAValue) -> bool:
    """Whether the threads that differ in `threadIdx.x` alone share the memory, by its scope."""
    return is_of_warp(memory) or is_fragment(memory)


def is_shared(memory: SSAValue) -> bool:
    """Whether all threads of a thread block see the memory, by its scope."""
    type = memory.type
    if isinstance(type, HandleType):
        return type.scope.data.startswith(SHARED)
    return isinstance(type, MemRefType) and scope_of(type).startswith(SHARED)
