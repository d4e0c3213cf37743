"""Words of `R` that are several operators, or operators that depend on the operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...core.dtypes import numpy_dtype
from ...expressions.errors import TeError
from ..relay import ConstantOp, RelayBuilder, Size, dtype_of_tensor, shape_of
from . import packed_words, symbolic

Values: TypeAlias = Sequence[SSAValue]


# Shapes


def reshape(builder: RelayBuilder, x: SSAValue, shape: Any) -> Values:
    shape = list(shape) if isinstance(shape, list | tuple) else [shape]  # pyright: ignore[reportUnknownArgumentType]
    for axis, (size, extent) in enumerate(zip(shape, shape_of(x), strict=False)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if size == 0:  # the code of the extent of the operand
            shape[axis] = extent
    if len({size for size in shape if isinstance(size, str) and size not in shape_of(x)}) > 1:
        return packed_words.reshape_to(builder, x, shape)  # pyright: ignore[reportUnknownArgumentType]
    codes = reshape_codes(shape_of(x), shape)  # pyright: ignore[reportUnknownArgumentType]
    results = builder.operators("reshape", x, newshape=codes)
    wanted = list(shape)  # pyright: ignore[reportUnknownArgumentType]
    if -1 not in wanted and list(shape_of(results[0])) != wanted:
        raise TeError(f"reshape: shape {list(shape_of(x))} to {wanted}, expected as many elements")
    return results


def reshape_codes(source: Sequence[Size], shape: Sequence[Size]) -> list[int]:
    """The codes of a shape: 0 for a symbolic size that the operand has there, -1 for one other symbolic size."""
    codes: list[int] = []
    for axis, size in enumerate(shape):
        if isinstance(size, int):
            codes.append(size)
        elif axis < len(source) and source[axis] == size and all(code != -1 for code in codes):
            codes.append(0)
        elif -1 not in codes:
            codes.append(-1)
        else:
            raise TeError(f"reshape: shape {list(source)} to {list(shape)}, expected at most one new symbolic size")
    return codes


def _flatten(builder: RelayBuilder, x: SSAValue) -> Values:
    return builder.operators("reshape", x, newshape=[-1])


def _expand_dims(builder: RelayBuilder, x: SSAValue, axis: Any) -> Values:
    axes = list(axis) if isinstance(axis, list | tuple) else [axis]  # pyright: ignore[reportUnknownArgumentType]
    rank = len(shape_of(x)) + len(axes)
    places = sorted(each + rank if each < 0 else each for each in axes)
    if not places:
        return [x]
    if len(set(places)) < len(places):
        raise TeError(f"expand_dims: axis {axes}, expected distinct axes")
    for place in places[:-1]:
        x = builder.operator("expand_dims", x, axis=place)
    return builder.operators("expand_dims", x, axis=places[-1])


def _repeat(builder: RelayBuilder, data: SSAValue, repeats: int, axis: int | None = None) -> Values:
    """Each element several times along an axis, by default of all elements in one dimension."""
    if axis is None:
        (data,) = _flatten(builder, data)
    return builder.operators("repeat", data, repeats=repeats, axis=axis or 0)


def _pad(
    builder: RelayBuilder,
    data: SSAValue,
    pad_width: Sequence[int],
    pad_mode: str = "constant",
    pad_value: float = 0.0,
) -> Values:
    if len(pad_width) != 2 * len(shape_of(data)):
        raise TeError(f"nn.pad: {len(pad_width)} widths, expected {2 * len(shape_of(data))}")
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return builder.operators("nn.pad", data, pad_width=pairs, pad_value=pad_value, pad_mode=pad_mode)


def _batch_norm(
    builder: RelayBuilder,
    data: SSAValue,
    gamma: SSAValue,
    beta: SSAValue,
    moving_mean: SSAValue,
    moving_var: SSAValue,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Values:
    """The normalization by the moments of the batch, or, not in training, by the moving ones."""
    operands = (data, gamma, beta, moving_mean, moving_var)
    attributes = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    if not training:
        return builder.operators("nn.batch_norm", *operands, **attributes)
    return builder.operators("nn.batch_norm_training", *operands, **attributes, momentum=momentum)


def _gather_nd(builder: RelayBuilder, data: SSAValue, indices: SSAValue, batch_dims: int = 0) -> Values:
    rank = len(shape_of(indices))
    if batch_dims:
        raise TeError(f"gather_nd: batch_dims {batch_dims}, expected 0")
    return builder.operators(
        "gather_nd", data, builder.operator("transpose", indices, axes=[rank - 1, *range(rank - 1)])
    )


def _scatter_nd(
    builder: RelayBuilder, data: SSAValue, indices: SSAValue, updates: SSAValue, reduction: str = "update"
) -> Values:
    rank = len(shape_of(indices))
    first = builder.operator("transpose", indices, axes=[rank - 1, *range(rank - 1)])
    return builder.operators("scatter_nd", data, first, updates, mode=reduction)


def _index_tensor(builder: RelayBuilder, data: SSAValue, indices: Sequence[SSAValue]) -> Values:
    if len(indices) != 1:
        raise TeError(f"index_tensor: {len(indices)} tensors of indices, expected one")
    return builder.operators("take", data, indices[0], axis=0)


def _index_put(
    builder: RelayBuilder, data: SSAValue, indices: Sequence[SSAValue], values: SSAValue, accumulate: bool = False
) -> Values:
    """The elements at indices, a tensor for each dimension, replaced by values, or increased by them."""
    shape = shape_of(indices[0])
    if len(indices) != len(shape_of(data)) or any(shape_of(each) != shape for each in (*indices, values)):
        shapes = [list(shape_of(each)) for each in (*indices, values)]
        text = f"indices and values of shapes {shapes}, expected {len(shape_of(data))} indices of one shape"
        raise TeError(f"index_put: {text}")
    stacked = builder.operator("stack", *(builder.cast(each, "int64") for each in indices), axis=0)
    return builder.operators("scatter_nd", data, stacked, values, mode="add" if accumulate else "update")


def _slice_scatter(
    builder: RelayBuilder, input_tensor: SSAValue, src: SSAValue, start: int, end: int, step: int, axis: int = 0
) -> Values:
    """The elements in a range of indices along an axis replaced by those of another tensor."""
    shape, parts = shape_of(input_tensor), shape_of(src)
    extent = shape[axis]
    if not isinstance(extent, int) or not all(isinstance(size, int) for size in parts):
        raise TeError(f"slice_scatter: shapes {list(shape)} and {list(parts)}, expected numbers")
    places = np.arange(extent)[start:end:step]
    wanted = [len(places) if d == axis % len(shape) else size for d, size in enumerate(shape)]
    if list(parts) != wanted:
        raise TeError(f"slice_scatter: src of shape {list(parts)}, expected {wanted}")
    along = places.reshape([-1 if d == axis % len(shape) else 1 for d in range(len(shape))])
    indices = np.ascontiguousarray(np.broadcast_to(along, [int(size) for size in wanted]), np.int64)
    return builder.operators(
        "scatter_elements", input_tensor, builder.constant(indices, "places"), src, axis=axis, reduction="update"
    )


def _hamming_window(
    builder: RelayBuilder, window_size: int, periodic: bool, alpha: float, beta: float, dtype: str = "float32"
) -> Values:
    """The window `alpha - beta * cos(2 * pi * i / n)`. periodic: whether n is the number of elements, or one less."""
    steps = window_size if periodic else max(window_size - 1, 1)
    window = alpha - beta * np.cos(2 * np.pi * np.arange(window_size) / steps)
    return [builder.constant(window.astype(numpy_dtype(dtype)), "window")]


def _same(_: RelayBuilder, x: SSAValue) -> Values:
    """The operand: words for gradients and for passes, without an effect on the numbers."""
    return [x]


def _meshgrid(builder: RelayBuilder, tensors: Sequence[SSAValue], indexing: str = "ij") -> Values:
    if indexing != "ij":
        raise TeError(f"meshgrid: indexing {indexing!r}, expected 'ij'")
    shape = [shape_of(each)[0] for each in tensors]
    results: list[SSAValue] = []
    for axis, tensor in enumerate(tensors):
        column = builder.operator("expand_dims", tensor, axis=1, num_newaxis=len(shape) - axis - 1)
        results += symbolic.broadcast_to(builder, column, shape)
    return results


def _eye_like(builder: RelayBuilder, x: SSAValue, k: int = 0, dtype: str | None = None) -> Values:
    rows, columns = shape_of(x)
    return builder.operators("eye", rows=rows, columns=columns, k=k, dtype=dtype or dtype_of_tensor(x))


def _one_hot(
    builder: RelayBuilder, indices: SSAValue, on_value: float, off_value: float, depth: int, axis: int = -1
) -> Values:
    dtype = "float32" if isinstance(on_value, float) else "int64"
    values = {"on_value": on_value, "off_value": off_value, "depth": depth, "axis": axis}
    return builder.operators("one_hot", indices, **values, dtype=dtype)


# Elements


def _number(builder: RelayBuilder, number: float, like: SSAValue) -> SSAValue:
    """A constant of the data type of a tensor."""
    dtype = dtype_of_tensor(like)
    return builder.number(float(np.asarray(number, numpy_dtype(dtype))), dtype)


def _full_like(builder: RelayBuilder, x: SSAValue, fill_value: Any, dtype: str | None = None) -> Values:
    number = (
        fill_value.owner.number
        if isinstance(fill_value, SSAValue) and isinstance(fill_value.owner, ConstantOp)
        else fill_value
    )
    if not isinstance(number, int | float):
        if not isinstance(fill_value, SSAValue):
            raise TeError(f"full_like: fill_value {fill_value!r}, expected a number or a tensor without dimensions")
        if shape_of(fill_value):
            raise TeError("full_like: a tensor as fill_value, expected a number or a tensor without dimensions")
        kind = dtype or dtype_of_tensor(x)
        return builder.operators("broadcast_to_like", builder.cast(fill_value, kind), x)
    return _in_dtype(builder, builder.operators("full_like", x, fill_value=number), dtype)


def _like(name: str) -> Callable[..., Values]:
    """A word for a tensor of the shape of another one, in a data type."""

    def build(builder: RelayBuilder, x: SSAValue, dtype: str | None = None) -> Values:
        return _in_dtype(builder, builder.operators(name, x), dtype)

    return build


def _in_dtype(builder: RelayBuilder, results: Values, dtype: str | None) -> Values:
    """The only result of an operator in a data type; None or "" keeps its own."""
    same = dtype in (None, "", dtype_of_tensor(results[0]))
    return results if same else builder.operators("cast", results[0], dtype=dtype)


def _square(builder: RelayBuilder, x: SSAValue) -> Values:
    return builder.operators("multiply", x, x)


def _relu6(builder: RelayBuilder, data: SSAValue) -> Values:
    return builder.operators("clip", data, a_min=0.0, a_max=6.0)


def _softplus(builder: RelayBuilder, data: SSAValue, beta: float = 1.0, threshold: float = 20.0) -> Values:
    if threshold < 20:
        raise TeError(f"nn.softplus: threshold {threshold}, expected at least 20, from which the identity is exact")
    if beta == 1:
        return builder.operators("nn.softplus", data)
    factor = builder.number(beta, dtype_of_tensor(data))
    return builder.operators(
        "divide", builder.operator("nn.softplus", builder.operator("multiply", data, factor)), factor
    )


def _log_add_exp(builder: RelayBuilder, x1: SSAValue, x2: SSAValue) -> Values:
    most = builder.operator("maximum", x1, x2)
    parts = [builder.operator("exp", builder.operator("subtract", each, most)) for each in (x1, x2)]
    return builder.operators("add", most, builder.operator("log", builder.operator("add", *parts)))


def _ewise_fma(builder: RelayBuilder, x1: SSAValue, x2: SSAValue, x3: SSAValue) -> Values:
    return builder.operators("add", builder.operator("multiply", x1, x2), x3)


def _wrap_param(builder: RelayBuilder, data: SSAValue, dtype: str = "float32") -> Values:
    return builder.operators("cast", data, dtype=dtype)


def _dropout(builder: RelayBuilder, data: SSAValue, rate: float = 0.5) -> Values:
    """The result at inference, and the mask."""
    return [builder.operator("nn.dropout", data, rate=rate), builder.operator("ones_like", data)]


# Reductions, sorted elements


def _std(builder: RelayBuilder, x: SSAValue, axis: Any = None, keepdims: bool = False) -> Values:
    return builder.operators("sqrt", builder.operator("variance", x, axis=axis, keepdims=keepdims))


def _index_of(name: str) -> Callable[..., Values]:
    """A word for the int64 index of an extreme element."""

    def build(builder: RelayBuilder, x: SSAValue, axis: Any = None, keepdims: bool = False) -> Values:
        index = builder.operator(name, x, axis=axis, keepdims=keepdims)
        return builder.operators("cast", index, dtype="int64")

    return build


def _sort(builder: RelayBuilder, x: SSAValue, axis: int = -1, descending: bool = False) -> Values:
    return builder.operators("sort", x, axis=axis, is_ascend=not descending)


def _argsort(
    builder: RelayBuilder, data: SSAValue, axis: int = -1, descending: bool = False, dtype: str = "int32"
) -> Values:
    return builder.operators("argsort", data, axis=axis, is_ascend=not descending, dtype=dtype)


def _topk(
    builder: RelayBuilder,
    data: SSAValue,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
) -> Values:
    return builder.operators("topk", data, k=k, axis=axis, ret_type=ret_type, is_ascend=not largest, dtype=dtype)


def _median(builder: RelayBuilder, x: SSAValue, axis: Any = None, keepdims: bool = False) -> Values:
    """The lower one of the middle elements along an axis and its int64 index; without an axis the element of all."""
    if axis is None:
        flat = builder.operator("reshape", x, newshape=[-1])
        (value, _), rank = _median(builder, flat, 0), len(shape_of(x)) if keepdims else 0
        return builder.operators("reshape", value, newshape=[1] * rank)
    axes: list[int] = list(axis) if isinstance(axis, list | tuple) else [axis]
    along, extent = axes[0] % len(shape_of(x)), shape_of(x)[axes[0]]
    if len(axes) != 1 or not isinstance(extent, int) or not extent:
        raise TeError(f"median: axis {axes} of extent {extent}, expected one axis of a positive number")
    middle = builder.number((extent - 1) // 2, "int64")
    order = builder.operator("argsort", x, axis=along, dtype="int64")
    index = builder.operator("expand_dims", builder.operator("take", order, middle, axis=along), axis=along)
    pair = [builder.operator("gather", x, index, axis=along), index]
    return pair if keepdims else [builder.operator("squeeze", each, axis=[along]) for each in pair]


def _bucketize(
    builder: RelayBuilder, input_tensor: SSAValue, boundaries: SSAValue, out_int32: bool = False, right: bool = False
) -> Values:
    dtype = "int32" if out_int32 else "int64"
    return builder.operators("searchsorted", boundaries, input_tensor, right=bool(right), dtype=dtype)


# Products


def matmul(builder: RelayBuilder, x1: SSAValue, x2: SSAValue, out_dtype: str | None = None) -> Values:
    ranks, dtype = (len(shape_of(x1)), len(shape_of(x2))), out_dtype or ""
    if ranks == (2, 2):
        return builder.operators("nn.matmul", x1, x2, out_dtype=dtype)
    if ranks == (3, 3):
        return builder.operators("nn.batch_matmul", x1, x2, transpose_b=False, out_dtype=dtype)
    if dtype not in ("", dtype_of_tensor(x1)):
        x1, x2 = builder.cast(x1, dtype), builder.cast(x2, dtype)
    return builder.operators("einsum", x1, x2, equation=product_equation(*ranks))


def product_equation(left: int, right: int) -> str:
    """The equation of a product of matrices, with preceding dimensions in common, and of vectors."""
    if left == 0 or right == 0:
        raise TeError("matmul: an operand of rank 0, expected at least 1")
    batch = "".join(chr(ord("a") + n) for n in range(max(left, right) - 2))
    a = "z" if left == 1 else batch[len(batch) - (left - 2) :] + "xz"
    b = "z" if right == 1 else batch[len(batch) - (right - 2) :] + "zy"
    result = batch + ("x" if left > 1 else "") + ("y" if right > 1 else "")
    return f"{a},{b}->{result}"


def _linear(builder: RelayBuilder, data: SSAValue, weight: SSAValue, bias: SSAValue | None = None) -> Values:
    axes = [*range(len(shape_of(weight)) - 2), len(shape_of(weight)) - 1, len(shape_of(weight)) - 2]
    product = matmul(builder, data, builder.operator("transpose", weight, axes=axes))
    return product if bias is None else builder.operators("add", product[0], bias)


def _outer(builder: RelayBuilder, x1: SSAValue, x2: SSAValue) -> Values:
    column = builder.operator("expand_dims", x1, axis=1)
    return builder.operators("multiply", column, builder.operator("expand_dims", x2, axis=0))


def _attention(
    builder: RelayBuilder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    bias: SSAValue | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Values:
    """The attention of queries [batch, length, heads, size]. causal_mask: `TopLeft` or `BottomRight`, the corner at
    which the diagonal of the mask is.  window_size: the number of keys up to the diagonal that a query attends to."""
    size, lengths = shape_of(query)[-1], [shape_of(each)[1] for each in (query, key)]
    if not isinstance(size, int):
        raise TeError(f"nn.attention: head size {size}, expected a number")
    scores = builder.operator("einsum", query, key, equation="bshd,bthd->bhst")
    factor = _number(builder, 1 / math.sqrt(size) if scale is None else scale, query)
    scores = builder.operator("multiply", scores, factor)
    if bias is not None:
        scores = builder.operator("add", scores, bias)
    if causal_mask is not None or window_size is not None:
        scores = _mask(builder, scores, causal_mask, window_size, lengths)
    weights = builder.operator("nn.softmax", scores, axis=-1)
    return builder.operators("einsum", weights, value, equation="bhst,bthd->bshd")


def _mask(
    builder: RelayBuilder, scores: SSAValue, corner: str | None, window: int | None, lengths: Sequence[Size]
) -> SSAValue:
    """The scores, -inf for keys after the diagonal from a corner, and for keys `window` and more before it."""
    if corner not in (None, "TopLeft", "BottomRight"):
        raise TeError(f"nn.attention: causal_mask {corner!r}, expected 'TopLeft' or 'BottomRight'")
    rows, columns = (symbolic.arange(builder, length)[0] for length in lengths)
    if corner == "BottomRight" and lengths[0] != lengths[1]:
        ends = [symbolic.size_value(builder, length) for length in lengths]
        rows = builder.operator("add", rows, builder.operator("subtract", ends[1], ends[0]))
    rows = builder.operator("expand_dims", rows, axis=1)
    masks = [builder.operator("less_equal", columns, rows)] if corner is not None else []
    if window is not None:
        first = builder.operator("subtract", rows, builder.number(window, "int64"))
        masks.append(builder.operator("greater", columns, first))
    kept = masks[0] if len(masks) == 1 else builder.operator("logical_and", *masks)
    return builder.operator("where", kept, scores, _number(builder, -math.inf, scores))


# Normalization, losses, images


def _normalization(name: str, *counts: str) -> Callable[..., Values]:
    """A word for a normalization along all axes after that of the channels. counts: further parameters."""

    def build(
        builder: RelayBuilder,
        data: SSAValue,
        gamma: SSAValue,
        beta: SSAValue,
        *args: Any,
        channel_axis: int = 1,
        axes: Sequence[int] = (),
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        **options: int,
    ) -> Values:
        rank = len(shape_of(data))
        names = [*counts, "channel_axis", "axes"]
        given: dict[str, Any] = dict(zip(names, args, strict=False)) | options
        axis: int = given.pop("channel_axis", channel_axis)
        along: Sequence[int] = given.pop("axes", axes)
        others = {d for d in range(1, rank) if d != axis % rank}
        if given.keys() != set(counts):
            raise TeError(f"{name}: arguments {', '.join(given)}, expected {', '.join(counts) or 'none'}")
        if {each % rank for each in along} != others:
            raise TeError(f"{name}: axes {list(along)}, expected {sorted(others)}")
        return builder.operators(
            name, data, gamma, beta, axis=axis, epsilon=epsilon, center=center, scale=scale, **given
        )

    return build


def _cross_entropy(builder: RelayBuilder, predictions: SSAValue, labels: SSAValue) -> Values:
    """The negative sum of products, divided by the first extent if there are several dimensions."""
    total = builder.operator("sum", builder.operator("multiply", predictions, labels))
    shape = shape_of(predictions)
    count = shape[0] if len(shape) > 1 else 1
    if not isinstance(count, int):
        raise TeError(f"nn.cross_entropy_with_logits: {count} rows, expected a number")
    return builder.operators("multiply", total, _number(builder, -1 / count, predictions))


def _nll_loss(
    builder: RelayBuilder,
    predictions: SSAValue,
    targets: SSAValue,
    weights: SSAValue | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Values:
    """The negative prediction of each target times the weight of its class, which is 0 for the ignored class."""
    if reduction not in ("none", "sum", "mean") or len(shape_of(predictions)) < 2:
        text = f"reduction {reduction!r} of rank {len(shape_of(predictions))}"
        raise TeError(f"nn.nll_loss: {text}, expected none, sum or mean of rank 2 at least")
    ignored = builder.operator("equal", targets, _number(builder, ignore_index, targets))
    classes = builder.operator("where", ignored, _number(builder, 0, targets), targets)
    picked = builder.operator("gather", predictions, builder.operator("expand_dims", classes, axis=1), axis=1)
    picked = builder.operator("negative", builder.operator("squeeze", picked, axis=[1]))
    weight = builder.operator("ones_like", picked) if weights is None else builder.operator("take", weights, classes)
    weight = builder.operator("where", ignored, _number(builder, 0.0, picked), weight)
    losses = builder.operators("multiply", picked, weight)
    if reduction == "none":
        return losses
    total = builder.operators("sum", losses[0])
    return total if reduction == "sum" else builder.operators("divide", total[0], builder.operator("sum", weight))


def _pixel_shuffle(builder: RelayBuilder, data: SSAValue, upscale_factor: int) -> Values:
    return builder.operators("nn.depth_to_space", data, block_size=upscale_factor, mode="CRD")


COMPOSITES: dict[str, Callable[..., Values]] = {
    "arange": symbolic.arange,
    "argmax": _index_of("argmax"),
    "argmin": _index_of("argmin"),
    "argsort": _argsort,
    "broadcast_to": symbolic.broadcast_to,
    "bucketize": _bucketize,
    "nn.batch_norm": _batch_norm,
    "builtin.stop_lift_params": _same,
    "expand_dims": _expand_dims,
    "ewise_fma": _ewise_fma,
    "dynamic_strided_slice": packed_words.dynamic_strided_slice,
    "eye": symbolic.eye,
    "eye_like": _eye_like,
    "flatten": _flatten,
    "full": symbolic.full,
    "full_like": _full_like,
    "gather_nd": _gather_nd,
    **dict.fromkeys(("grad.end_checkpoint", "grad.no_grad", "grad.start_checkpoint"), _same),
    "hamming_window": _hamming_window,
    "index_put": _index_put,
    "index_tensor": _index_tensor,
    "linear": _linear,
    "log_add_exp": _log_add_exp,
    "matmul": matmul,
    "median": _median,
    "memory.view": packed_words.view,
    "meshgrid": _meshgrid,
    "multinomial_from_uniform": packed_words.multinomial_from_uniform,
    "nn.attention": _attention,
    "nn.attention_bias": _attention,
    "nn.attention_var_len": packed_words.attention_var_len,
    "nn.cross_entropy_with_logits": _cross_entropy,
    "nn.dropout": _dropout,
    "nn.group_norm": _normalization("nn.group_norm", "num_groups"),
    "nn.instance_norm": _normalization("nn.instance_norm"),
    "nn.nll_loss": _nll_loss,
    "nn.pad": _pad,
    "nn.pixel_shuffle": _pixel_shuffle,
    "nn.relu6": _relu6,
    "nn.softplus": _softplus,
    "nonzero": packed_words.nonzero,
    "one_hot": _one_hot,
    "ones": symbolic.filled("ones"),
    "ones_like": _like("ones_like"),
    "outer": _outer,
    "repeat": _repeat,
    "reshape": reshape,
    "scatter_nd": _scatter_nd,
    "shape_to_tensor": symbolic.shape_to_tensor,
    "size": symbolic.size,
    "slice_scatter": _slice_scatter,
    "sort": _sort,
    "split": symbolic.split,
    "square": _square,
    "std": _std,
    "strided_slice": symbolic.strided_slice,
    "tensor_to_shape": packed_words.tensor_to_shape,
    "topk": _topk,
    "unique": packed_words.unique,
    "vision.all_class_non_max_suppression": packed_words.all_class_non_max_suppression,
    "vision.get_valid_counts": packed_words.get_valid_counts,
    "vision.multibox_transform_loc": packed_words.multibox_transform_loc,
    "vision.non_max_suppression": packed_words.non_max_suppression,
    "wrap_param": _wrap_param,
    "zeros": symbolic.filled("zeros"),
    "zeros_like": _like("zeros_like"),
}
"""The words by name, which take precedence over the spellings of operators."""
