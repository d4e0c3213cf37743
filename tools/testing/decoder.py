"""A decoder of tokens as a program of `relax` that uses a cache of keys and values, with its reference in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np

from ...decoding import KVCache
from ...frontends.relay.parameters import bind_parameters
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from .decoding import attention_by_numpy

Array = np.ndarray[Any, Any]

_LAYER = """
    h{i} = R.nn.layer_norm(x{i}, gamma{i}, beta{i}, axes=[-1])
    q{i} = R.reshape(R.matmul(h{i}, query{i}), R.shape([{n}, {query_heads}, {head_size}]))
    k{i} = R.reshape(R.matmul(h{i}, key{i}), R.shape([{n}, {heads}, {head_size}]))
    v{i} = R.reshape(R.matmul(h{i}, value{i}), R.shape([{n}, {heads}, {head_size}]))
    u{i} = R.call_packed("stepwell.kv_cache_append", cache, R.prim_value({i}), k{i}, v{i})
    a{i} = R.call_packed("stepwell.kv_cache_attention", cache, R.prim_value({i}), q{i},
                         sinfo_args=R.Tensor(({n}, {query_heads}, {head_size}), "float32"))
    y{i} = R.add(x{i}, R.matmul(R.reshape(a{i}, R.shape([{n}, {query_heads} * {head_size}])), output{i}))
    z{i} = R.nn.layer_norm(y{i}, gamma_up{i}, beta_up{i}, axes=[-1])
    x{next} = R.add(y{i}, R.matmul(R.nn.gelu(R.matmul(z{i}, up{i})), down{i}))
"""

_FUNCTION = """
@R.function(pure=False)
def main(tokens: R.Tensor(({size},), "int32"), cache: R.Object, {parameters}):
    {symbol}
    positions = R.call_packed("vm.builtin.attention_kv_cache_get_query_positions", cache,
                              sinfo_args=R.Tensor(({n},), "int32"))
    x0 = R.add(R.take(embedding, tokens, axis=0), R.take(places, positions, axis=0))
    {layers}
    normal = R.nn.layer_norm(x{last}, gamma, beta, axes=[-1])
    logits = R.matmul(normal, head)
    return logits
"""


@dataclass(frozen=True)
class Decoder:
    """A decoder-only transformer: layer norms before attention, and before two products with gelu between them.

    width: the elements of a token.  inner: those between the two products.  tokens: the vocabulary.  longest: the
    number of positions.
    """

    layers: int = 2
    width: int = 256
    query_heads: int = 8
    heads: int = 4
    inner: int = 1024
    tokens: int = 512
    longest: int = 1024

    @property
    def head_size(self) -> int:
        """The elements of a head."""
        return self.width // self.query_heads

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, by name."""
        width, of_keys = self.width, self.heads * self.head_size
        shapes: dict[str, tuple[int, ...]] = {"embedding": (self.tokens, width), "places": (self.longest, width)}
        for i in range(self.layers):
            products = {"query": (width, width), "key": (width, of_keys), "value": (width, of_keys)}
            products |= {"output": (width, width), "up": (width, self.inner), "down": (self.inner, width)}
            vectors = dict.fromkeys(("gamma", "beta", "gamma_up", "beta_up"), (width,))
            shapes |= {f"{name}{i}": shape for name, shape in {**products, **vectors}.items()}
        return {**shapes, "gamma": (width,), "beta": (width,), "head": (width, self.tokens)}

    def weights(self, seed: int = 0) -> dict[str, Array]:
        """Random weights, by name."""
        rng = np.random.default_rng(seed)
        return {
            name: (rng.standard_normal(shape) / (shape[0] ** 0.5 if len(shape) > 1 else 4)).astype("float32")
            + np.float32(name.startswith("gamma"))
            for name, shape in self.shapes.items()
        }

    def program(self, weights: Mapping[str, Array], size: int | None = None) -> Module:
        """The function `main` of tokens and a cache, which returns the logits of each token. size: the number of tokens
        in a call, by default any."""
        names = {"n": "n" if size is None else str(size), "query_heads": self.query_heads, "heads": self.heads}
        layers = (_LAYER.format(i=i, next=i + 1, head_size=self.head_size, **names) for i in range(self.layers))
        text = _FUNCTION.format(
            n=names["n"],
            size='"n"' if size is None else size,
            symbol="n = T.int64()" if size is None else "",
            parameters=", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in self.shapes.items()),
            layers="".join(layers),
            last=self.layers,
        )
        return bind_parameters(parse_tvmscript(text), weights)

    def cache(self, pages: int, page_size: int = 16) -> KVCache:
        """An empty cache for the decoder."""
        sizes: dict[str, Any] = {"query_heads": self.query_heads, "heads": self.heads, "head_size": self.head_size}
        return KVCache(layers=self.layers, pages=pages, page_size=page_size, **sizes)

    def logits(self, weights: Mapping[str, Array], tokens: Array) -> Array:
        """The logits of each of the tokens of a sequence, by numpy and without a cache."""
        w = {name: weight.astype("float64") for name, weight in weights.items()}
        x = w["embedding"][tokens] + w["places"][: len(tokens)]
        for i in range(self.layers):
            h = _layer_norm(x, w[f"gamma{i}"], w[f"beta{i}"])
            q, k, v = (
                (h @ w[f"{name}{i}"]).reshape(len(tokens), -1, self.head_size) for name in ("query", "key", "value")
            )
            attention = attention_by_numpy(q, k, v, 0, self.head_size**-0.5)
            x = x + attention.reshape(len(tokens), -1) @ w[f"output{i}"]
            x = x + _gelu(_layer_norm(x, w[f"gamma_up{i}"], w[f"beta_up{i}"]) @ w[f"up{i}"]) @ w[f"down{i}"]
        return _layer_norm(x, w["gamma"], w["beta"]) @ w["head"]


def _layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def _gelu(x: Array) -> Array:
    return x * (1 + np.vectorize(erf)(x / 2**0.5)) / 2
