"""Searches for operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Block, Operation, Region

OpT = TypeVar("OpT", bound=Operation)


def find_ops(root: Operation | Block | Region, *kinds: type[OpT]) -> Iterator[OpT]:
    """Yields the operations of some types in `root`, `root` itself included, in the order of the text.

    The answer for a type of operations is kept, as an `isinstance` of each operation takes longer than the rest.
    """
    known: dict[type[Operation], bool] = {}
    for op in root.walk():
        kind = type(op)
        found = known.get(kind)
        if found is None:
            found = known[kind] = issubclass(kind, kinds)
        if found:
            yield op  # pyright: ignore[reportReturnType]
