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


def count_ops(root: Operation | Block | Region) -> int:
    """The number of operations in `root`, `root` itself included."""
    count, todo = 0, list[Operation | None]()
    if isinstance(root, Operation):
        count, regions = 1, root.regions
    else:
        regions = (root,) if isinstance(root, Region) else ()
        todo += [root.first_op] if isinstance(root, Block) else []
    while True:
        for region in regions:
            block = region.first_block
            while block is not None:
                todo.append(block.first_op)
                block = block.next_block
        if not todo:
            return count
        op, regions = todo.pop(), list[Region]()
        while op is not None:
            count += 1
            regions += op.regions
            op = op.next_op


def loops_around(op: Operation) -> Iterator[scf.ForOp]:
    """The loops over indices around an op, innermost first, up to another op with regions."""
    loop = op.parent_op()
    while isinstance(loop, scf.ForOp) and isinstance(loop.body.block.args[0].type, IndexType):
        yield loop
        loop = loop.parent_op()
