"""The kernels of the key-value cache, in TVMScript: they write and read pages by the tables of sequences.

The keys of a page are stored with the tokens innermost and the values with the elements innermost, so that both
products of attention run on vectors without a transposition.
"""

from __future__ import annotations

from functools import lru_cache

from ..backends.build import build
from ..backends.runtime import Program
from ..frontends.tvmscript import parse_tvmscript

_PAGES = """
    pages = T.int64()
    Keys = T.match_buffer(keys, (pages, {heads}, {size}, {page}), "{dtype}")
    Values = T.match_buffer(values, (pages, {heads}, {page}, {size}), "{dtype}")
"""

_TOKENS = """
    n = T.int64()
    batch = T.int64()
    longest = T.int64()
    Tables = T.match_buffer(tables, (batch, longest), "int32")
    Sequences = T.match_buffer(sequences, (n,), "int32")
    Positions = T.match_buffer(positions, (n,), "int32")
"""

_APPEND = """
@T.prim_func
def append(keys: T.handle, values: T.handle, tables: T.handle, sequences: T.handle, positions: T.handle,
           new_keys: T.handle, new_values: T.handle):
    T.func_attr({{"global_symbol": "append"}})
    {pages}
    {tokens}
    NewKeys = T.match_buffer(new_keys, (n, {heads}, {size}), "{dtype}")
    NewValues = T.match_buffer(new_values, (n, {heads}, {size}), "{dtype}")
    for i, g, d in T.grid(n, {heads}, {size}):
        Keys[Tables[Sequences[i], Positions[i] // {page}], g, d, Positions[i] % {page}] = NewKeys[i, g, d]
        Values[Tables[Sequences[i], Positions[i] // {page}], g, Positions[i] % {page}, d] = NewValues[i, g, d]
"""

_COPY = """
@T.prim_func
def copy(keys: T.handle, values: T.handle, source: T.int32, target: T.int32):
    T.func_attr({{"global_symbol": "copy"}})
    {pages}
    for g, d, s in T.grid({heads}, {size}, {page}):
        Keys[target, g, d, s] = Keys[source, g, d, s]
    for g, s, d in T.grid({heads}, {page}, {size}):
        Values[target, g, s, d] = Values[source, g, s, d]
"""

_ATTENTION = """
@T.prim_func
def attention(keys: T.handle, values: T.handle, tables: T.handle, sequences: T.handle, positions: T.handle,
              queries: T.handle, scale: T.float32, results: T.handle):
    T.func_attr({{"global_symbol": "attention"}})
    {pages}
    {tokens}
    Queries = T.match_buffer(queries, (n, {query_heads}, {size}), "{dtype}")
    Results = T.match_buffer(results, (n, {query_heads}, {size}), "{dtype}")
    for row in T.parallel(n * {query_heads}):
        with T.block("row"):
            i = T.axis.spatial(n, row // {query_heads})
            h = T.axis.spatial({query_heads}, row % {query_heads})
            scores = T.alloc_buffer(({page},), "float32")
            sums = T.alloc_buffer(({size},), "float32")
            largest = T.alloc_buffer((2,), "float32")
            total = T.alloc_buffer((1,), "float32")
            largest[0] = T.min_value("float32")
            total[0] = T.float32(0)
            for d in T.vectorized({size}):
                sums[d] = T.float32(0)
            for p in range(Positions[i] // {page} + 1):
                for s in T.vectorized({page}):
                    scores[s] = T.float32(0)
                for d in range({size}):
                    for s in T.vectorized({page}):
                        scores[s] = scores[s] + T.Cast("float32", Queries[i, h, d]) * T.Cast(
                            "float32", Keys[Tables[Sequences[i], p], h // {group}, d, s])
                largest[1] = largest[0]
                for s in range(T.min({page}, Positions[i] + 1 - p * {page})):
                    scores[s] = scores[s] * scale
                    largest[0] = T.max(largest[0], scores[s])
                total[0] = total[0] * T.exp(largest[1] - largest[0])
                for d in T.vectorized({size}):
                    sums[d] = sums[d] * T.exp(largest[1] - largest[0])
                for s in range(T.min({page}, Positions[i] + 1 - p * {page})):
                    scores[s] = T.exp(scores[s] - largest[0])
                    total[0] = total[0] + scores[s]
                    for d in T.vectorized({size}):
                        sums[d] = sums[d] + scores[s] * T.Cast(
                            "float32", Values[Tables[Sequences[i], p], h // {group}, s, d])
            for d in T.vectorized({size}):
                Results[i, h, d] = T.Cast("{dtype}", sums[d] / total[0])
"""


@lru_cache
def cache_kernels(query_heads: int, heads: int, size: int, page: int, dtype: str) -> Program:
    """The compiled kernels of a cache: `append` writes keys and values of tokens, `copy` copies a page, `attention`
    computes attention of tokens to the tokens at lower positions of their sequences, and to themselves.

    `attention` keeps the largest score and the sum of weights of the pages before, and scales both if a larger score
    follows, so that it reads each page once and stores no row of scores.

    query_heads: the heads of queries, a multiple of `heads`.  heads: of keys and values.  size: of a head.  page: the
    tokens of a page.  dtype: of keys, values, queries and results; sums are computed in float32.
    """
    names = {"query_heads": query_heads, "heads": heads, "group": query_heads // heads, "size": size, "page": page}
    parts = {part: text.format(**names, dtype=dtype) for part, text in (("pages", _PAGES), ("tokens", _TOKENS))}
    kernels = (text.format(**names, **parts, dtype=dtype) for text in (_APPEND, _COPY, _ATTENTION))
    return build(parse_tvmscript("\n".join(kernels)))
