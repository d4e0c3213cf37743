"""The module `tvm.topi.tag`: kinds of operators, which `te.compute` takes as `tag`."""

from __future__ import annotations

from ..tags import tag_scope

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether a tag is that of an operator that broadcasts its operands."""
    return tag in (ELEMWISE, BROADCAST)


def is_injective(tag: str) -> bool:
    """Whether a tag is that of an operator without reductions."""
    return tag in (ELEMWISE, BROADCAST, INJECTIVE)


__all__ = [
    "BROADCAST",
    "COMM_REDUCE",
    "COMM_REDUCE_IDX",
    "ELEMWISE",
    "INJECTIVE",
    "is_broadcast",
    "is_injective",
    "tag_scope",
]
