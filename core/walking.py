"""Searches for operations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region

from .xdsl_speed import OfKinds, walk

OpT = TypeVar("OpT", bound=Operation)

_of_kinds = lru_cache(maxsize=256)(OfKinds)


def find_ops(root: Operation | Block | Region, *kinds: type[OpT]) -> Iterator[OpT]:
    """Yields the operations of some types in `root`, `root` itself included, in the order of the text.

    The answer for a type of operations is kept, as an `isinstance` of each operation takes longer than the rest.
    """
    return walk(root, _of_kinds(kinds))  # pyright: ignore[reportReturnType]


def loops_around(op: Operation) -> Iterator[scf.ForOp]:
    """The loops over indices around an op, innermost first, up to another op with regions."""
    loop = op.parent_op()
    while isinstance(loop, scf.ForOp) and isinstance(loop.body.block.args[0].type, IndexType):
        yield loop
        loop = loop.parent_op()
