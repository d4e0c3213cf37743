"""Operators that give images other sizes: by places between elements, and by blocks of elements."""

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
    """A dimension of an image. own, wanted: how many elements it has and shall have.  scale: how many become of one, if
    that is not what these say.  start, end: the part that is taken, as fractions of the whole."""

    own: Extent
    wanted: Extent
    scale: float | None = None
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True)
class Resizing:
    """How elements of another size are found, as the attributes of `image.resize2d` say it."""

    method: str
    mode: str
    rounding: str = ""
    cubic_alpha: float = -0.75
    cubic_exclude: bool = False
    extrapolation_value: float = 0.0

    @property
    def rounded(self) -> str:
        """How places are rounded to elements."""
        return self.rounding or ("round" if self.mode == "align_corners" else "floor")


NOTHING = 1e-5
"""Weights of cubic interpolation whose sum is less stand for elements outside alone."""


# Places between elements


def _number(extent: Extent) -> Any:
    """A size as a number, if it is known, or a float64."""
    known = known_extent(extent)
    return cast("float64", extent) if known is None else known


def _line(along: Along, mode: str) -> tuple[Any, Any, Any]:
    """Three numbers m, p, q: element x of the result is at `(x * m + p) / q` among those of the image.

    They are whole numbers, unless a scale or a part is said. So a place that is an element, or halfway between two, is
    found exactly.
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


def _place(index: PrimExpr, along: Along, mode: str) -> PrimExpr:
    """Where an element of the result is among those of the image, as a float64."""
    m, p, q = (each if isinstance(each, PrimExpr) else const(float(each), "float64") for each in _line(along, mode))
    return (cast("float64", index) * m + p) / q


def _stays(along: Along, mode: str) -> bool:
    """Whether every element of a dimension is known to stay where it is."""
    if known_extent(along.own) is None or known_extent(along.wanted) is None:
        return False
    m, p, q = _line(along, mode)
    return along.own == along.wanted and m == q and p == 0


def _element(number: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """An index from a float64: that of the nearest element, if there is none of it."""
    last = _number(extent) - 1
    low, high = const(0.0, "float64"), last if isinstance(last, PrimExpr) else const(float(last), "float64")
    return cast(extent.dtype, scalar.min(scalar.max(number, low), high))


def _rounded(place: PrimExpr, how: str) -> PrimExpr:
    half = const(0.5, "float64")
    match how:
        case "round":
            return scalar.round(place)
        case "floor":
            return scalar.floor(place)
        case "ceil":
            return scalar.ceil(place)
        case "round_prefer_floor":
            return scalar.ceil(place - half)
        case _:
            return scalar.floor(place + half)


# Elements there


def cubic_weights(t: Any, alpha: float) -> list[Any]:
    """What four elements count at a place between the second and the third: t of the way from one to the other."""

    def near(x: Any) -> Any:
        return ((alpha + 2) * x - (alpha + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _weights(base: PrimExpr, t: PrimExpr, own: PrimExpr, said: Resizing) -> tuple[int, list[PrimExpr]]:
    """What elements count, and how far the first of them is from the base."""
    if said.method == "linear":
        return 0, [1 - t, t]
    weights = cubic_weights(t, said.cubic_alpha)
    if not said.cubic_exclude:
        return -1, weights
    nothing = const(0.0, t.dtype)
    kept: list[PrimExpr] = []
    for n, weight in enumerate(weights, -1):
        inside = scalar.all(base + n >= const(0.0, "float64"), base + n < cast("float64", own))
        kept.append(Select(inside, weight, nothing))
    total = kept[0] + kept[1] + kept[2] + kept[3]
    divisor = Select(scalar.abs(total) < const(NOTHING, t.dtype), const(1.0, t.dtype), total)
    return -1, [weight / divisor for weight in kept]


def _interpolated(data: Tensor, d: int, along: Along, said: Resizing, kind: str) -> Tensor:
    """With the elements of another size along one dimension."""
    own = data.shape[d]

    def source(*axes: PrimExpr) -> PrimExpr:
        place = _place(axes[d], along, said.mode)
        base = scalar.floor(place)
        first, weights = _weights(base, cast(kind, place - base), own, said)
        total: PrimExpr | None = None
        for n, weight in enumerate(weights, first):
            index = _element(base + const(float(n), "float64"), own)
            part = cast(kind, data(*axes[:d], index, *axes[d + 1 :])) * weight
            total = part if total is None else total + part
        assert total is not None
        return total

    shape = [*data.shape[:d], along.wanted, *data.shape[d + 1 :]]
    names = [f"ax{n}" for n in range(data.ndim)]
    return compute(shape, source, f"resize_{said.method}", "injective", varargs_names=names)


def _computed_in(dtype: str) -> str:
    """The type that elements between others are computed in."""
    kind = parse_dtype(dtype)
    return "float32" if kind.is_float and kind.bits < 64 else "float64"


def resized(data: Tensor, dimensions: dict[int, Along], said: Resizing, dtype: str) -> Tensor:
    """An image of another size. dimensions: along which axes, and how.  dtype: of the result."""
    names = [f"ax{n}" for n in range(data.ndim)]
    moving = {d: along for d, along in dimensions.items() if not _stays(along, said.mode)}
    kind, made = _computed_in(data.dtype), data
    nearest = said.method == "nearest_neighbor"
    if not nearest:
        for d, along in moving.items():
            made = _interpolated(made, d, along, said, kind)

    def source(*axes: PrimExpr) -> PrimExpr:
        at = list(axes)
        outside: list[PrimExpr] = []
        for d, along in moving.items():
            place = _place(axes[d], along, said.mode)
            if nearest:
                at[d] = _element(_rounded(place, said.rounded), data.shape[d])
            if said.mode == "tf_crop_and_resize":
                outside += [place < const(0.0, "float64"), place > cast("float64", data.shape[d] - 1)]
        element = made(*at)
        element = cast(dtype, element) if made is data else fitting(element, dtype)
        return Select(scalar.any(*outside), const(said.extrapolation_value, dtype), element) if outside else element

    if not nearest and made.dtype == dtype and said.mode != "tf_crop_and_resize":
        return made
    shape = [dimensions[d].wanted if d in dimensions else extent for d, extent in enumerate(data.shape)]
    return compute(shape, source, "resize", "injective", varargs_names=names)


# The same in numpy


def _exact_place(x: int, along: Along, mode: str) -> Any:
    """Where an element is, as ONNX says it: a fraction, or a float where a scale or a part is one."""
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


def _exact_nearest(place: Any, how: str) -> int:
    match how:
        case "round":
            return round(place)
        case "floor":
            return math.floor(place)
        case "ceil":
            return math.ceil(place)
        case "round_prefer_floor":
            return math.ceil(place - Fraction(1, 2))
        case _:
            return math.floor(place + Fraction(1, 2))


def _exact_cubic(x: float, alpha: float) -> float:
    """What an element counts at a distance."""
    if x <= 1:
        return (alpha + 2) * x**3 - (alpha + 3) * x**2 + 1
    return alpha * (x**3 - 5 * x**2 + 8 * x - 4)


def _matrix(along: Along, said: Resizing) -> Array:
    """What each element of the image counts in each of the result, along one dimension."""
    found = np.zeros((along.wanted, along.own))
    for x in range(along.wanted):
        place = _exact_place(x, along, said.mode)
        base = math.floor(place)
        t = float(place - base)
        taps = {base: 1 - t, base + 1: t}
        if said.method == "nearest_neighbor":
            taps = {_exact_nearest(place, said.rounded): 1.0}
        elif said.method == "cubic":
            taps = {n: _exact_cubic(abs(float(place - n)), said.cubic_alpha) for n in range(base - 1, base + 3)}
        if said.method == "cubic" and said.cubic_exclude:
            taps = {n: weight for n, weight in taps.items() if 0 <= n < along.own}
            total = sum(taps.values())
            taps = {n: weight / (1 if abs(total) < NOTHING else total) for n, weight in taps.items()}
        for n, weight in taps.items():
            found[x, min(max(n, 0), along.own - 1)] += weight
    return found


def resized_reference(data: Array, dimensions: dict[int, Along], said: Resizing, dtype: str) -> Array:
    """As `resized`, by a matrix for each dimension."""
    nearest = said.method == "nearest_neighbor"
    made = data if nearest else data.astype("float64")
    outside = np.zeros(data.shape, bool)
    for d, along in dimensions.items():
        matrix = _matrix(along, said)
        if nearest:
            made = np.take(made, matrix.argmax(1), d)
        else:
            made = np.moveaxis(np.tensordot(matrix, made, (1, d)), 0, d)
        places = [_exact_place(x, along, said.mode) for x in range(along.wanted)]
        beyond = np.array([place < 0 or place > along.own - 1 for place in places])
        line = beyond.reshape([-1 if n == d else 1 for n in range(data.ndim)])
        outside = np.take(outside, [0] * along.wanted, d) | line
    if np.dtype(dtype).kind in "iu" and not nearest:
        made = np.clip(np.rint(made), *int_range(parse_dtype(dtype)))
    made = made.astype(dtype)
    return np.where(outside, np.dtype(dtype).type(said.extrapolation_value), made) if "crop" in said.mode else made


# As attributes say it


def _resize(rank: int) -> Any:
    """Define the operator that gives another size to images of a number of dimensions."""
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
        """How each dimension changes, and how elements are found."""
        mode = coordinate_transformation_mode
        said = Resizing(method, mode, rounding_method, cubic_alpha, bool(cubic_exclude), extrapolation_value)
        if len(shape) != rank + 2:
            raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
        require_one_of(said.method, _METHODS, f"{name}: method")
        require_one_of(said.mode, _MODES, f"{name}: coordinate_transformation_mode")
        require_one_of(said.rounding, _ROUNDINGS, f"{name}: rounding_method")
        spatial, sizes = order_of(layout, default, name)[2:], each_dimension(size, rank, f"{name}: size")
        for d in spatial:
            if known_extent(shape[d]) == 0:
                raise TeError(f"{name}: an image of shape {list(shape)} has no elements")
        part = [0.0] * rank + [1.0] * rank if roi is None else list(roi)
        if len(part) != 2 * rank or (said.mode == "tf_crop_and_resize" and roi is None):
            raise TeError(f"{name}: roi {roi!r}, expected {2 * rank} numbers, where it begins and where it ends")
        if scales is not None and (len(scales) != rank or not all(0 < scale < math.inf for scale in scales)):
            raise TeError(f"{name}: scales {list(scales)}, expected {rank} numbers above 0")
        factors = [None] * rank if scales is None else scales
        parts = zip(spatial, sizes, factors, part[:rank], part[rank:], strict=True)
        return {d: Along(shape[d], wanted, factor, start, end) for d, wanted, factor, start, end in parts}, said

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
        changes, said = settings(
            data.shape, size, roi, layout, method, mode, rounding_method, cubic_alpha, cubic_exclude, outside, scales
        )
        if data.data_type.is_bool and method != "nearest_neighbor":
            raise TeError(f"{name}: method {method!r} of bool, expected numbers")
        return resized(data, changes, said, out_dtype or data.dtype)

    def reference(data: Array, out_dtype: str, **attributes: Any) -> Array:
        return resized_reference(data, *settings(data.shape, **attributes), out_dtype or data.dtype.name)

    formula.__name__ = formula.__qualname__ = f"resize{rank}d"
    formula.__doc__ = f"""An image of another size, whose elements are those at places of the image, or between some.

    size: how many elements, one number, or one for each of {rank} dimensions.  layout: the order of axes.  method: the
    element that is next to a place ("nearest_neighbor"), or a mean of two ("linear") or four ("cubic") along each
    dimension; outside of the image are the elements at its sides. Means of integers are rounded to the nearest.
    coordinate_transformation_mode: where element x of the result is, as ONNX says it: with `scale = size / extent`, or
    what `scales` has for each dimension, "half_pixel" is `(x + 0.5) / scale - 0.5`, "asymmetric" `x / scale`,
    "tf_half_pixel_for_nn" `(x + 0.5) / scale`, "align_corners" `x * (extent - 1) / (size - 1)`; "pytorch_half_pixel" is
    0 for a size of 1, "half_pixel_symmetric" keeps the middle where scales do not make that size, "tf_crop_and_resize"
    takes the part that roi says: where it begins in each dimension and where it ends in each, as fractions, and has
    extrapolation_value outside of the image.  rounding_method: of places to elements, "round" halves to the even one,
    "floor", "ceil", "round_prefer_floor" and "round_prefer_ceil" halves; "" is "round" for "align_corners" and else
    "floor".  cubic_alpha: the slope of the cubic weights.  cubic_exclude: elements outside count nothing, and the
    others more; where all are outside, the result is 0.  out_dtype: the type of the result; that of data if missing.
    """
    return operator(name, Pattern.INJECTIVE, reference)(formula)


resize1d, resize2d, resize3d = (_resize(rank) for rank in (1, 2, 3))


# So many times larger


def _larger(name: str, extent: Extent, scale: float) -> Extent:
    """How many elements are made of some."""
    if not 0 < scale < math.inf:
        raise TeError(f"{name}: scale {scale}, expected a number above 0")
    known = known_extent(extent)
    if known == 0 or (known is None and scale != int(scale)):
        raise TeError(f"{name}: scale {scale} of an extent of {extent}, expected a known one from 1 on")
    return extent * int(scale) if known is None else max(round(known * scale), 1)


def _upsampling(
    name: str, shape: Sequence[Extent], scales: Sequence[float], layout: str, method: str, mode: str, linear: str
) -> tuple[dict[int, Along], Resizing]:
    """How each dimension changes. linear: what the method between two elements is called."""
    rank = len(scales)
    if len(shape) != rank + 2:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
    methods = {"nearest_neighbor": "nearest_neighbor", linear: "linear", "bicubic": "cubic"}
    require_one_of(method, list(methods)[: 3 if rank == 2 else 2], f"{name}: method")
    require_one_of(mode, ("half_pixel", "align_corners", "asymmetric"), f"{name}: coordinate_transformation_mode")
    spatial = order_of(layout, f"NC{SPATIAL[3 - rank :]}", name)[2:]
    parts = {d: Along(shape[d], _larger(name, shape[d], scale)) for d, scale in zip(spatial, scales, strict=True)}
    return parts, Resizing(methods[method], mode, cubic_alpha=-0.5)


def _repeated(data: Tensor, scales: dict[int, int]) -> Tensor:
    """With every element several times along some axes."""
    shape = [extent * scales.get(d, 1) for d, extent in enumerate(data.shape)]
    names = [f"ax{n}" for n in range(data.ndim)]

    def source(*axes: PrimExpr) -> PrimExpr:
        return data(*(axis // scales[d] if d in scales else axis for d, axis in enumerate(axes)))

    return compute(shape, source, "upsampling", "injective", varargs_names=names)


def _upsampled(data: Tensor, dimensions: dict[int, Along], said: Resizing, scales: Sequence[float]) -> Tensor:
    whole = all(scale == int(scale) for scale in scales)
    if whole and said.method == "nearest_neighbor" and said.mode == "asymmetric":
        return _repeated(data, {d: int(scale) for d, scale in zip(dimensions, scales, strict=True)})
    return resized(data, dimensions, said, data.dtype)


def _upsampling_reference(
    data: Array, scale_h: float, scale_w: float, layout: str, method: str, align_corners: bool
) -> Array:
    mode = "align_corners" if align_corners else "asymmetric"
    said = _upsampling("nn.upsampling", data.shape, [scale_h, scale_w], layout, method, mode, "bilinear")
    return resized_reference(data, *said, data.dtype.name)


@operator("nn.upsampling", Pattern.INJECTIVE, _upsampling_reference)
def upsampling(
    data: Tensor,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Tensor:
    """An image some times as high and as wide.

    scale_h, scale_w: how many times; sizes are rounded.  layout: the order of axes.  method: "nearest_neighbor",
    "bilinear" or "bicubic", as `image.resize2d` does it with "asymmetric", or with "align_corners" if that is said.
    """
    mode = "align_corners" if align_corners else "asymmetric"
    scales = [scale_h, scale_w]
    dimensions, said = _upsampling("nn.upsampling", data.shape, scales, layout, method, mode, "bilinear")
    return _upsampled(data, dimensions, said, scales)


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
    said = _upsampling("nn.upsampling3d", data.shape, scales, layout, method, mode, "trilinear")
    return resized_reference(data, *said, data.dtype.name)


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
    """An image some times as deep, as high and as wide.

    scale_d, scale_h, scale_w: how many times; sizes are rounded.  layout: the order of axes.  method:
    "nearest_neighbor" or "trilinear", as `image.resize3d` does it with the coordinate_transformation_mode, one of
    "half_pixel", "align_corners" and "asymmetric"; places are rounded down to elements, unless it is "align_corners".
    """
    scales, mode = [scale_d, scale_h, scale_w], coordinate_transformation_mode
    dimensions, said = _upsampling("nn.upsampling3d", data.shape, scales, layout, method, mode, "trilinear")
    return _upsampled(data, dimensions, said, scales)


# Blocks of elements


def _block_axes(name: str, shape: Sequence[Extent], block_size: int, layout: str) -> list[int]:
    """Which axes are N, C, H and W."""
    if len(shape) != 4:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected 4")
    if block_size < 1:
        raise TeError(f"{name}: block_size {block_size}, expected a number from 1 on")
    return order_of(layout, "NCHW", name)


def _require_blocks(name: str, extent: Extent, size: int, what: str) -> None:
    """TeError unless an extent is so many times another, as far as it is known."""
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
    """An image with blocks of elements in the place of each element, taken from its channels.

    block_size: how many elements, along H and along W.  layout: the order of axes.  mode: how the channels are counted,
    "DCR" by the place in the block and then by the channel of the result, "CRD" the other way round.
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
    """An image with one element in the place of each block of elements, which become channels.

    block_size: how many elements, along H and along W.  layout: the order of axes. Channels of the result are counted
    by the place in the block and then by the channel.
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
