"""Operators that resize images by interpolation, and operators that rearrange blocks of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.dtypes import int_range, parse_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .requirements import require_one_of
from .rounding import fitting
from .windows import SPATIAL, Window, each_dimension, order_of

Array = Any

_METHODS = ("nearest_neighbor", "linear", "cubic")
_ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
_MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
    "half_pixel_symmetric",
)


@dataclass(frozen=True)
class Along:
    """The resizing of one dimension. own, wanted: the extents before and after.  scale: the scale factor, if it differs
    from the quotient of the extents.  start, end: the resized part, as fractions of the whole."""

    own: Extent
    wanted: Extent
    scale: float | None = None
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True)
class Resizing:
    """The interpolation of a resizing operator, as in the attributes of `image.resize2d`."""

    method: str
    mode: str
    rounding: str = ""
    cubic_alpha: float = -0.75
    cubic_exclude: bool = False
    extrapolation_value: float = 0.0

    @property
    def rounded(self) -> str:
        """The rounding of positions to indices."""
        return self.rounding or ("round" if self.mode == "align_corners" else "floor")


NOTHING = 1e-5
"""Cubic weights with a smaller sum mean that all elements lie outside of the image."""


# Positions between elements


def _number(extent: Extent) -> Any:
    """The extent as a number if it is known, else as a float64."""
    known = known_extent(extent)
    return cast("float64", extent) if known is None else known


def _line(along: Along, mode: str) -> tuple[Any, Any, Any]:
    """Three numbers m, p, q: element x of the result is at position `(x * m + p) / q` of the image.

    The numbers are integers unless a scale or a part is given, so that a position at an element, or halfway between two
    elements, is exact.
    """
    own, wanted = _number(along.own), _number(along.wanted)
    up, down = (own, wanted) if along.scale is None else (1, along.scale)
    last = wanted - 1 if isinstance(wanted, PrimExpr) else max(wanted - 1, 1)
    if mode == "align_corners":
        return own - 1, 0, scalar.max(last, const(1.0, "float64")) if isinstance(last, PrimExpr) else last
    if mode == "asymmetric":
        return up, 0, down
    if mode == "tf_half_pixel_for_nn":
        return up * 2, up, down * 2
    if mode == "tf_crop_and_resize":
        if known_extent(along.wanted) == 1:
            return 0, (own - 1) * (along.start + along.end), 2
        return (own - 1) * (along.end - along.start), (own - 1) * along.start * last, last
    if mode == "half_pixel_symmetric" and along.scale is not None:
        return 2, own * down - wanted + 1 - down, down * 2
    if mode == "pytorch_half_pixel" and known_extent(along.wanted) == 1:
        return 0, 0, 1
    return up * 2, up - down, down * 2


def _position(index: PrimExpr, along: Along, mode: str) -> PrimExpr:
    """The position of an element of the result in the image, as a float64."""
    m, p, q = (each if isinstance(each, PrimExpr) else const(float(each), "float64") for each in _line(along, mode))
    return (cast("float64", index) * m + p) / q


def _keeps_positions(along: Along, mode: str) -> bool:
    """Whether every element of a dimension is known to keep its position."""
    if known_extent(along.own) is None or known_extent(along.wanted) is None:
        return False
    m, p, q = _line(along, mode)
    return along.own == along.wanted and m == q and p == 0


def _element(number: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """A float64 as an index, clamped to the extent."""
    last = _number(extent) - 1
    low, high = const(0.0, "float64"), last if isinstance(last, PrimExpr) else const(float(last), "float64")
    return cast(extent.dtype, scalar.min(scalar.max(number, low), high))


def _round(position: PrimExpr, how: str) -> PrimExpr:
    half = const(0.5, "float64")
    match how:
        case "round":
            return scalar.round(position)
        case "floor":
            return scalar.floor(position)
        case "ceil":
            return scalar.ceil(position)
        case "round_prefer_floor":
            return scalar.ceil(position - half)
        case _:
            return scalar.floor(position + half)


# Interpolation


def cubic_weights(t: Any, alpha: float) -> list[Any]:
    """The weights of four elements for a position between the second and the third, at distance t from the second."""

    def near(x: Any) -> Any:
        return ((alpha + 2) * x - (alpha + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _weights(base: PrimExpr, t: PrimExpr, own: PrimExpr, resizing: Resizing) -> tuple[int, list[PrimExpr]]:
    """The offset of the first element from the base, and the weights of the elements."""
    if resizing.method == "linear":
        return 0, [1 - t, t]
    weights = cubic_weights(t, resizing.cubic_alpha)
    if not resizing.cubic_exclude:
        return -1, weights
    nothing = const(0.0, t.dtype)
    inner: list[PrimExpr] = []
    for n, weight in enumerate(weights, -1):
        inside = scalar.all(base + n >= const(0.0, "float64"), base + n < cast("float64", own))
        inner.append(Select(inside, weight, nothing))
    total = inner[0] + inner[1] + inner[2] + inner[3]
    divisor = Select(scalar.abs(total) < const(NOTHING, t.dtype), const(1.0, t.dtype), total)
    return -1, [weight / divisor for weight in inner]


def _interpolate(data: Tensor, d: int, along: Along, resizing: Resizing, kind: str) -> Tensor:
    """Resizes a tensor along one dimension by interpolation."""
    own = data.shape[d]

    def source(*axes: PrimExpr) -> PrimExpr:
        position = _position(axes[d], along, resizing.mode)
        base = scalar.floor(position)
        first, weights = _weights(base, cast(kind, position - base), own, resizing)
        total: PrimExpr | None = None
        for n, weight in enumerate(weights, first):
            index = _element(base + const(float(n), "float64"), own)
            part = cast(kind, data(*axes[:d], index, *axes[d + 1 :])) * weight
            total = part if total is None else total + part
        assert total is not None
        return total

    shape = [*data.shape[:d], along.wanted, *data.shape[d + 1 :]]
    names = [f"ax{n}" for n in range(data.ndim)]
    return compute(shape, source, f"resize_{resizing.method}", "injective", varargs_names=names)


def _interpolation_dtype(dtype: str) -> str:
    """The data type of interpolated elements."""
    kind = parse_dtype(dtype)
    return "float32" if kind.is_float and kind.bits < 64 else "float64"


def resized(data: Tensor, dimensions: dict[int, Along], said: Resizing, dtype: str) -> Tensor:
    """Resizes an image. dimensions: the resizing of each axis.  dtype: the data type of the result."""
    names = [f"ax{n}" for n in range(data.ndim)]
    moving = {d: along for d, along in dimensions.items() if not _keeps_positions(along, said.mode)}
    kind, interpolated = _interpolation_dtype(data.dtype), data
    nearest = said.method == "nearest_neighbor"
    if not nearest:
        for d, along in moving.items():
            interpolated = _interpolate(interpolated, d, along, said, kind)

    def source(*axes: PrimExpr) -> PrimExpr:
        at = list(axes)
        outside: list[PrimExpr] = []
        for d, along in moving.items():
            position = _position(axes[d], along, said.mode)
            if nearest:
                at[d] = _element(_round(position, said.rounded), data.shape[d])
            if said.mode == "tf_crop_and_resize":
                outside += [position < const(0.0, "float64"), position > cast("float64", data.shape[d] - 1)]
        element = interpolated(*at)
        element = cast(dtype, element) if interpolated is data else fitting(element, dtype)
        return Select(scalar.any(*outside), const(said.extrapolation_value, dtype), element) if outside else element

    if not nearest and interpolated.dtype == dtype and said.mode != "tf_crop_and_resize":
        return interpolated
    shape = [dimensions[d].wanted if d in dimensions else extent for d, extent in enumerate(data.shape)]
    return compute(shape, source, "resize", "injective", varargs_names=names)


# References in numpy


def _exact_position(x: int, along: Along, mode: str) -> Any:
    """The position of element x of the result in the image, as ONNX defines it: a fraction, or a float for a float
    scale or part."""
    own, wanted = along.own, along.wanted
    scale: Any = Fraction(wanted, own) if along.scale is None else along.scale
    half = Fraction(1, 2)
    match mode:
        case "align_corners":
            return Fraction(x * (own - 1), wanted - 1) if wanted > 1 else 0
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + half) / scale
        case "tf_crop_and_resize" if wanted > 1:
            return along.start * (own - 1) + x * (along.end - along.start) * (own - 1) / (wanted - 1)
        case "tf_crop_and_resize":
            return 0.5 * (along.start + along.end) * (own - 1)
        case "half_pixel_symmetric":
            return Fraction(own, 2) * (1 - wanted / (scale * own)) + (x + half) / scale - half
        case "pytorch_half_pixel" if wanted == 1:
            return 0
        case _:
            return (x + half) / scale - half


def _exact_nearest(position: Any, how: str) -> int:
    match how:
        case "round":
            return round(position)
        case "floor":
            return math.floor(position)
        case "ceil":
            return math.ceil(position)
        case "round_prefer_floor":
            return math.ceil(position - Fraction(1, 2))
        case _:
            return math.floor(position + Fraction(1, 2))


def _exact_cubic(x: float, alpha: float) -> float:
    """The cubic weight of an element at a distance."""
    if x <= 1:
        return (alpha + 2) * x**3 - (alpha + 3) * x**2 + 1
    return alpha * (x**3 - 5 * x**2 + 8 * x - 4)


def _matrix(along: Along, resizing: Resizing) -> Array:
    """The weight of each element of the image in each element of the result, along one dimension."""
    matrix = np.zeros((along.wanted, along.own))
    for x in range(along.wanted):
        position = _exact_position(x, along, resizing.mode)
        base = math.floor(position)
        t = float(position - base)
        taps = {base: 1 - t, base + 1: t}
        if resizing.method == "nearest_neighbor":
            taps = {_exact_nearest(position, resizing.rounded): 1.0}
        elif resizing.method == "cubic":
            taps = {n: _exact_cubic(abs(float(position - n)), resizing.cubic_alpha) for n in range(base - 1, base + 3)}
        if resizing.method == "cubic" and resizing.cubic_exclude:
            taps = {n: weight for n, weight in taps.items() if 0 <= n < along.own}
            total = sum(taps.values())
            taps = {n: weight / (1 if abs(total) < NOTHING else total) for n, weight in taps.items()}
        for n, weight in taps.items():
            matrix[x, min(max(n, 0), along.own - 1)] += weight
    return matrix


def resized_reference(data: Array, dimensions: dict[int, Along], said: Resizing, dtype: str) -> Array:
    """The reference of `resized` in numpy, by a matrix for each dimension."""
    nearest = said.method == "nearest_neighbor"
    result = data if nearest else data.astype("float64")
    outside = np.zeros(data.shape, bool)
    for d, along in dimensions.items():
        matrix = _matrix(along, said)
        if nearest:
            result = np.take(result, matrix.argmax(1), d)
        else:
            result = np.moveaxis(np.tensordot(matrix, result, (1, d)), 0, d)
        positions = [_exact_position(x, along, said.mode) for x in range(along.wanted)]
        beyond = np.array([position < 0 or position > along.own - 1 for position in positions])
        line = beyond.reshape([-1 if n == d else 1 for n in range(data.ndim)])
        outside = np.take(outside, [0] * along.wanted, d) | line
    if np.dtype(dtype).kind in "iu" and not nearest:
        result = np.clip(np.rint(result), *int_range(parse_dtype(dtype)))
    result = result.astype(dtype)
    return np.where(outside, np.dtype(dtype).type(said.extrapolation_value), result) if "crop" in said.mode else result


# Resizing operators


def _resize(rank: int) -> Any:
    """Defines the operator that resizes images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default = f"image.resize{rank}d", f"NC{image}"

    def settings(
        shape: Sequence[Extent],
        size: Window,
        roi: Sequence[float] | None,
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: int,
        extrapolation_value: float,
        scales: Sequence[float] | None,
    ) -> tuple[dict[int, Along], Resizing]:
        """The resizing of each dimension, and the interpolation."""
        mode = coordinate_transformation_mode
        resizing = Resizing(method, mode, rounding_method, cubic_alpha, bool(cubic_exclude), extrapolation_value)
        if len(shape) != rank + 2:
            raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
        require_one_of(resizing.method, _METHODS, f"{name}: method")
        require_one_of(resizing.mode, _MODES, f"{name}: coordinate_transformation_mode")
        require_one_of(resizing.rounding, _ROUNDINGS, f"{name}: rounding_method")
        spatial, sizes = order_of(layout, default, name)[2:], each_dimension(size, rank, f"{name}: size")
        for d in spatial:
            if known_extent(shape[d]) == 0:
                raise TeError(f"{name}: an image of shape {list(shape)} has no elements")
        part = [0.0] * rank + [1.0] * rank if roi is None else list(roi)
        if len(part) != 2 * rank or (resizing.mode == "tf_crop_and_resize" and roi is None):
            raise TeError(f"{name}: roi {roi!r}, expected {2 * rank} numbers, where it begins and where it ends")
        if scales is not None and (len(scales) != rank or not all(0 < scale < math.inf for scale in scales)):
            raise TeError(f"{name}: scales {list(scales)}, expected {rank} numbers above 0")
        factors = [None] * rank if scales is None else scales
        parts = zip(spatial, sizes, factors, part[:rank], part[rank:], strict=True)
        return {d: Along(shape[d], wanted, factor, start, end) for d, wanted, factor, start, end in parts}, resizing

    def formula(
        data: Tensor,
        size: Window,
        roi: Sequence[float] | None = None,
        layout: str = default,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        cubic_alpha: float = -0.75,
        cubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str = "",
        scales: Sequence[float] | None = None,
    ) -> Tensor:
        mode, outside = coordinate_transformation_mode, extrapolation_value
        changes, resizing = settings(
            data.shape, size, roi, layout, method, mode, rounding_method, cubic_alpha, cubic_exclude, outside, scales
        )
        if data.data_type.is_bool and method != "nearest_neighbor":
            raise TeError(f"{name}: method {method!r} of bool, expected numbers")
        return resized(data, changes, resizing, out_dtype or data.dtype)

    def reference(data: Array, out_dtype: str, **attributes: Any) -> Array:
        return resized_reference(data, *settings(data.shape, **attributes), out_dtype or data.dtype.name)

    formula.__name__ = formula.__qualname__ = f"resize{rank}d"
    formula.__doc__ = f"""Resizes an image; each element of the result is an element of the image, or interpolated.

    size: the extents, one number for all dimensions or one for each of {rank} dimensions.  layout: the order of the
    axes.  method: the nearest element ("nearest_neighbor"), or the weighted mean of two ("linear") or of four elements
    ("cubic") along each dimension; the elements at the border continue outside of the image. Means of integers are
    rounded to the nearest integer.  coordinate_transformation_mode: the position of element x of the result, as ONNX
    defines it: with `scale = size / extent`, or with the scale in `scales`, "half_pixel" is `(x + 0.5) / scale - 0.5`,
    "asymmetric" `x / scale`, "tf_half_pixel_for_nn" `(x + 0.5) / scale`, "align_corners"
    `x * (extent - 1) / (size - 1)`; "pytorch_half_pixel" is 0 for a size of 1, "half_pixel_symmetric" preserves the
    centre where the scales do not yield the size exactly, "tf_crop_and_resize" resizes the part in roi, the starts in
    all dimensions and then the ends, as fractions, with extrapolation_value outside of the image.  rounding_method: the
    rounding of positions to elements: "round" rounds halves to even, "floor" and "ceil" round down and up,
    "round_prefer_floor" and "round_prefer_ceil" round halves down and up; "" is "round" for "align_corners" and else
    "floor".  cubic_alpha: the slope of the cubic weights.  cubic_exclude: whether elements outside have weight 0, and
    the other weights are scaled to sum 1; if all elements are outside, the result is 0.  out_dtype: the data type of
    the result, by default the data type of data.
    """
    return operator(name, Pattern.INJECTIVE, reference)(formula)


resize1d, resize2d, resize3d = (_resize(rank) for rank in (1, 2, 3))


# Upsampling


def _scaled_extent(name: str, extent: Extent, scale: float) -> Extent:
    """An extent times a scale factor."""
    if not 0 < scale < math.inf:
        raise TeError(f"{name}: scale {scale}, expected a number above 0")
    known = known_extent(extent)
    if known == 0 or (known is None and scale != int(scale)):
        raise TeError(f"{name}: scale {scale} of an extent of {extent}, expected a known one from 1 on")
    return extent * int(scale) if known is None else max(round(known * scale), 1)


def _upsampling(
    name: str, shape: Sequence[Extent], scales: Sequence[float], layout: str, method: str, mode: str, linear: str
) -> tuple[dict[int, Along], Resizing]:
    """The resizing of each dimension, and the interpolation. linear: the name of the linear method."""
    rank = len(scales)
    if len(shape) != rank + 2:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
    methods = {"nearest_neighbor": "nearest_neighbor", linear: "linear", "bicubic": "cubic"}
    require_one_of(method, list(methods)[: 3 if rank == 2 else 2], f"{name}: method")
    require_one_of(mode, ("half_pixel", "align_corners", "asymmetric"), f"{name}: coordinate_transformation_mode")
    spatial = order_of(layout, f"NC{SPATIAL[3 - rank :]}", name)[2:]
    parts = {
        d: Along(shape[d], _scaled_extent(name, shape[d], scale)) for d, scale in zip(spatial, scales, strict=True)
    }
    return parts, Resizing(methods[method], mode, cubic_alpha=-0.5)


def _repeat(data: Tensor, scales: dict[int, int]) -> Tensor:
    """Repeats each element along the axes in `scales`."""
    shape = [extent * scales.get(d, 1) for d, extent in enumerate(data.shape)]
    names = [f"ax{n}" for n in range(data.ndim)]

    def source(*axes: PrimExpr) -> PrimExpr:
        return data(*(axis // scales[d] if d in scales else axis for d, axis in enumerate(axes)))

    return compute(shape, source, "upsampling", "injective", varargs_names=names)


def _upsample(data: Tensor, dimensions: dict[int, Along], resizing: Resizing, scales: Sequence[float]) -> Tensor:
    whole = all(scale == int(scale) for scale in scales)
    if whole and resizing.method == "nearest_neighbor" and resizing.mode == "asymmetric":
        return _repeat(data, {d: int(scale) for d, scale in zip(dimensions, scales, strict=True)})
    return resized(data, dimensions, resizing, data.dtype)


def _upsampling_reference(
    data: Array, scale_h: float, scale_w: float, layout: str, method: str, align_corners: bool
) -> Array:
    mode = "align_corners" if align_corners else "asymmetric"
    resizing = _upsampling("nn.upsampling", data.shape, [scale_h, scale_w], layout, method, mode, "bilinear")
    return resized_reference(data, *resizing, data.dtype.name)


@operator("nn.upsampling", Pattern.INJECTIVE, _upsampling_reference)
def upsampling(
    data: Tensor,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Tensor:
    """Resizes an image by a scale factor along H and W.

    scale_h, scale_w: the scale factors; extents are rounded.  layout: the order of the axes.  method:
    "nearest_neighbor", "bilinear" or "bicubic", as in `image.resize2d` with "asymmetric", or with "align_corners" if
    align_corners is True.
    """
    mode = "align_corners" if align_corners else "asymmetric"
    scales = [scale_h, scale_w]
    dimensions, resizing = _upsampling("nn.upsampling", data.shape, scales, layout, method, mode, "bilinear")
    return _upsample(data, dimensions, resizing, scales)


def _upsampling3d_reference(
    data: Array,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str,
    method: str,
    coordinate_transformation_mode: str,
) -> Array:
    scales, mode = [scale_d, scale_h, scale_w], coordinate_transformation_mode
    resizing = _upsampling("nn.upsampling3d", data.shape, scales, layout, method, mode, "trilinear")
    return resized_reference(data, *resizing, data.dtype.name)


@operator("nn.upsampling3d", Pattern.INJECTIVE, _upsampling3d_reference)
def upsampling3d(
    data: Tensor,
    scale_d: float = 1,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Tensor:
    """Resizes an image by a scale factor along D, H and W.

    scale_d, scale_h, scale_w: the scale factors; extents are rounded.  layout: the order of the axes.  method:
    "nearest_neighbor" or "trilinear", as in `image.resize3d` with the coordinate_transformation_mode, one of
    "half_pixel", "align_corners" and "asymmetric"; positions are rounded down to elements, except with "align_corners".
    """
    scales, mode = [scale_d, scale_h, scale_w], coordinate_transformation_mode
    dimensions, resizing = _upsampling("nn.upsampling3d", data.shape, scales, layout, method, mode, "trilinear")
    return _upsample(data, dimensions, resizing, scales)


# Blocks of elements


def _block_axes(name: str, shape: Sequence[Extent], block_size: int, layout: str) -> list[int]:
    """The axes N, C, H and W."""
    if len(shape) != 4:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected 4")
    if block_size < 1:
        raise TeError(f"{name}: block_size {block_size}, expected a number from 1 on")
    return order_of(layout, "NCHW", name)


def _require_blocks(name: str, extent: Extent, size: int, what: str) -> None:
    """TeError unless a known extent is a multiple of a block size."""
    known = known_extent(extent)
    if known is not None and known % size:
        raise TeError(f"{name}: {known} {what}, expected a multiple of {size}")


def _depth_to_space_reference(data: Array, block_size: int, layout: str, mode: str) -> Array:
    order = order_of(layout, "NCHW", "nn.depth_to_space")
    n, c, h, w = (data.shape[d] for d in order)
    rest, size = c // block_size**2, block_size
    x = data.transpose(order).reshape(n, *((size, size, rest) if mode == "DCR" else (rest, size, size)), h, w)
    x = x.transpose(0, 3, 4, 1, 5, 2) if mode == "DCR" else x.transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(n, rest, h * size, w * size).transpose(np.argsort(order))


@operator("nn.depth_to_space", Pattern.INJECTIVE, _depth_to_space_reference)
def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Rearranges channels into blocks: each element becomes a block of `block_size` by `block_size` elements.

    block_size: the extent of a block along H and W.  layout: the order of the axes.  mode: the order of the channels,
    "DCR" by the position in the block and then by the channel of the result, "CRD" the other way round.
    """
    name, size = "nn.depth_to_space", block_size
    n, c, h, w = _block_axes(name, data.shape, size, layout)
    require_one_of(mode, ("DCR", "CRD"), f"{name}: mode")
    _require_blocks(name, data.shape[c], size * size, "channels")
    channels = data.shape[c] // (size * size)

    def source(*axes: PrimExpr) -> PrimExpr:
        block = axes[h] % size * size + axes[w] % size
        channel = block * channels + axes[c] if mode == "DCR" else axes[c] * (size * size) + block
        at = {n: axes[n], c: channel, h: axes[h] // size, w: axes[w] // size}
        return data(*(at[d] for d in range(4)))

    shape = {n: data.shape[n], c: channels, h: data.shape[h] * size, w: data.shape[w] * size}
    names = [f"ax{d}" for d in range(4)]
    return compute([shape[d] for d in range(4)], source, "depth_to_space", "injective", varargs_names=names)


def _space_to_depth_reference(data: Array, block_size: int, layout: str) -> Array:
    order = order_of(layout, "NCHW", "nn.space_to_depth")
    n, c, h, w = (data.shape[d] for d in order)
    x = data.transpose(order).reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    x = x.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, h // block_size, w // block_size)
    return x.transpose(np.argsort(order))


@operator("nn.space_to_depth", Pattern.INJECTIVE, _space_to_depth_reference)
def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Rearranges blocks into channels: each block of `block_size` by `block_size` elements becomes one element.

    block_size: the extent of a block along H and W.  layout: the order of the axes. The channels of the result are
    ordered by the position in the block and then by the channel.
    """
    name, size = "nn.space_to_depth", block_size
    n, c, h, w = _block_axes(name, data.shape, size, layout)
    _require_blocks(name, data.shape[h], size, "elements along H")
    _require_blocks(name, data.shape[w], size, "elements along W")
    channels = data.shape[c]

    def source(*axes: PrimExpr) -> PrimExpr:
        block, channel = axes[c] // channels, axes[c] % channels
        at = {n: axes[n], c: channel, h: axes[h] * size + block // size, w: axes[w] * size + block % size}
        return data(*(at[d] for d in range(4)))

    shape = {n: data.shape[n], c: channels * (size * size), h: data.shape[h] // size, w: data.shape[w] // size}
    names = [f"ax{d}" for d in range(4)]
    return compute([shape[d] for d in range(4)], source, "space_to_depth", "injective", varargs_names=names)
