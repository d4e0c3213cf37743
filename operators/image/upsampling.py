"""Operators that resize images by a scale factor along each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...expressions.errors import TeError
from ...expressions.expr import PrimExpr
from ...expressions.tensor import Tensor, compute
from ..definition import Pattern
from ..extents import Extent, known_extent
from ..ranks import ImageOperator, for_rank
from ..requirements import require_one_of
from .interpolation import Interpolation, resize
from .positions import Dimension
from .reference import resize_array

Array = Any

_MODES = ("half_pixel", "align_corners", "asymmetric")


_MOST_SCALED = 2**53
"""The greatest extent whose product with a scale factor is computed in float64 without rounding the extent."""


class _Upsampling(ImageOperator):
    """methods: the names of the methods, and their names in `image.resize2d`."""

    layout: str
    method: str
    methods: ClassVar[dict[str, str]]

    @property
    def factors(self) -> list[float]:
        """The scale factor of each dimension."""
        raise NotImplementedError

    @property
    def mode(self) -> str:
        """The positions of elements, as in `image.resize2d`."""
        raise NotImplementedError

    @property
    def interpolation(self) -> Interpolation:
        return Interpolation(self.methods[self.method], self.mode, cubic_alpha=-0.5)

    def dimensions(self, shape: Sequence[Extent]) -> dict[int, Dimension]:
        """The resizing of each dimension of an image."""
        self.require_rank(shape)
        require_one_of(self.method, list(self.methods), f"{self.name}: method")
        require_one_of(self.mode, _MODES, f"{self.name}: coordinate_transformation_mode")
        pairs = zip(self.order(self.layout)[2:], self.factors, strict=True)
        return {d: Dimension(shape[d], self.scale_extent(shape[d], factor)) for d, factor in pairs}

    def scale_extent(self, extent: Extent, factor: float) -> Extent:
        """An extent times a scale factor."""
        if not 0 < factor < math.inf:
            raise TeError(f"{self.name}: scale {factor}, expected a number above 0")
        known = known_extent(extent)
        if known == 0 or (known is None and factor != int(factor)):
            raise TeError(f"{self.name}: scale {factor} of an extent of {extent}, expected a known one from 1 on")
        if known is None or factor == int(factor):
            return extent * int(factor)
        if known > _MOST_SCALED:
            raise TeError(f"{self.name}: scale {factor} of an extent of {known}, expected at most {_MOST_SCALED}")
        return max(round(known * factor), 1)

    def formula(self, data: Tensor) -> Tensor:
        dimensions, how, factors = self.dimensions(data.shape), self.interpolation, self.factors
        if how.is_nearest and how.mode == "asymmetric" and all(factor == int(factor) for factor in factors):
            return _repeat(data, {d: int(factor) for d, factor in zip(dimensions, factors, strict=True)})
        return resize(data, dimensions, how, data.dtype)

    def reference(self, data: Array) -> Array:
        return resize_array(data, self.dimensions(data.shape), self.interpolation, data.dtype.name)


def _repeat(data: Tensor, scales: dict[int, int]) -> Tensor:
    """Repeats each element along the axes in `scales`."""
    shape = [extent * scales.get(d, 1) for d, extent in enumerate(data.shape)]
    names = [f"ax{n}" for n in range(data.ndim)]

    def source(*axes: PrimExpr) -> PrimExpr:
        return data(*(axis // scales[d] if d in scales else axis for d, axis in enumerate(axes)))

    return compute(shape, source, "upsampling", "injective", varargs_names=names)


@dataclass(frozen=True)
class _Upsampling2d(_Upsampling):
    """Resizes an image by a scale factor along H and W.

    scale_h, scale_w: the scale factors; extents are rounded.  layout: the order of the axes.  method:
    "nearest_neighbor", "bilinear" or "bicubic", as in `image.resize2d` with "asymmetric", or with "align_corners" if
    align_corners is True.
    """

    methods = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}

    scale_h: float = 1
    scale_w: float = 1
    layout: str = "NCHW"
    method: str = "nearest_neighbor"
    align_corners: bool = False

    @property
    def factors(self) -> list[float]:
        return [self.scale_h, self.scale_w]

    @property
    def mode(self) -> str:
        return "align_corners" if self.align_corners else "asymmetric"


@dataclass(frozen=True)
class _Upsampling3d(_Upsampling):
    """Resizes an image by a scale factor along D, H and W.

    scale_d, scale_h, scale_w: the scale factors; extents are rounded.  layout: the order of the axes.  method:
    "nearest_neighbor" or "trilinear", as in `image.resize3d` with the coordinate_transformation_mode, one of
    "half_pixel", "align_corners" and "asymmetric"; positions are rounded down to elements, except with "align_corners".
    """

    methods = {"nearest_neighbor": "nearest_neighbor", "trilinear": "linear"}

    scale_d: float = 1
    scale_h: float = 1
    scale_w: float = 1
    layout: str = "NCDHW"
    method: str = "nearest_neighbor"
    coordinate_transformation_mode: str = "half_pixel"

    @property
    def factors(self) -> list[float]:
        return [self.scale_d, self.scale_h, self.scale_w]

    @property
    def mode(self) -> str:
        return self.coordinate_transformation_mode


upsampling = for_rank(2, "nn.upsampling", Pattern.INJECTIVE, _Upsampling2d)
upsampling3d = for_rank(3, "nn.upsampling3d", Pattern.INJECTIVE, _Upsampling3d)
