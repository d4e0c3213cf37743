"""Random histories of a cache of keys and values: every sequence has the attention of its own tokens, and a page that
several sequences own is not written."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import KVCache
from stepwell.tools.testing.decoding import CacheModel

CONFIGURATIONS: list[dict[str, Any]] = [
    {"layers": 1, "query_heads": 2, "heads": 1, "head_size": 3, "page_size": 1},
    {"layers": 2, "query_heads": 4, "heads": 2, "head_size": 8, "page_size": 4},
    {"layers": 2, "query_heads": 3, "heads": 3, "head_size": 5, "page_size": 3},
]


class History:
    """Draws operations that succeed on a cache, from its sequences and its free pages."""

    def __init__(self, draw: Any, pair: CacheModel):
        self.draw, self.pair, self.cache = draw, pair, pair.cache
        self.names = iter(range(1000))
        self.extended: list[int] = []
        """The sequences that the last operation has extended."""

    def step(self) -> None:
        self.extended = []
        choices = [self.add]
        if self.cache.sequences:
            choices += [self.extend, self.extend, self.extend, self.fork, self.fork, self.trim, self.remove]
        self.draw(st.sampled_from(choices))()

    def sequence(self) -> int:
        return self.draw(st.sampled_from(self.cache.sequences))

    def add(self) -> None:
        self.pair.add(next(self.names))

    def remove(self) -> None:
        self.pair.remove(self.sequence())

    def fork(self) -> None:
        parent = self.sequence()
        self.pair.fork(parent, next(self.names), self.draw(st.integers(0, self.cache.length(parent))))

    def trim(self) -> None:
        sequence = self.sequence()
        self.pair.trim(sequence, self.draw(st.integers(0, self.cache.length(sequence))))

    def extend(self) -> None:
        sequences = self.draw(st.lists(st.sampled_from(self.cache.sequences), min_size=1, max_size=3, unique=True))
        counts = [self.draw(st.integers(1, 2 * self.cache.page_size + 1)) for _ in sequences]
        pages = sum(2 + count // self.cache.page_size for count in counts)
        if pages <= len(self.cache.pool.free):
            self.pair.extend(sequences, counts)
            self.extended = sequences


@given(data=st.data(), configuration=st.sampled_from(CONFIGURATIONS), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=2 * settings().max_examples)
def test_a_cache_has_the_attention_of_its_histories(data: Any, configuration: dict[str, Any], seed: int) -> None:
    pair = CacheModel(KVCache(**configuration, pages=24), seed)
    history = History(data.draw, pair)
    for _ in range(data.draw(st.integers(1, 25))):
        before = [(keys.copy(), values.copy()) for keys, values in pair.contents]
        owners = list(pair.cache.pool.owners)
        history.step()
        shared = [page for page, count in enumerate(owners) if count > 1]
        # the last sharer of a page, after the others have copied it, writes its own tokens into it
        written = {page for sequence in history.extended for page in pair.pages(sequence)}
        kept = [page for page in shared if pair.cache.pool.owners[page] > (page in written)]
        for old, new in zip(before, pair.contents, strict=True):
            for was, now in zip(old, new, strict=True):
                np.testing.assert_array_equal(was[kept], now[kept])
        pair.check()
