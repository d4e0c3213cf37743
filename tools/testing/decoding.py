"""The cache of keys and values beside a reference in numpy that copies every sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...decoding import KVCache

Array = np.ndarray[Any, Any]


def attention_by_numpy(queries: Array, keys: Array, values: Array, start: int, scale: float) -> Array:
    """The attention of tokens at the positions from `start` on to those at lower positions and to themselves.

    queries: of shape (n, query_heads, size).  keys, values: of shape (length, heads, size).
    """
    group = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(each.astype("float64"), group, axis=1) for each in (keys, values))
    scores = np.einsum("ihd,jhd->hij", queries.astype("float64"), keys) * scale
    positions = start + np.arange(len(queries))
    scores = np.where(np.arange(len(keys)) <= positions[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), values)


class CacheModel:
    """A cache and the keys and values that its sequences should have; every operation is executed on both. Free pages
    hold NaN."""

    def __init__(self, cache: KVCache, seed: int = 0):
        self.cache = cache
        self.tolerance = 1e-4
        self.keys: dict[int, list[Array]] = {}
        self.values: dict[int, list[Array]] = {}
        self._rng = np.random.default_rng(seed)
        self._poison()

    def add(self, sequence: int) -> None:
        """Adds a sequence without tokens."""
        self.cache.add_sequence(sequence)
        empty = np.zeros((0, self.cache.heads, self.cache.head_size), self.cache.dtype)
        self.keys[sequence], self.values[sequence] = ([empty] * self.cache.layers for _ in range(2))

    def remove(self, sequence: int) -> None:
        """Removes a sequence."""
        self.cache.remove_sequence(sequence)
        del self.keys[sequence], self.values[sequence]
        self._poison()

    def fork(self, parent: int, child: int, length: int | None = None) -> None:
        """Adds a sequence of the first tokens of another one."""
        self.cache.fork(parent, child, length)
        for arrays in (self.keys, self.values):
            arrays[child] = [array[:length] for array in arrays[parent]]

    def trim(self, sequence: int, length: int) -> None:
        """Removes the last tokens of a sequence."""
        self.cache.trim(sequence, length)
        for arrays in (self.keys, self.values):
            arrays[sequence] = [array[:length] for array in arrays[sequence]]
        self._poison()

    def extend(self, sequences: Sequence[int], counts: Sequence[int]) -> None:
        """Adds random tokens to sequences, and compares their attention with the reference in every layer."""
        cache, total = self.cache, sum(counts)
        starts = [cache.length(sequence) for sequence in sequences]
        places = np.cumsum([0, *counts])
        with cache.forward(sequences, counts):
            for layer in range(cache.layers):
                queries, keys, values = (
                    self._rng.standard_normal((total, heads, cache.head_size)).astype(cache.dtype)
                    for heads in (cache.query_heads, cache.heads, cache.heads)
                )
                cache.append(layer, keys, values)
                for n, sequence in enumerate(sequences):
                    for arrays, new in ((self.keys, keys), (self.values, values)):
                        own = new[places[n] : places[n + 1]]
                        arrays[sequence][layer] = np.concatenate([arrays[sequence][layer], own])
                expected = [
                    self._expected(layer, sequence, start, queries[places[n] : places[n + 1]])
                    for n, (sequence, start) in enumerate(zip(sequences, starts, strict=True))
                ]
                self._compare(cache.attention(layer, queries), np.concatenate(expected))

    def check(self) -> None:
        """Compares the tokens of every sequence in every layer, and the owners of pages."""
        for sequence in self.cache.sequences:
            assert self.cache.length(sequence) == len(self.keys[sequence][0])
        owners = Counter(page for sequence in self.cache.sequences for page in self.pages(sequence))
        assert owners == Counter({page: count for page, count in enumerate(self.cache.pool.owners) if count})
        assert sorted([*owners, *self.cache.pool.free]) == list(range(len(self.cache.pool.owners)))
        for sequence in self.cache.sequences:
            for layer in range(self.cache.layers):
                keys, values = self.stored(sequence, layer)
                np.testing.assert_array_equal(keys, self.keys[sequence][layer])
                np.testing.assert_array_equal(values, self.values[sequence][layer])

    @property
    def contents(self) -> list[tuple[Array, Array]]:
        """The pages of keys and of values of each layer."""
        return list(zip(self.cache._keys, self.cache._values, strict=True))  # pyright: ignore[reportPrivateUsage]

    def stored(self, sequence: int, layer: int) -> tuple[Array, Array]:
        """The keys and values in the pages of a sequence."""
        pages, length = self.pages(sequence), self.cache.length(sequence)
        keys, values = (array[pages] for array in self.contents[layer])
        shape = (-1, self.cache.heads, self.cache.head_size)
        return (
            keys.transpose(0, 3, 1, 2).reshape(shape)[:length],
            values.transpose(0, 2, 1, 3).reshape(shape)[:length],
        )

    def pages(self, sequence: int) -> list[int]:
        """The pages of a sequence, in order."""
        return self.cache._sequences[sequence].pages  # pyright: ignore[reportPrivateUsage]

    def _expected(self, layer: int, sequence: int, start: int, queries: Array) -> Array:
        scale = self.cache.head_size**-0.5
        return attention_by_numpy(queries, self.keys[sequence][layer], self.values[sequence][layer], start, scale)

    def _compare(self, result: Array, expected: Array) -> None:
        np.testing.assert_allclose(result.astype("float64"), expected, rtol=self.tolerance, atol=self.tolerance)

    def _poison(self) -> None:
        """Fills free pages with NaN."""
        free = list(self.cache.pool.free)
        for keys, values in self.contents:
            keys[free] = values[free] = np.nan
