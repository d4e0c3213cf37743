"""The cache of keys and values of the tokens of sequences, which a decoder extends token by token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backends.devices.nd import HostArray
from ..backends.graph.executor import as_ndarray
from ..backends.runtime.memory import empty_array
from ..core.dtypes import numpy_dtype
from ..core.errors import ArgumentError, OptionError
from .kernels import cache_kernels
from .pages import PagePool
from .rotary import Rotary

Array = np.ndarray[Any, Any]

_DTYPES = ("float32", "float16", "bfloat16")


@dataclass
class _Sequence:
    """The tokens of a sequence: their number, and the pages that hold them in order."""

    length: int = 0
    pages: list[int] = field(default_factory=list[int])


@dataclass
class _Forward:
    """The tokens of a forward pass. lengths: of the sequences before, by name.  tables: the pages of each sequence.
    sequences, positions: the row of `tables` and the position of each token.  layers: those with keys of the tokens.
    """

    lengths: dict[int, int]
    tables: Array
    sequences: Array
    positions: Array
    layers: set[int] = field(default_factory=set[int])


class KVCache:
    """Keys and values of sequences of tokens, in pages of this machine's memory, for all layers of a decoder.

    A forward pass adds tokens to some sequences: `begin_forward` reserves their positions, then each layer calls
    `append` with their keys and values and `attention` with their queries, and `end_forward` ends the pass. Tokens of
    several sequences follow each other in one array, in the order of the sequences.

    `fork` shares the pages of a sequence. A page is written only while one sequence owns it: a sequence that adds
    tokens to a shared page receives a copy first. One thread at a time may use a cache.
    """

    def __init__(
        self,
        *,
        layers: int,
        query_heads: int,
        head_size: int,
        pages: int,
        heads: int | None = None,
        page_size: int = 16,
        dtype: str = "float32",
        rotary: Rotary | None = None,
    ):
        """query_heads: the heads of queries; consecutive ones share a head of keys and values.  head_size: the elements
        of a head.  pages: the number of pages, each with `page_size` tokens of all layers.  heads: the heads of keys
        and values, by default `query_heads`.  dtype: float32, float16 or bfloat16.  rotary: the rotations of keys and
        queries by `fused_attention`.

        Raises OptionError for numbers that are not positive, heads that do not divide the heads of queries and another
        data type, DeviceError if there is not enough memory.
        """
        heads = query_heads if heads is None else heads
        numbers = {"layers": layers, "query_heads": query_heads, "heads": heads, "head_size": head_size}
        for name, number in {**numbers, "pages": pages, "page_size": page_size}.items():
            if number < 1:
                raise OptionError(f"KVCache: {name} = {number}, expected at least 1")
        if query_heads % heads:
            raise OptionError(f"KVCache: {query_heads} heads of queries, expected a multiple of {heads} heads")
        if dtype not in _DTYPES:
            raise OptionError(f"KVCache: dtype {dtype}, expected one of {', '.join(_DTYPES)}")
        self.page_size, self.query_heads, self.heads, self.head_size = page_size, query_heads, heads, head_size
        self.dtype = numpy_dtype(dtype)
        self.rotary = rotary
        self.pool = PagePool(pages)
        keys, values = (pages, heads, head_size, page_size), (pages, heads, page_size, head_size)
        self._keys = [empty_array(keys, self.dtype, "keys of KVCache") for _ in range(layers)]
        self._values = [empty_array(values, self.dtype, "values of KVCache") for _ in range(layers)]
        kernels = cache_kernels(query_heads, heads, head_size, page_size, dtype)
        self._append, self._copy, self._attention = (kernels[name] for name in ("append", "copy", "attention"))
        self._sequences: dict[int, _Sequence] = {}
        self._forward: _Forward | None = None

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self._keys)

    @property
    def sequences(self) -> list[int]:
        """The names of the sequences, in the order of their addition."""
        return list(self._sequences)

    def length(self, sequence: int) -> int:
        """The number of tokens, with those of a forward pass under way. ArgumentError for an unknown sequence."""
        return self._find(sequence).length

    # Sequences

    def add_sequence(self, sequence: int) -> None:
        """Adds a sequence without tokens. ArgumentError if the name is taken, or during a forward pass."""
        self._require_idle("add_sequence")
        self._require_new(sequence)
        self._sequences[sequence] = _Sequence()

    def remove_sequence(self, sequence: int) -> None:
        """Removes a sequence, whose pages become free if no other shares them. ArgumentError as of `trim`."""
        self.trim(sequence, 0)
        del self._sequences[sequence]

    def clear(self) -> None:
        """Removes all sequences. ArgumentError during a forward pass."""
        self._require_idle("clear")
        for sequence in self.sequences:
            self.remove_sequence(sequence)

    def fork(self, parent: int, child: int, length: int | None = None) -> None:
        """Adds the sequence `child` of the first `length` tokens of `parent`, by default all, without a copy.

        ArgumentError if `parent` is unknown, `child` is taken or the length is out of range, and during a forward pass.
        """
        self._require_idle("fork")
        source = self._find(parent)
        self._require_new(child)
        count = self._require_length(parent, source.length if length is None else length)
        pages = source.pages[: self._page_count(count)]
        for page in pages:
            self.pool.share(page)
        self._sequences[child] = _Sequence(count, list(pages))

    def trim(self, sequence: int, length: int) -> None:
        """Removes the tokens of a sequence from position `length` on.

        ArgumentError if the sequence is unknown or the length is out of range, and during a forward pass.
        """
        self._require_idle("trim")
        self._find(sequence)
        self._cut(sequence, self._require_length(sequence, length))

    def _cut(self, sequence: int, length: int) -> None:
        state, count = self._sequences[sequence], self._page_count(length)
        for page in state.pages[count:]:
            self.pool.release(page)
        state.length = length
        del state.pages[count:]

    # Forward passes

    @contextmanager
    def forward(self, sequences: Sequence[int], counts: Sequence[int]) -> Generator[None]:
        """A forward pass that adds `counts` tokens to `sequences`; an exception removes these tokens.

        Raises the errors of `begin_forward` and `end_forward`.
        """
        self.begin_forward(sequences, counts)
        try:
            yield
            self.end_forward()
        except BaseException:
            self.cancel_forward()
            raise

    def begin_forward(self, sequences: Sequence[int], counts: Sequence[int]) -> None:
        """Begins a forward pass that adds `counts` tokens to `sequences`, and reserves pages for them.

        ArgumentError for unknown or repeated sequences, counts below 1 and a forward pass under way; OutOfMemoryError,
        with the cache unchanged, if there are not enough pages.
        """
        self._require_idle("begin_forward")
        counts = self._require_counts(sequences, counts)
        self.pool.require(self._pages_needed(sequences, counts))
        lengths = {sequence: self.length(sequence) for sequence in sequences}
        for sequence, count in zip(sequences, counts, strict=True):
            self._extend(self._sequences[sequence], count)
        self._forward = _Forward(lengths, *self._places(lengths))

    def _require_counts(self, sequences: Sequence[int], counts: Sequence[int]) -> list[int]:
        if len(sequences) != len(counts) or not counts:
            raise ArgumentError(f"begin_forward: {len(sequences)} sequences and {len(counts)} counts, expected as many")
        for sequence, times in Counter(sequences).items():
            self._find(sequence)
            if times > 1:
                raise ArgumentError(f"begin_forward: sequence {sequence} occurs {times} times, expected once")
        for sequence, count in zip(sequences, counts, strict=True):
            if count < 1:
                raise ArgumentError(f"begin_forward: {count} tokens of sequence {sequence}, expected at least 1")
        return [int(count) for count in counts]

    def _pages_needed(self, sequences: Sequence[int], counts: Sequence[int]) -> int:
        """The new pages of a forward pass, with the copies of shared ones: the last sharer of a page needs no copy."""
        states = [self._sequences[sequence] for sequence in sequences]
        new = sum(
            self._page_count(state.length + count) - len(state.pages)
            for state, count in zip(states, counts, strict=True)
        )
        partial = Counter(state.pages[-1] for state in states if state.length % self.page_size)
        return new + sum(min(sharers, self.pool.owners[page] - 1) for page, sharers in partial.items())

    def _extend(self, state: _Sequence, count: int) -> None:
        """Reserves positions of a sequence, in pages that no other sequence owns."""
        if state.length % self.page_size and self.pool.owners[state.pages[-1]] > 1:
            state.pages[-1] = self._copy_page(state.pages[-1])
        state.length += count
        missing = self._page_count(state.length) - len(state.pages)
        state.pages += [self.pool.take() for _ in range(missing)]

    def _copy_page(self, page: int) -> int:
        """The copy of a shared page in all layers, which replaces it in one sequence."""
        copy = self.pool.take()
        for keys, values in zip(self._keys, self._values, strict=True):
            self._copy(keys, values, page, copy)
        self.pool.release(page)
        return copy

    def _places(self, lengths: dict[int, int]) -> tuple[Array, Array, Array]:
        """The tables of the sequences of a forward pass, and the row and the position of each token."""
        states = [self._sequences[sequence] for sequence in lengths]
        tables = np.zeros((len(states), max(len(state.pages) for state in states)), np.int32)
        for row, state in zip(tables, states, strict=True):
            row[: len(state.pages)] = state.pages
        ranges = [range(start, state.length) for start, state in zip(lengths.values(), states, strict=True)]
        rows = np.repeat(np.arange(len(states), dtype=np.int32), [len(each) for each in ranges])
        return tables, rows, np.concatenate([np.array(each, np.int32) for each in ranges])

    def end_forward(self) -> None:
        """Ends a forward pass. ArgumentError if there is none, or a layer has no keys and values of its tokens."""
        missing = sorted(set(range(self.layers)) - self._require_forward("end_forward").layers)
        if missing:
            raise ArgumentError(f"end_forward: no keys and values of layer {', '.join(map(str, missing))}")
        self._forward = None

    def cancel_forward(self) -> None:
        """Ends a forward pass and removes its tokens. ArgumentError if there is none."""
        forward = self._require_forward("cancel_forward")
        self._forward = None
        for sequence, length in forward.lengths.items():
            self._cut(sequence, length)

    # Layers

    def query_positions(self) -> Array:
        """The positions of the tokens of a forward pass in their sequences: int32 of shape (n,). ArgumentError without
        a forward pass."""
        return self._require_forward("query_positions").positions.copy()

    def append(self, layer: int, keys: Any, values: Any) -> None:
        """Writes the keys and values of the tokens of a forward pass: arrays of shape (n, heads, head_size).

        ArgumentError without a forward pass, for an unknown layer or one that has them, and for other shapes and types.
        """
        forward = self._require_layer("append", layer)
        if layer in forward.layers:
            raise ArgumentError(f"append: layer {layer} has keys and values of these tokens")
        keys = self._require_array("append: keys", keys, forward, self.heads)
        values = self._require_array("append: values", values, forward, self.heads)
        self._require_owned(forward)
        places = (forward.tables, forward.sequences, forward.positions)
        self._append(self._keys[layer], self._values[layer], *places, keys, values)
        forward.layers.add(layer)

    def _require_owned(self, forward: _Forward) -> None:
        """Checks that no other sequence owns a page that is written."""
        pages = forward.tables[forward.sequences, forward.positions // self.page_size]
        assert all(self.pool.owners[page] == 1 for page in set(pages.tolist()))

    def attention(self, layer: int, queries: Any, scale: float | None = None, out: Array | None = None) -> Array:
        """The attention of the tokens of a forward pass to those at lower positions and to themselves: the sum of the
        values of these tokens, weighted by the softmax of `scale * (query @ key)`.

        queries: an array of shape (n, query_heads, head_size), as the result.  scale: by default 1 / sqrt(head_size).
        out: the array of the result, by default a new one.  ArgumentError as of `append`, and if the keys and values of
        the tokens are missing.
        """
        forward = self._require_layer("attention", layer)
        if layer not in forward.layers:
            raise ArgumentError(f"attention: layer {layer} has no keys and values of these tokens")
        queries = self._require_array("attention: queries", queries, forward, self.query_heads)
        if out is None:
            out = empty_array(queries.shape, self.dtype, "result of attention")
        results = self._require_array("attention: out", out, forward, self.query_heads)
        scale = self.head_size**-0.5 if scale is None else float(scale)
        places = (forward.tables, forward.sequences, forward.positions)
        self._attention(self._keys[layer], self._values[layer], *places, queries, scale, results)
        return out

    def fused_attention(self, layer: int, fused: Array, scale: float | None = None, out: Array | None = None) -> Array:
        """The attention of tokens whose queries, keys and values follow each other in the second dimension of an array,
        after `append`; queries and keys are rotated if the cache has a `rotary`. Arguments and errors as of `append`
        and `attention`."""
        places = [self.query_heads, self.query_heads + self.heads]
        queries, keys, values = (np.ascontiguousarray(part) for part in np.split(fused, places, axis=1))
        if self.rotary is not None:
            positions = self.query_positions()
            queries, keys = (self.rotary.rotated(each, positions) for each in (queries, keys))
        self.append(layer, keys, values)
        return self.attention(layer, queries, scale, out)

    # Checks

    def _page_count(self, length: int) -> int:
        return -(-length // self.page_size)

    def _find(self, sequence: int) -> _Sequence:
        if sequence not in self._sequences:
            known = ", ".join(map(str, self._sequences)) or "none"
            raise ArgumentError(f"no sequence {sequence} in the cache, there is {known}")
        return self._sequences[sequence]

    def _require_new(self, sequence: int) -> None:
        if sequence in self._sequences:
            raise ArgumentError(f"sequence {sequence} is in the cache already")

    def _require_length(self, sequence: int, length: int) -> int:
        most = self._sequences[sequence].length
        if not 0 <= length <= most:
            raise ArgumentError(f"length {length} of sequence {sequence}, expected 0 to {most}")
        return int(length)

    def _require_idle(self, what: str) -> None:
        if self._forward is not None:
            raise ArgumentError(f"{what}: a forward pass is under way, expected end_forward or cancel_forward before")

    def _require_forward(self, what: str) -> _Forward:
        if self._forward is None:
            raise ArgumentError(f"{what}: no forward pass is under way, expected begin_forward before")
        return self._forward

    def _require_layer(self, what: str, layer: int) -> _Forward:
        if not 0 <= layer < self.layers:
            raise ArgumentError(f"{what}: layer {layer}, expected 0 to {self.layers - 1}")
        return self._require_forward(what)

    def _require_array(self, what: str, value: Any, forward: _Forward, heads: int) -> Array:
        array = as_ndarray(value)
        expected = (len(forward.positions), heads, self.head_size)
        if not isinstance(array, HostArray):
            raise ArgumentError(f"{what}: an array on {array.device}, expected one on cpu")
        if array.layout.shape != expected or array.layout.dtype != self.dtype:
            got = f"{array.layout.dtype} of shape {array.layout.shape}"
            raise ArgumentError(f"{what}: {got}, expected {self.dtype} of shape {expected}")
        return array.layout
