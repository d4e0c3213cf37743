"""The memory that an op may access."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import AccessOp, HandleType
from ...dialects.tir.tree import has_effect
from ..threads.memories import memory_of

_MEMORY = frozenset((MemRefType, HandleType))


def accessed_memories(op: Operation) -> set[SSAValue | None]:
    """The values that represent the memory (`memory_of`) that an op or its nested ops may access; contains None if the
    op has effects outside of buffers."""
    memories: set[SSAValue | None] = set()
    for inner in op.walk():
        if type(inner) is AccessOp:
            continue
        for operand in inner.operands:
            if type(operand.type) in _MEMORY:
                memory = memory_of(operand)
                if memory is not None:
                    memories.add(memory)
        if inner.name in ("tir.assert", "tir.return") or has_effect(inner):
            memories.add(None)
    return memories
