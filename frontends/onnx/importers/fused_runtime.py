"""Importers of operators into which ONNX Runtime fuses parts of transformers, in its domain `com.microsoft`."""

from __future__ import annotations

import numpy as np

from ...models.products import matrix_product
from ...models.shapes import concatenate_along, insert_axes, permute_axes, split_along
from ...models.slices import slice_along
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer
from .nn import normalize_layer, normalize_squares, scale_numbers


@importer("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain="com.microsoft")
def skip_layer_norm(call: Call) -> Results:
    """The results are the normalized sum, its mean, the reciprocal of its standard deviation, and the sum."""
    is_simplified = call.op_type == "SkipSimplifiedLayerNormalization"
    x, scale, epsilon = call.tensor(0), call.tensor(2), call.floating("epsilon", 1e-12)
    bias = call.optional(3 if is_simplified else 4)
    total = call.op("add", call.widen_small_floats(x), call.widen_small_floats(call.tensor(1)))
    total = total if bias is None else call.op("add", total, call.widen_small_floats(bias))
    wide_scale = call.widen_small_floats(scale)
    if is_simplified:
        call.raise_unsupported_if(any(call.node.outputs[1:3]), "the mean of the squares as a result")
        normalized = normalize_squares(call, total, wide_scale, -1, epsilon)
        return Results([call.cast(normalized, x.dtype), None, None, call.cast(total, x.dtype)])
    normalized, mean, slope = normalize_layer(call, total, wide_scale, call.optional(3), -1, epsilon)
    assert isinstance(normalized, ModelTensor)
    return Results([call.cast(normalized, x.dtype), mean, slope, call.cast(total, x.dtype)])


@importer("Gelu", "BiasGelu", "FastGelu", domain="com.microsoft")
def biased_gelu(call: Call) -> ModelTensor:
    x, bias = call.tensor(0), call.optional(1)
    wide = call.widen_small_floats(x)
    total = wide if bias is None else call.op("add", wide, call.widen_small_floats(bias))
    approximate = "tanh" if call.op_type == "FastGelu" else "none"
    return call.cast(call.op("nn.gelu", total, approximate=approximate), x.dtype)


@importer("FusedMatMul", domain="com.microsoft")
def fused_matmul(call: Call) -> ModelTensor:
    call.raise_unsupported_if(call.integer("transBatchA") or call.integer("transBatchB"), "a transposed batch")
    dtype = call.tensor().dtype
    a, b = (_transposed(call, index, name) for index, name in enumerate(("transA", "transB")))
    return call.cast(scale_numbers(call, matrix_product(call, a, b), call.floating("alpha", 1.0)), dtype)


def _transposed(call: Call, index: int, attribute: str) -> ModelTensor:
    """The operand at `index`, its last two axes exchanged if the attribute is set. Raises OnnxError for a vector whose
    attribute is set."""
    x = call.widen_small_floats(call.tensor(index))
    if not call.integer(attribute):
        return x
    if x.rank < 2:
        raise OnnxError(f"attribute '{attribute}': operand {index} has {x.rank} dimensions, expected at least 2")
    return permute_axes(call, x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


@importer("EmbedLayerNormalization", domain="com.microsoft")
def embed_layer_norm(call: Call) -> Results:
    """The results are the normalized sum of the embeddings of words, positions and segments, the numbers of unmasked
    words, and the sum."""
    words, table, epsilon = call.tensor_of_rank(0, 2), call.tensor(2), call.floating("epsilon", 1e-12)
    call.raise_unsupported_if(call.integer("mask_index_type"), "attribute 'mask_index_type'")
    positions, segments = call.optional(8), call.optional(1)
    total = call.op("take", call.widen_small_floats(table), words, axis=0)
    places = call.widen_small_floats(call.tensor(3))
    if positions is None:
        total = call.op("add", total, slice_along(call, places, 0, 0, words.extents[1], 1))
    else:
        total = call.op("add", total, call.op("take", places, positions, axis=0))
    if segments is not None:
        total = call.op("add", total, call.op("take", call.widen_small_floats(call.tensor(4)), segments, axis=0))
    scale, shift = (call.widen_small_floats(call.tensor(index)) for index in (5, 6))
    normalized, *_ = normalize_layer(call, total, scale, shift, -1, epsilon)
    assert isinstance(normalized, ModelTensor)
    mask = call.optional(7)
    counted = call.op("zeros_like", call.cast(words, "int32")) if mask is None else call.cast(mask, "int32")
    count = call.op("sum", counted, axis=1)
    return Results([call.cast(normalized, table.dtype), count, call.cast(total, table.dtype)])


@importer("Attention", domain="com.microsoft")
def attention(call: Call) -> Results:
    """The results are the heads of the attention side by side, and the keys and values, of earlier words, too."""
    x, bias, past = call.tensor_of_rank(0, 3), call.optional(2), call.optional(4)
    call.raise_unsupported_if(call.has(6), "the number of earlier words as an operand")
    for name in ("do_rotary", "past_present_share_buffer"):
        call.raise_unsupported_if(call.integer(name), f"attribute '{name}'")
    joined = matrix_product(call, call.widen_small_floats(x), call.widen_small_floats(call.tensor(1)))
    joined = joined if bias is None else call.op("add", joined, call.widen_small_floats(bias))
    (width,) = known_integers(joined.shape[-1:], "Attention of weights of")
    widths = call.integers("qkv_hidden_sizes") or (width // 3,) * 3
    if len(widths) != 3 or sum(widths) != width or widths[0] != widths[1]:
        raise OnnxError(f"weights of {width} columns, expected those of queries, keys and values: {[*widths]}")
    heads = call.integer("num_heads")
    queries, keys, values = (_as_heads(call, part, heads) for part in split_along(call, joined, [*map(int, widths)], 2))
    if past is not None:
        earlier = split_along(call, call.widen_small_floats(past), [1, 1], 0)
        keys, values = (
            concatenate_along(call, [call.builder.reshape(old, old.extents[1:]), new], 2)
            for old, new in zip(earlier, (keys, values), strict=True)
        )
    scores = matrix_product(call, queries, permute_axes(call, keys, (0, 1, 3, 2)))
    scores = scale_numbers(call, scores, call.floating("scale") or (widths[0] // heads) ** -0.5)
    weights = call.op("nn.softmax", _masked(call, scores), axis=-1)
    result = permute_axes(call, matrix_product(call, weights, values), (0, 2, 1, 3))
    result = call.builder.reshape(result, [*x.extents[:2], widths[2]])
    present = None
    if call.used_result_count > 1:
        if widths[2] != widths[1]:
            raise OnnxError(f"keys and values of {widths[1]} and {widths[2]} columns as a result, expected equal ones")
        present = concatenate_along(call, [insert_axes(call, each, [0]) for each in (keys, values)], 0)
        present = call.cast(present, x.dtype)
    return Results([call.cast(result, x.dtype), present])


def _as_heads(call: Call, data: ModelTensor, heads: int) -> ModelTensor:
    """Rows of some heads side by side, (batch, words, heads * size), as (batch, heads, words, size). OnnxError unless
    the heads divide the columns."""
    (width,) = known_integers(data.shape[-1:], "heads of")
    if heads < 1 or width % heads:
        raise OnnxError(f"attribute 'num_heads': {heads} heads of {width} columns")
    return permute_axes(call, call.builder.reshape(data, [*data.extents[:2], heads, width // heads]), (0, 2, 1, 3))


def _masked(call: Call, scores: ModelTensor) -> ModelTensor:
    """Scores (batch, heads, words, all words) less those of masked words."""
    mask, added = call.optional(3), call.optional(5)
    words, every = scores.extents[2:]
    if mask is not None:
        known = call.op("greater", _kept(call, mask, scores), call.constant(0, "int32"))
        low = call.builder.scalar_constant(call.floating("mask_filter_value", -10000.0), scores.dtype)
        zero = call.builder.scalar_constant(0.0, scores.dtype)
        scores = call.op("add", scores, call.op("where", known, zero, low))
    if added is not None:
        scores = call.op("add", scores, call.widen_small_floats(added))
    if not call.integer("unidirectional"):
        return scores
    places = [call.builder.index_vector(each) for each in (words, every)]
    rows = call.op("add", insert_axes(call, places[0], [1]), call.builder.size_value(every - words))
    is_later = call.op("less", rows, places[1])
    return call.op(
        "where", is_later, call.builder.scalar_constant(float(np.finfo("float32").min), scores.dtype), scores
    )


def _kept(call: Call, mask: ModelTensor, scores: ModelTensor) -> ModelTensor:
    """A mask, positive for the words that count, in the axes of scores: of words for each batch, of words for each
    batch and word, or the number of words for each batch."""
    mask = call.cast(mask, "int32")
    match mask.rank:
        case 1:
            same = mask.extents[0] == scores.extents[0]
            call.raise_unsupported_if(not same, "a mask of first and last words")
            places = call.cast(call.builder.index_vector(scores.extents[3]), "int32")
            return insert_axes(call, call.op("subtract", insert_axes(call, mask, [1]), places), [1, 2])
        case 2:
            return insert_axes(call, mask, [1, 2])
        case 3:
            return insert_axes(call, mask, [1])
        case _:
            call.raise_unsupported_if(True, f"a mask of {mask.rank} dimensions")
            raise AssertionError
