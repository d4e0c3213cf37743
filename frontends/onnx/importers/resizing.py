"""Importers of operators that resize images."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ....core.errors import ArgumentError
from ....operators.image.scaling import (
    ANTIALIASED_MODES,
    antialias_weights,
    filter_reach,
    resampling,
    scaled_sizes,
    sizes_and_scales,
)
from ....operators.relay import Size
from ...models.call import normalized_axis
from ...models.data_sizes import call_host
from ...models.limits import require_created
from ...models.symbols import Symbol
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import importer
from .data_sizes import is_computed
from .shapes import permute_axes

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic", "bilinear": "linear"}


@importer("Upsample")
def upsample(call: Call) -> ModelTensor:
    x = call.tensor()
    if call.version >= 9 and is_computed(call, 1):
        return _computed(call, x, range(x.rank), "asymmetric", "floor", call.tensor(1), None)
    if call.version < 7:
        scales = [1.0, 1.0, call.floating("height_scale"), call.floating("width_scale")]
    else:
        scales = call.attribute("scales") if call.version < 9 else call.constant_vector(1, "scales")
    if scales is None:
        raise OnnxError("Upsample without scales")
    factors = [float(each) for each in scales]
    sizes = _scaled(call, x.static_shape, factors)
    return _resize(call, x, range(x.rank), sizes, factors, call.text("mode", "nearest"), "asymmetric", "floor", None)


@importer("Resize")
def resize(call: Call) -> ModelTensor:
    x = call.tensor()
    axes = every = [normalized_axis(axis, x.rank) for axis in call.integers("axes") or range(x.rank)]
    if _is_computed_resize(call):
        return _computed_resize(call, x, axes)
    factors = call.constant_elements(1, "scales") if call.version < 11 else call.constant_elements(2, "scales")
    wanted = None if call.version < 11 else call.constant_elements(3, "sizes")
    mode, where = call.text("mode", "nearest"), call.text("coordinate_transformation_mode", "half_pixel")
    for what, numbers in (("scales", factors), ("sizes", wanted)):
        if numbers is not None and numbers.size and numbers.shape != (len(axes),):
            raise OnnxError(f"Resize: {what} of shape {list(numbers.shape)}, expected [{len(axes)}]")
    if wanted is not None and wanted.size:
        changed = [n for n, size in enumerate(wanted) if not isinstance(size, Symbol) or repr(size) != x.shape[axes[n]]]
        call.raise_unsupported_if(
            len(changed) < len(axes) and call.attribute("keep_aspect_ratio_policy"), "a ratio of open sizes"
        )
        axes, wanted = [axes[n] for n in changed], [wanted[n] for n in changed]
        sizes, scales = sizes_and_scales(_extents(x, axes), known_integers(wanted, "Resize to sizes"), _policy(call))
    elif factors is not None and factors.size:
        changed = [n for n, scale in enumerate(factors) if scale != 1 or isinstance(x.shape[axes[n]], int)]
        axes, scales = [axes[n] for n in changed], [float(factors[n]) for n in changed]
        sizes = _scaled(call, _extents(x, axes), scales)
    else:
        raise OnnxError("Resize: neither scales nor sizes")
    if call.version < 11:
        return _resize(call, x, axes, sizes, scales, mode, "asymmetric", "floor", None)
    roi = call.constant_elements(1, "roi") if where == "tf_crop_and_resize" else None
    if roi is not None:
        if roi.size != 2 * len(every):
            raise OnnxError(f"Resize: roi of {roi.size} numbers, expected {2 * len(every)}")
        roi = roi.reshape(2, -1)[:, [every.index(axis) for axis in axes]].ravel()
    rounding = call.text("nearest_mode", "round_prefer_floor")
    return _resize(call, x, axes, sizes, scales, mode, where, rounding, roi)


def _scaled(call: Call, extents: Sequence[int], scales: Sequence[float]) -> list[int]:
    try:
        return scaled_sizes(extents, scales)
    except ArgumentError as error:
        raise OnnxError(f"{call.op_type}: {error}") from error


def _method(call: Call, mode: str) -> str:
    """The interpolation method of a mode."""
    if mode not in _METHODS:
        raise OnnxUnsupportedError(f"{call.op_type}: mode '{mode}' is not supported")
    return _METHODS[mode]


def _require_antialiased(call: Call, where: str) -> None:
    """Refuses a coordinate transformation mode without antialiasing filters."""
    if where not in ANTIALIASED_MODES:
        raise OnnxUnsupportedError(f"{call.op_type}: {where} with antialias is not supported")


def _policy(call: Call) -> str:
    return call.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")


def _extents(x: ModelTensor, axes: Sequence[int]) -> tuple[int, ...]:
    return known_integers([x.shape[axis] for axis in axes], "Resize of extents")


def _resize(
    call: Call,
    x: ModelTensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    where: str,
    rounding: str,
    roi: Any,
) -> ModelTensor:
    """Resizes an image. Moves the resized axes after the others, which are folded into two axes."""
    method = _method(call, mode)
    if any(n == 0 for n in sizes):
        raise OnnxUnsupportedError(f"{call.op_type}: to an extent of 0")
    changed = [n for n, axis in enumerate(axes) if sizes[n] != x.shape[axis] or scales[n] != 1 or roi is not None]
    starts, ends = ([], []) if roi is None else (list(roi[: len(axes)]), list(roi[len(axes) :]))
    if roi is not None:
        changed = [n for n in changed if (starts[n], ends[n], sizes[n]) != (0, 1, x.shape[axes[n]])]
    if not changed:
        return x
    if call.integer("antialias") and mode != "nearest" and any(scale < 1 for scale in scales):
        return _resize_antialiased(call, x, [(axes[n], sizes[n], scales[n]) for n in changed], mode, where)
    if len(changed) > 3:
        raise OnnxUnsupportedError(f"{call.op_type} of {len(changed)} dimensions, expected 3 at most")
    last = [axes[n] for n in changed]
    sizes, scales = [int(sizes[n]) for n in changed], [float(scales[n]) for n in changed]
    where, scales = resampling(where, _extents(x, last), sizes, scales)
    order = [axis for axis in range(x.rank) if axis not in last] + last
    extents = x.extents[order]
    leading = extents[: x.rank - len(last)]
    image = call.op("transpose", x, axes=order) if order != list(range(x.rank)) else x
    if len(leading) != 2:
        image = call.builder.reshape(image, [1, math.prod(leading), *extents[len(leading) :]])
    options: dict[str, Any] = {}
    if roi is not None:
        options["roi"] = [float(starts[n]) for n in changed] + [float(ends[n]) for n in changed]
        options["extrapolation_value"] = call.floating("extrapolation_value")
    resized = call.op(
        f"image.resize{len(last)}d",
        image,
        size=sizes,
        method=method,
        coordinate_transformation_mode=where,
        rounding_method=rounding if mode == "nearest" else "",
        cubic_alpha=call.floating("cubic_coeff_a", -0.75),
        cubic_exclude=call.integer("exclude_outside"),
        scales=scales,
        **options,
    )
    resized = call.builder.reshape(resized, [*leading, *sizes])
    back = [order.index(axis) for axis in range(x.rank)]
    return call.op("transpose", resized, axes=back) if back != list(range(x.rank)) else resized


def _resize_antialiased(
    call: Call, x: ModelTensor, targets: Sequence[tuple[int, int, float]], mode: str, where: str
) -> ModelTensor:
    """Resizes an image with an antialiasing filter, as a matrix product along each axis. targets: (axis, size, scale)
    of each resized axis."""
    _require_antialiased(call, where)
    resized = call.widen_small_floats(x)
    for axis, size, scale in targets:
        extent = int(x.shape[axis])
        require_created([size, extent], "the matrix of a resize")
        require_created([size, 2 * filter_reach(scale) + 1], "the weights of a resize")
        alpha = call.floating("cubic_coeff_a", -0.75) if mode == "cubic" else None
        weights = antialias_weights(extent, size, scale, where, alpha, call.integer("exclude_outside") == 1)
        order = [d for d in range(x.rank) if d != axis] + [axis]
        rows = permute_axes(call, resized, order)
        rows = call.op("nn.dense", rows, call.constant(weights, resized.dtype))
        resized = permute_axes(call, rows, [order.index(d) for d in range(x.rank)])
    return call.cast(resized, x.dtype)


# Sizes and scales that the model computes


def _is_computed_resize(call: Call) -> bool:
    if call.version < 11:
        return is_computed(call, 1)
    is_part = call.text("coordinate_transformation_mode") == "tf_crop_and_resize"
    return is_computed(call, 2, 3) or (is_part and is_computed(call, 1))


def _computed_resize(call: Call, x: ModelTensor, axes: Sequence[int]) -> ModelTensor:
    """A resize whose scales, sizes or part the model computes."""
    if call.version < 11:
        return _computed(call, x, axes, "asymmetric", "floor", call.tensor(1), None)
    where = call.text("coordinate_transformation_mode", "half_pixel")
    roi = call.tensor(1) if where == "tf_crop_and_resize" else None
    numbers = [each for each in (call.optional(3), call.optional(2)) if each is not None and each.shape != (0,)]
    if not numbers:
        raise OnnxError("Resize: neither scales nor sizes")
    return _computed(call, x, axes, where, call.text("nearest_mode", "round_prefer_floor"), numbers[0], roi)


def _computed(
    call: Call,
    x: ModelTensor,
    axes: Sequence[int],
    where: str,
    rounding: str,
    numbers: ModelTensor,
    roi: ModelTensor | None,
) -> ModelTensor:
    """The resize of a packed function. numbers: the scales, floats, or the sizes, integers, along the axes."""
    mode = call.text("mode", "nearest")
    method = _method(call, mode)
    antialias = call.integer("antialias") == 1 and mode != "nearest"
    if antialias:
        _require_antialiased(call, where)
    description = {
        "axes": list(axes),
        "method": method,
        "mode": where,
        "rounding": rounding if mode == "nearest" else "",
        "cubic_alpha": call.floating("cubic_coeff_a", -0.75),
        "excludes": call.integer("exclude_outside") == 1,
        "extrapolation_value": call.floating("extrapolation_value"),
        "antialias": antialias,
        "policy": _policy(call),
    }
    shape: list[Size] = list(x.shape)
    for axis in axes:
        shape[axis] = call.builder.new_size("resize")
    operands = [json.dumps(description), x, numbers, *([] if roi is None else [roi])]
    return call_host(call.builder, "resize", operands, [(x.dtype, shape)])[0]
