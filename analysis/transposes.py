"""Transposition of a matrix in vectors by shuffles of two vectors at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar

T = TypeVar("T")

_GROUP_BYTES = 16
"""The bytes of the parts of vectors inside of which instructions interleave two vectors."""


def can_transpose(rows: int, columns: int, element_bytes: int) -> bool:
    """Whether `transpose` supports a matrix: powers of two of rows and columns, either as many rows as columns, or one
    of them as many as elements of 16 bytes."""
    group = _GROUP_BYTES // element_bytes
    few, many = sorted((rows, columns))
    is_shape = few == group or group < few == many
    return group > 1 and is_shape and rows.bit_count() == columns.bit_count() == 1


def transpose(
    rows: Sequence[T], columns: int, element_bytes: int, shuffle: Callable[[Sequence[T], Sequence[int]], T]
) -> list[T]:
    """The columns of a matrix, as vectors.

    Processors have instructions for the shuffles: the first ones interleave halves of each 16 bytes of two vectors, the
    others select every second 16 bytes of two vectors.

    rows: the rows of the matrix, as vectors.  columns: their number; `can_transpose` holds.  shuffle: selects lanes of
    one or two vectors, by their numbers in the concatenation.
    """
    steps = _Steps(_GROUP_BYTES // element_bytes, max(len(rows), columns), shuffle)
    group = steps.group
    if columns == group:
        return steps.interleave([steps.join(rows[n::group]) for n in range(group)])
    parts = [steps.interleave(rows[n : n + group]) for n in range(0, len(rows), group)]
    if len(parts) == 1:
        return [shuffle([vector], range(n, n + group)) for n in range(0, columns, group) for vector in parts[0]]
    selected = [steps.select([part[n] for part in parts]) for n in range(group)]
    return list(chain.from_iterable(zip(*selected, strict=True)))


class _Steps(Generic[T]):
    """The steps of a transposition. group: the elements of 16 bytes.  width: the lanes of the vectors."""

    def __init__(self, group: int, width: int, shuffle: Callable[[Sequence[T], Sequence[int]], T]):
        self.group, self._width, self._shuffle = group, width, shuffle

    def join(self, vectors: Sequence[T]) -> T:
        """The concatenation of vectors of a group of lanes; their number is a power of two."""
        lanes = self.group
        while len(vectors) > 1:
            lanes *= 2
            vectors = [self._shuffle(vectors[n : n + 2], range(lanes)) for n in range(0, len(vectors), 2)]
        return vectors[0]

    def interleave(self, rows: Sequence[T]) -> list[T]:
        """The transposes of all groups of lanes of as many vectors as a group has lanes."""
        half, rows = self.group // 2, list(rows)
        for _ in range(self.group.bit_length() - 1):
            pairs = zip(rows[:half], rows[half:], strict=True)
            rows = [self._shuffle(pair, self._interleaved(start)) for pair in pairs for start in (0, half)]
        return rows

    def _interleaved(self, start: int) -> list[int]:
        """The lanes of two vectors in turn, of half of each group. start: the first lane of the half."""
        groups, lanes = range(0, self._width, self.group), range(start, start + self.group // 2)
        return [group + lane + vector for group in groups for lane in lanes for vector in (0, self._width)]

    def select(self, rows: Sequence[T]) -> list[T]:
        """The transpose of a square of groups: vector n has group n of each row."""
        if len(rows) == 1:
            return list(rows)
        pairs = [rows[n : n + 2] for n in range(0, len(rows), 2)]
        even, odd = (self.select([self._shuffle(pair, self._every_second(n)) for pair in pairs]) for n in (0, 1))
        return list(chain.from_iterable(zip(even, odd, strict=True)))

    def _every_second(self, first: int) -> list[int]:
        """The lanes of every second group of two vectors."""
        groups = range(first * self.group, 2 * self._width, 2 * self.group)
        return [group + lane for group in groups for lane in range(self.group)]
