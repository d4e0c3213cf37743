"""Searches for operations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region

OpT = TypeVar("OpT", bound=Operation)


def find_ops(root: Operation | Block | Region, *kinds: type[OpT]) -> Iterator[OpT]:
    """Yields the operations of some types in `root`, `root` itself included, in the order of the text.

    The answer for a type of operations is kept, as an `isinstance` of each operation takes longer than the rest.
    """
    are_sought = _answers(kinds)
    for op in root.walk():
        if are_sought[type(op)]:
            yield op  # pyright: ignore[reportReturnType]


def loops_around(op: Operation) -> Iterator[scf.ForOp]:
    """The loops over indices around an op, innermost first, up to another op with regions."""
    loop = op.parent_op()
    while isinstance(loop, scf.ForOp) and isinstance(loop.body.block.args[0].type, IndexType):
        yield loop
        loop = loop.parent_op()


class _Answers(dict[type[Operation], bool]):
    """Whether each type of operations is one of some types."""

    def __init__(self, kinds: tuple[type[Operation], ...]):
        super().__init__()
        self.kinds = kinds

    def __missing__(self, kind: type[Operation]) -> bool:
        answer = self[kind] = issubclass(kind, self.kinds)
        return answer


_answers = lru_cache(maxsize=256)(_Answers)
