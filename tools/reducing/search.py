"""Delta debugging: subsets of a list as small as a predicate permits.

Source: A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Transactions on Software
Engineering 28(2), 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal_subset(items: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A subset of `items`, in order, that fails, and of which no single item can be removed.

    fails: whether a subset fails; holds for `items`.
    """
    subset, size = list(items), max(1, len(items) // 2)
    while subset:
        start, removed = 0, False
        while start < len(subset):
            rest = subset[:start] + subset[start + size :]
            if fails(rest):
                subset, removed = rest, True
            else:
                start += size
        if size == 1 and not removed:
            break
        size = max(1, min(size if removed else size // 2, len(subset) // 2))
    return subset
