"""Importers of operators into which ONNX Runtime fuses parts of transformers, in its domain `com.microsoft`."""

from __future__ import annotations

from ...models.products import matrix_product
from ...models.shapes import permute_axes
from ...models.values import ModelTensor
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
