"""Importers of matrix products and normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...models.call import normalized_axis
from ...models.products import matrix_product
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import Results, importer
from .reductions import reduce_along
from .shapes import permute_axes, slice_along

# Products


@importer("MatMul")
def matmul(call: Call) -> ModelTensor:
    return matrix_product(call, call.tensor(0), call.tensor(1))


@importer("Gemm")
def gemm(call: Call) -> ModelTensor:
    a, b, c = call.tensor(0), call.tensor(1), call.optional(2)
    dtype = a.dtype
    a, b = call.widen_small_floats(a), call.widen_small_floats(b)
    if call.integer("transA"):
        a = permute_axes(call, a, (1, 0))
    result = call.op("nn.dense", a, b) if call.integer("transB") else call.op("nn.matmul", a, b)
    result = scale_numbers(call, result, call.floating("alpha", 1.0))
    if c is not None:
        result = call.op("add", result, scale_numbers(call, call.widen_small_floats(c), call.floating("beta", 1.0)))
    return call.cast(result, dtype)


def scale_numbers(call: Call, data: ModelTensor, factor: float) -> ModelTensor:
    """The product with a number."""
    if factor == 1:
        return data
    if data.is_float:
        return call.scalar("multiply", data, factor)
    return call.cast(call.scalar("multiply", call.cast(data, "float64"), factor), data.dtype)


MOST_ROWS = 32
"""The maximum number of rows of the matrix of a determinant."""


@importer("Det")
def determinant(call: Call) -> ModelTensor:
    """The product of the pivots of an unrolled Gaussian elimination."""
    x = call.tensor()
    if x.rank < 2:
        raise OnnxError(f"Det of {x.rank} dimensions, expected at least 2")
    rows, columns = known_integers(x.shape[-2:], "Det of a matrix of")
    if rows != columns:
        raise OnnxError(f"Det of a matrix of {rows} by {columns}, expected as many rows as columns")
    if rows > MOST_ROWS:
        raise OnnxUnsupportedError(f"Det of a matrix of {rows} rows, expected {MOST_ROWS} at most")
    rest = call.builder.reshape(call.widen_small_floats(x), [math.prod(x.extents[:-2]), rows, columns])
    result = call.op("ones_like", call.op("sum", rest, axis=(1, 2)))
    for left in range(rows, 0, -1):
        pivot, rest = _eliminate(call, rest, left)
        result = call.op("multiply", result, pivot)
    return call.cast(call.builder.reshape(result, x.extents[:-2]), x.dtype)


def _eliminate(call: Call, x: ModelTensor, count: int) -> tuple[ModelTensor, ModelTensor]:
    """One step of the elimination with partial pivoting: the pivot of the first column, with the sign of the row
    exchange, and the remaining submatrix.

    x: (batch, count, count).
    """
    number, first = call.builder.scalar_constant, call.constant(0, "int64")
    index = call.op("argmax", call.op("abs", call.op("take", x, first, axis=2)), axis=1)
    chosen = call.op("one_hot", index, on_value=1, off_value=0, depth=count, axis=1, dtype="int8")
    chosen = call.scalar("not_equal", call.op("expand_dims", chosen, axis=2), 0)
    row = call.op("sum", call.op("where", chosen, x, number(0, x.dtype)), axis=1)
    pivot = call.op("take", row, first, axis=1)
    signed = call.op("where", call.scalar("equal", index, 0), pivot, call.op("negative", pivot))
    if count == 1:
        return signed, x
    exchanged = call.op("where", chosen, slice_along(call, x, 1, 0, 1, 1), x)
    below = slice_along(call, exchanged, 1, 1, count, 1)
    divisor = call.op("where", call.scalar("equal", pivot, 0), number(1, x.dtype), pivot)
    factors = call.op("divide", call.op("take", below, first, axis=2), call.op("expand_dims", divisor, axis=1))
    row = call.op("expand_dims", slice_along(call, row, 1, 1, count, 1), axis=1)
    taken = call.op("multiply", call.op("expand_dims", factors, axis=2), row)
    return signed, call.op("subtract", slice_along(call, below, 2, 1, count, 1), taken)


@importer("Einsum")
def einsum(call: Call) -> ModelTensor:
    tensors = call.tensors
    result = call.op("einsum", *map(call.widen_small_floats, tensors), equation=call.text("equation"))
    return call.cast(result, tensors[0].dtype)


# Norms


@importer("BatchNormalization")
def batch_norm(call: Call) -> ModelTensor:
    x, scale, bias, mean, variance = call.tensors
    is_training = call.integer("training_mode") or (call.version < 7 and not call.integer("is_test"))
    call.raise_unsupported_if(is_training or call.used_result_count > 1, "training")
    call.raise_unsupported_if(call.version < 9 and not call.integer("spatial", 1), "a mean for each element")
    epsilon = call.floating("epsilon", 1e-5)
    if x.dtype == mean.dtype and x.dtype in ("float32", "float64"):
        return call.op("nn.batch_norm", x, scale, bias, mean, variance, epsilon=epsilon)
    wide = "float64" if x.dtype == "float64" else "float32"
    operands = [call.cast(each, wide) for each in (x, scale, bias, mean, variance)]
    return call.cast(call.op("nn.batch_norm", *operands, epsilon=epsilon), x.dtype)


@importer("InstanceNormalization")
def instance_norm(call: Call) -> ModelTensor:
    x, scale, bias = (call.widen_small_floats(each) for each in call.tensors)
    result = call.op("nn.instance_norm", x, scale, bias, epsilon=call.floating("epsilon", 1e-5))
    return call.cast(result, call.tensor().dtype)


@importer("LayerNormalization")
def layer_norm(call: Call) -> Results:
    axis = call.integer("axis", -1)
    return normalize_layer(call, call.tensor(0), call.tensor(1), call.optional(2), axis, call.floating("epsilon", 1e-5))


def normalize_layer(
    call: Call, x: ModelTensor, scale: ModelTensor, bias: ModelTensor | None, axis: int, epsilon: float
) -> Results:
    """The normalization of the axes from `axis` on, the mean, and the reciprocal of the standard deviation."""
    axis = normalized_axis(axis, x.rank)
    axes = list(range(axis, x.rank))
    wide = call.cast(x, "float64" if x.dtype == "float64" else "float32")
    mean = call.op("mean", wide, axis=axes, keepdims=True)
    spread = call.scalar("add", call.op("variance", wide, axis=axes, keepdims=True), epsilon)
    slope = call.op("rsqrt", spread)
    own = x.shape[axis:]
    if scale.shape == own and (bias is None or bias.shape == own):
        gamma = call.cast(scale, wide.dtype)
        beta = gamma if bias is None else call.cast(bias, wide.dtype)
        normalized = call.op("nn.layer_norm", wide, gamma, beta, axis=axes, epsilon=epsilon, center=bias is not None)
        return Results([call.cast(normalized, x.dtype), mean, slope])
    normalized = call.op("multiply", call.op("subtract", wide, mean), slope)
    normalized = call.op("multiply", normalized, call.cast(scale, wide.dtype))
    normalized = normalized if bias is None else call.op("add", normalized, call.cast(bias, wide.dtype))
    return Results([call.cast(normalized, x.dtype), mean, slope])


@importer("RMSNormalization")
def rms_norm(call: Call) -> ModelTensor:
    return normalize_squares(
        call, call.tensor(0), call.tensor(1), call.integer("axis", -1), call.floating("epsilon", 1e-5)
    )


def normalize_squares(call: Call, x: ModelTensor, scale: ModelTensor, axis: int, epsilon: float) -> ModelTensor:
    """The normalization of the axes from `axis` on by the root of the mean of their squares."""
    axis = normalized_axis(axis, x.rank)
    axes = list(range(axis, x.rank))
    wide = call.cast(x, "float64" if x.dtype == "float64" else "float32")
    if scale.shape == x.shape[axis:] and scale.dtype == x.dtype:
        normalized = call.op("nn.rms_norm", wide, call.cast(scale, wide.dtype), axis=axes, epsilon=epsilon)
        return call.cast(normalized, x.dtype)
    mean = call.op("mean", call.op("multiply", wide, wide), axis=axes, keepdims=True)
    normalized = call.op("multiply", wide, call.op("rsqrt", call.scalar("add", mean, epsilon)))
    return call.cast(call.op("multiply", normalized, call.cast(scale, wide.dtype)), scale.dtype)


@importer("GroupNormalization")
def group_norm(call: Call) -> ModelTensor:
    x, scale, bias = (call.widen_small_floats(each) for each in call.tensors)
    groups, channels = call.integer("num_groups"), x.shape[1]
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise OnnxError(f"GroupNormalization: {groups} groups of {channels} channels")
    if call.version < 21:  # one scale and one bias for each group
        scale, bias = (call.op("repeat", each, repeats=channels // groups, axis=0) for each in (scale, bias))
    result = call.op("nn.group_norm", x, scale, bias, num_groups=groups, epsilon=call.floating("epsilon", 1e-5))
    return call.cast(result, call.tensor().dtype)


@importer("LRN")
def lrn(call: Call) -> ModelTensor:
    return call.op(
        "nn.lrn",
        call.tensor(),
        size=call.integer("size"),
        bias=call.floating("bias", 1.0),
        alpha=call.floating("alpha", 1e-4),
        beta=call.floating("beta", 0.75),
    )


@importer("LpNormalization")
def lp_normalization(call: Call) -> ModelTensor:
    x = call.tensor()
    axis = normalized_axis(call.integer("axis", -1), x.rank)
    wide = call.widen_small_floats(x)
    p = call.integer("p", 2)
    if p not in (1, 2):
        raise OnnxError(f"attribute 'p': expected 1 or 2, got {p}")
    if p == 1:
        norm = reduce_along(call, "sum", call.op("abs", wide), [axis], True)
    else:
        norm = call.op("sqrt", reduce_along(call, "sum", call.op("multiply", wide, wide), [axis], True))
    zero = call.builder.scalar_constant(0, wide.dtype)
    result = call.op("where", call.op("equal", norm, zero), zero, call.op("divide", wide, norm))
    return call.cast(result, x.dtype)


@importer("GlobalLpPool")
def global_lp_pool(call: Call) -> ModelTensor:
    x, p = call.tensor(), call.integer("p", 2)
    return call.cast(p_norm(call, call.widen_small_floats(x), range(2, x.rank), p), x.dtype)


def p_norm(call: Call, x: ModelTensor, axes: Sequence[int], p: int) -> ModelTensor:
    """The p-norm along axes."""
    powers = absolute_powers(call, x, p)
    return p_th_root(call, reduce_along(call, "sum", powers, list(axes), True), p)


def absolute_powers(call: Call, x: ModelTensor, p: int) -> ModelTensor:
    """The powers of the absolute values. Raises OnnxError for an exponent less than 1."""
    if p < 1:
        raise OnnxError(f"attribute 'p': expected at least 1, got {p}")
    if p == 2:
        return call.op("multiply", x, x)
    return call.op("abs", x) if p == 1 else call.scalar("power", call.op("abs", x), p)


def p_th_root(call: Call, x: ModelTensor, p: int) -> ModelTensor:
    if p == 1:
        return x
    return call.op("sqrt", x) if p == 2 else call.scalar("power", x, float(np.float64(1) / p))
