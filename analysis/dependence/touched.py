"""Which memory an op may touch."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import AccessOp, HandleType
from ...dialects.tir.tree import has_effect
from ..threads.memories import memory_of

_MEMORY = frozenset((MemRefType, HandleType))


def touched_memories(op: Operation) -> set[SSAValue | None]:
    """What stands for the memory (`memory_of`) that an op or anything inside of it may access; None among them if it
    has effects outside of buffers."""
    found: set[SSAValue | None] = set()
    for inner in op.walk():
        if type(inner) is AccessOp:
            continue
        for operand in inner.operands:
            if type(operand.type) in _MEMORY:
                memory = memory_of(operand)
                if memory is not None:
                    found.add(memory)
        if inner.name in ("tir.assert", "tir.return") or has_effect(inner):
            found.add(None)
    return found
