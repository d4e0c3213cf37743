"""Operators that resize images by interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...expressions.errors import TeError
from ...expressions.tensor import Tensor
from ..definition import Pattern
from ..extents import Extent, known_extent
from ..ranks import ImageOperator, for_ranks
from ..requirements import require_one_of
from ..windows import Window
from .interpolation import Interpolation, resize
from .positions import Dimension
from .reference import resize_array

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
class _Resize(ImageOperator):
    """Resizes an image; each element of the result is an element of the image, or interpolated.

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

    size: Window
    roi: Sequence[float] | None = None
    layout: str = "NC{image}"
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = ""
    cubic_alpha: float = -0.75
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: str = ""
    scales: Sequence[float] | None = None

    def formula(self, data: Tensor) -> Tensor:
        dimensions, how = self.dimensions(data.shape), self.interpolation
        if data.data_type.is_bool and not how.is_nearest:
            raise TeError(f"{self.name}: method {self.method!r} of bool, expected numbers")
        return resize(data, dimensions, how, self.out_dtype or data.dtype)

    def reference(self, data: Array) -> Array:
        return resize_array(data, self.dimensions(data.shape), self.interpolation, self.out_dtype or data.dtype.name)

    @property
    def interpolation(self) -> Interpolation:
        mode, exclude = self.coordinate_transformation_mode, bool(self.cubic_exclude)
        cubic = (self.cubic_alpha, exclude)
        return Interpolation(self.method, mode, self.rounding_method, *cubic, self.extrapolation_value)

    def dimensions(self, shape: Sequence[Extent]) -> dict[int, Dimension]:
        """The resizing of each dimension of an image."""
        self.require_rank(shape)
        self.require_interpolation()
        spatial, sizes = self.order(self.layout)[2:], self.numbers("size")
        if any(known_extent(shape[d]) == 0 for d in spatial):
            raise TeError(f"{self.name}: an image of shape {list(shape)} has no elements")
        starts, ends = self.part()
        parts = zip(spatial, sizes, self.factors(), starts, ends, strict=True)
        return {d: Dimension(shape[d], size, factor, start, end) for d, size, factor, start, end in parts}

    def require_interpolation(self) -> None:
        """TeError for an unknown method, mode or rounding."""
        require_one_of(self.method, _METHODS, f"{self.name}: method")
        mode = self.coordinate_transformation_mode
        require_one_of(mode, _MODES, f"{self.name}: coordinate_transformation_mode")
        require_one_of(self.rounding_method, _ROUNDINGS, f"{self.name}: rounding_method")

    def part(self) -> tuple[Sequence[float], Sequence[float]]:
        """The start and the end of the resized part in each dimension."""
        rank, roi = self.rank, self.roi
        part = [0.0] * rank + [1.0] * rank if roi is None else list(roi)
        if len(part) != 2 * rank or (self.coordinate_transformation_mode == "tf_crop_and_resize" and roi is None):
            raise TeError(f"{self.name}: roi {roi!r}, expected {2 * rank} numbers, where it begins and where it ends")
        return part[:rank], part[rank:]

    def factors(self) -> Sequence[float | None]:
        """The given scale of each dimension."""
        if self.scales is None:
            return [None] * self.rank
        if len(self.scales) != self.rank or not all(0 < scale < math.inf for scale in self.scales):
            raise TeError(f"{self.name}: scales {list(self.scales)}, expected {self.rank} numbers above 0")
        return self.scales


resize1d, resize2d, resize3d = for_ranks("image.resize{rank}d", Pattern.INJECTIVE, _Resize)
