"""Packed functions of the key-value cache, for programs and under the names of TVM's runtime.

Programs call `stepwell.kv_cache_append` and `stepwell.kv_cache_attention` by `R.call_packed`, as both depend on the
state of the cache. TVM's fused function computes in destination-passing style.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.devices.nd import HostArray
from ..backends.graph.executor import as_ndarray
from ..backends.runtime import register_func
from ..core.errors import ArgumentError
from .cache import Array, KVCache
from .rotary import Rotary


def _append(cache: KVCache, layer: int, keys: Array, values: Array) -> None:
    _require_cache(cache).append(layer, keys, values)


def _attention(cache: KVCache, layer: int, queries: Array, scale: float | None = None) -> Array:
    return _require_cache(cache).attention(layer, queries, scale)


def _fused(cache: KVCache, layer: int, scale: float, fused: Array, out: Array) -> None:
    """Attention of tokens whose queries, keys and values follow each other in the second dimension of an array."""
    given, result = as_ndarray(fused), as_ndarray(out)
    if isinstance(result, HostArray):
        _require_cache(cache).fused_attention(layer, given.numpy(), scale, result.layout)
    else:  # the cache is in the memory of the host
        result.copyfrom(_require_cache(cache).fused_attention(layer, given.numpy(), scale))


def _positions(cache: KVCache, out: Array) -> None:
    """The positions of the tokens of a forward pass, in an array of any device."""
    as_ndarray(out).copyfrom(_require_cache(cache).query_positions())


def _create(sizes: Sequence[int], heads: Sequence[int], dtype: str, rotary: int, scale: float, theta: float) -> KVCache:
    """sizes: the number of sequences, the number of tokens of all of them, and that of tokens of a page.  heads: the
    number of layers, of heads of queries, of heads of keys, the elements of a head, and those that are rotated.
    rotary: whether queries and keys are rotated."""
    sequences, tokens, page_size = sizes
    layers, query_heads, kv_heads, head_size, rotated = heads
    return KVCache(
        layers=layers, query_heads=query_heads, heads=kv_heads, head_size=head_size, page_size=page_size,
        pages=-(-tokens // page_size) + sequences, dtype=dtype,
        rotary=Rotary(theta, scale, rotated) if rotary else None,
    )  # fmt: skip


def _fork(cache: KVCache, parent: int, child: int, position: int = -1) -> None:
    """position: the number of tokens, or -1 for all."""
    cache.fork(parent, child, None if position == -1 else position)


def _pop(cache: KVCache, sequence: int, count: int) -> None:
    cache.trim(sequence, cache.length(sequence) - count)


def _begin(cache: KVCache, sequences: Sequence[int], counts: Sequence[int]) -> None:
    cache.begin_forward(list(sequences), list(counts))


def _require_cache(value: Any) -> KVCache:
    if not isinstance(value, KVCache):
        raise ArgumentError(f"a value of type {type(value).__name__}, expected a KVCache")
    return value


def _method(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda cache, *arguments: method(_require_cache(cache), *arguments)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "stepwell.kv_cache_append": _append,
    "stepwell.kv_cache_attention": _attention,
    "stepwell.kv_cache_create": _create,
    "stepwell.kv_cache_query_positions": _positions,
    "vm.builtin.attention_kv_cache_attention_with_fused_qkv": _fused,
    "vm.builtin.attention_kv_cache_get_query_positions": _method(KVCache.query_positions),
    "vm.builtin.kv_state_add_sequence": _method(KVCache.add_sequence),
    "vm.builtin.kv_state_begin_forward": _method(_begin),
    "vm.builtin.kv_state_clear": _method(KVCache.clear),
    "vm.builtin.kv_state_end_forward": _method(KVCache.end_forward),
    "vm.builtin.kv_state_fork_sequence": _method(_fork),
    "vm.builtin.kv_state_popn": _method(_pop),
    "vm.builtin.kv_state_remove_sequence": _method(KVCache.remove_sequence),
}
"""The functions that the import of this module registers, by name."""

for _name, _function in FUNCTIONS.items():
    register_func(_name, _function, override=True)
