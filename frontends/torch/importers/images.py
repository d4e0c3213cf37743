"""Importers of convolutions, pools, resizes and other operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...models.errors import ModelUnsupportedError
from ...models.shapes import permute_axes
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..registry import aten


def spatial_rank(call: Call, operator: str) -> int:
    """The number of dimensions in the name of an operator: 2 for `max_pool2d_with_indices`."""
    return int(next(letter for letter in call.operator.removeprefix(operator) if letter.isdigit()))


def batched(call: Call, x: ModelTensor, rank: int) -> ModelTensor:
    """An image with the axes of batch and channels; a missing axis has the extent 1."""
    return call.op("expand_dims", x, axis=0, num_newaxis=rank + 2 - x.rank) if x.rank < rank + 2 else x


def unbatched(call: Call, result: ModelTensor, x: ModelTensor, rank: int) -> ModelTensor:
    """The result for an image `x` without the axes that `batched` inserted."""
    return call.op("squeeze", result, axis=list(range(rank + 2 - x.rank))) if x.rank < rank + 2 else result


# Convolutions


@aten("convolution.default", "_convolution.default")
def convolution(call: Call) -> ModelTensor:
    x, weight = call.widen_small_floats(call.tensor("input")), call.widen_small_floats(call.tensor("weight"))
    rank = weight.rank - 2
    if not 1 <= rank <= 3:
        raise ModelUnsupportedError(f"{call.op_type} of {rank} dimensions, expected 1 to 3")
    options: dict[str, Any] = {
        "strides": call.window("stride", rank),
        "padding": call.window("padding", rank) * 2,
        "dilation": call.window("dilation", rank),
        "groups": call.get("groups"),
    }
    image = batched(call, x, rank)
    if call.get("transposed"):
        more = call.window("output_padding", rank)
        result = call.op(f"nn.conv{rank}d_transpose", image, weight, output_padding=more, **options)
    else:
        result = call.op(f"nn.conv{rank}d", image, weight, **options)
    bias = call.optional("bias")
    if bias is not None:
        result = call.op("nn.bias_add", result, call.widen_small_floats(bias), axis=1)
    return call.cast(unbatched(call, result, x, rank), call.result_dtype)


# Pools


def pool_attributes(call: Call, rank: int) -> dict[str, Any]:
    """The attributes of the pool of Stepwell."""
    sizes = call.window("kernel_size", rank)
    return {
        "pool_size": sizes,
        "strides": call.window("stride", rank, sizes),
        "dilation": call.window("dilation", rank, 1),
        "padding": call.window("padding", rank, 0) * 2,
        "ceil_mode": bool(call.get("ceil_mode")),
        "skip_padding": bool(call.get("ceil_mode")),
    }


@aten("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool(call: Call) -> list[ModelTensor | None]:
    x, rank = call.tensor(), spatial_rank(call, "max_pool")
    image, attributes = batched(call, x, rank), pool_attributes(call, rank)
    if not call.result_is_used(1):
        return [unbatched(call, call.op(f"nn.max_pool{rank}d", image, **attributes), x, rank), None]
    maxima, places = call.ops(f"nn.max_pool{rank}d_with_places", image, **attributes)
    return [unbatched(call, maxima, x, rank), call.cast(unbatched(call, places, x, rank), "int64")]


@aten("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def average_pool(call: Call) -> ModelTensor:
    x, rank = call.tensor(), spatial_rank(call, "avg_pool")
    attributes, divisor = pool_attributes(call, rank), call.get("divisor_override")
    image = batched(call, call.widen_small_floats(x), rank)
    if divisor is None:
        include = bool(call.get("count_include_pad"))
        result = call.op(f"nn.avg_pool{rank}d", image, **attributes, count_include_pad=include)
    else:
        call.raise_unsupported_if(attributes["ceil_mode"], "divisor_override with ceil_mode")
        result = call.op(f"nn.avg_pool{rank}d", image, **attributes, count_include_pad=True)
        result = call.scalar("multiply", result, math.prod(attributes["pool_size"]) / divisor)
    return call.cast(unbatched(call, result, x, rank), x.dtype)


@aten("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
@aten(*(f"adaptive_avg_pool{rank}d.default" for rank in (1, 2, 3)))
def adaptive_average_pool(call: Call) -> ModelTensor:
    x = call.tensor()
    rank = spatial_rank(call, "")
    image = batched(call, call.widen_small_floats(x), rank)
    result = call.op(f"nn.adaptive_avg_pool{rank}d", image, output_size=call.window("output_size", rank))
    return call.cast(unbatched(call, result, x, rank), x.dtype)


@aten("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(call: Call) -> list[ModelTensor | None]:
    x, rank = call.tensor(), spatial_rank(call, "")
    call.raise_unsupported_if(call.result_is_used(1), "the indices of the maxima")
    sizes = call.window("output_size", rank)
    result = call.op(f"nn.adaptive_max_pool{rank}d", batched(call, x, rank), output_size=sizes)
    return [unbatched(call, result, x, rank), None]


# Other sizes

_METHODS = {
    "_upsample_nearest_exact": ("nearest_neighbor", "round_prefer_ceil"),
    "upsample_bicubic": ("cubic", ""),
    "upsample_bilinear": ("linear", ""),
    "upsample_linear": ("linear", ""),
    "upsample_nearest": ("nearest_neighbor", "floor"),
    "upsample_trilinear": ("linear", ""),
}
"""The method of a resize and its rounding, by the name of the operator."""


@aten(
    *(f"{name}{rank}d.vec" for name in ("upsample_nearest", "_upsample_nearest_exact") for rank in (1, 2, 3)),
    "upsample_bicubic2d.vec",
    "upsample_bilinear2d.vec",
    "upsample_linear1d.vec",
    "upsample_trilinear3d.vec",
)
def upsample(call: Call) -> ModelTensor:
    x, rank = call.tensor("input"), spatial_rank(call, "")
    method, rounding = _METHODS[call.operator[:-2]]
    extents = known_integers(x.shape[2:], f"{call.op_type} of extents")
    sizes, scales = _sizes_and_scales(call, extents)
    resized = call.op(
        f"image.resize{rank}d",
        call.widen_small_floats(x),
        size=sizes,
        method=method,
        coordinate_transformation_mode=_mode(call, rounding),
        rounding_method=rounding,
        scales=None if call.get("align_corners") else scales,
    )
    return call.cast(resized, x.dtype)


def _mode(call: Call, rounding: str) -> str:
    """The relation of positions in the result to positions in the image."""
    if call.get("align_corners"):
        return "align_corners"
    return "asymmetric" if rounding == "floor" else "half_pixel"


def _sizes_and_scales(call: Call, extents: Sequence[int]) -> tuple[list[int], list[float]]:
    """The extents of the result, and their ratios to those of the image, or the scale factors as given."""
    if call.get("output_size") is not None:
        sizes = list(call.integers("output_size"))
        return sizes, [size / extent for size, extent in zip(sizes, extents, strict=True)]
    factors = [float(each) for each in call.get("scale_factors")]
    return [math.floor(n * factor) for n, factor in zip(extents, factors, strict=True)], factors


@aten("grid_sampler_2d.default", "grid_sampler_3d.default")
def grid_sample(call: Call) -> ModelTensor:
    x, grid = call.widen_small_floats(call.tensor("input")), call.widen_small_floats(call.tensor("grid"))
    result = call.op(
        "image.grid_sample",
        x,
        permute_axes(call, grid, [0, grid.rank - 1, *range(1, grid.rank - 1)]),
        method=("bilinear", "nearest", "bicubic")[call.get("interpolation_mode")],
        layout="NCHW" if x.rank == 4 else "NCDHW",
        padding_mode=("zeros", "border", "reflection")[call.get("padding_mode")],
        align_corners=call.get("align_corners"),
    )
    return call.cast(result, call.result_dtype)
