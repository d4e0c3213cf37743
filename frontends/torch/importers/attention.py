"""Importers of attention."""

from __future__ import annotations

import math

import numpy as np

from ...models.shapes import permute_axes
from ...models.values import ModelTensor
from ..call import Call
from ..registry import aten
from .products import multiply_matrices


@aten("scaled_dot_product_attention.default")
def attention(call: Call) -> ModelTensor:
    call.raise_unsupported_if(call.get("dropout_p"), "dropout")
    return attend(call)


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(call: Call) -> list[ModelTensor | None]:
    call.raise_unsupported_if(call.get("dropout_p"), "dropout")
    call.raise_unsupported_if(call.result_is_used(1), "the logarithm of the sums of exponentials")
    return [attend(call), None]


def attend(call: Call) -> ModelTensor:
    """`softmax(scale * query @ key.T + mask) @ value`; 0 for a query whose keys are all masked.

    query: (..., queries, features).  key, value: (..., keys, features).
    """
    query, key, value = (call.widen_small_floats(call.tensor(name)) for name in ("query", "key", "value"))
    if call.get("enable_gqa"):
        key, value = (_repeat_heads(call, each, query) for each in (key, value))
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scores = multiply_matrices(call, query, permute_axes(call, key, order))
    features = call.static_extent(query, query.rank - 1)
    scores = call.scalar("multiply", scores, float(call.get("scale", 1 / math.sqrt(features))))
    masked = _mask(call, scores, query, key)
    weights = call.op("nn.softmax", masked, axis=masked.rank - 1)
    if call.get("attn_mask") is not None:
        weights = _without_masked_rows(call, masked, weights)
    return call.cast(multiply_matrices(call, weights, value), call.result_dtype)


def _repeat_heads(call: Call, x: ModelTensor, query: ModelTensor) -> ModelTensor:
    """Heads of keys or values, as many as the query has."""
    heads, count = (call.static_extent(each, each.rank - 3) for each in (query, x))
    return x if heads == count else call.op("repeat", x, repeats=heads // count, axis=x.rank - 3)


def _mask(call: Call, scores: ModelTensor, query: ModelTensor, key: ModelTensor) -> ModelTensor:
    """The scores, negative infinity where a mask excludes a key."""
    mask, lowest = call.optional("attn_mask"), call.builder.scalar_constant(-np.inf, scores.dtype)
    if call.get("is_causal"):
        rows = call.op("expand_dims", call.builder.index_vector(query.extents[-2]), axis=1)
        columns = call.op("expand_dims", call.builder.index_vector(key.extents[-2]), axis=0)
        scores = call.op("where", call.op("greater_equal", rows, columns), scores, lowest)
    if mask is None:
        return scores
    if mask.dtype == "bool":
        return call.op("where", mask, scores, lowest)
    return call.op("add", scores, call.cast(mask, scores.dtype))


def _without_masked_rows(call: Call, scores: ModelTensor, weights: ModelTensor) -> ModelTensor:
    """The weights, 0 in rows without an unmasked key, whose softmax is NaN."""
    most = call.op("max", scores, axis=scores.rank - 1, keepdims=True)
    zero = call.builder.scalar_constant(0, weights.dtype)
    return call.op("where", call.scalar("equal", most, -np.inf), zero, weights)
