"""Interpolation of images: the formulas of the resizing operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.dtypes import parse_dtype
from ...expressions import functions as scalar
from ...expressions.expr import PrimExpr, Select, cast, const
from ...expressions.tensor import Tensor, compute
from ..rounding import saturating_cast
from .positions import Dimension, index_of, keeps_position, position_of, round_position


@dataclass(frozen=True)
class Interpolation:
    """The interpolation of a resizing operator, as in the attributes of `image.resize2d`."""

    method: str
    mode: str
    rounding: str = ""
    cubic_alpha: float = -0.75
    cubic_exclude: bool = False
    extrapolation_value: float = 0.0

    @property
    def is_nearest(self) -> bool:
        """Whether the elements of the result are elements of the image."""
        return self.method == "nearest_neighbor"

    @property
    def index_rounding(self) -> str:
        """The rounding of positions to indices."""
        return self.rounding or ("round" if self.mode == "align_corners" else "floor")


LEAST_SUM = 1e-5
"""Cubic weights with a smaller sum mean that all elements lie outside of the image."""


def cubic_weights(t: Any, alpha: float) -> list[Any]:
    """The weights of four elements for a position between the second and the third, at distance t from the second."""

    def near(x: Any) -> Any:
        return ((alpha + 2) * x - (alpha + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _weights(base: PrimExpr, t: PrimExpr, extent: PrimExpr, how: Interpolation) -> tuple[int, list[PrimExpr]]:
    """The offset of the first element from the base, and the weights of the elements."""
    if how.method == "linear":
        return 0, [1 - t, t]
    weights = cubic_weights(t, how.cubic_alpha)
    if not how.cubic_exclude:
        return -1, weights
    nothing = const(0.0, t.dtype)
    inner: list[PrimExpr] = []
    for n, weight in enumerate(weights, -1):
        inside = scalar.all(base + n >= const(0.0, "float64"), base + n < cast("float64", extent))
        inner.append(Select(inside, weight, nothing))
    total = inner[0] + inner[1] + inner[2] + inner[3]
    divisor = Select(scalar.abs(total) < const(LEAST_SUM, t.dtype), const(1.0, t.dtype), total)
    return -1, [weight / divisor for weight in inner]


def _interpolate(data: Tensor, d: int, along: Dimension, how: Interpolation, kind: str) -> Tensor:
    """Resizes a tensor along one dimension by interpolation."""
    extent = data.shape[d]

    def source(*axes: PrimExpr) -> PrimExpr:
        position = position_of(axes[d], along, how.mode)
        base = scalar.floor(position)
        first, weights = _weights(base, cast(kind, position - base), extent, how)
        total: PrimExpr | None = None
        for n, weight in enumerate(weights, first):
            index = index_of(base + const(float(n), "float64"), extent)
            part = cast(kind, data(*axes[:d], index, *axes[d + 1 :])) * weight
            total = part if total is None else total + part
        assert total is not None
        return total

    shape = [*data.shape[:d], along.size, *data.shape[d + 1 :]]
    names = [f"ax{n}" for n in range(data.ndim)]
    return compute(shape, source, f"resize_{how.method}", "injective", varargs_names=names)


def interpolation_dtype(dtype: str) -> str:
    """The data type of interpolated elements."""
    kind = parse_dtype(dtype)
    return "float32" if kind.is_float and kind.bits < 64 else "float64"


def resize(data: Tensor, dimensions: dict[int, Dimension], how: Interpolation, dtype: str) -> Tensor:
    """Resizes an image. dimensions: the resizing of each axis.  dtype: the data type of the result."""
    changes = {d: along for d, along in dimensions.items() if not keeps_position(along, how.mode)}
    interpolated = data
    if not how.is_nearest:
        for d, along in changes.items():
            interpolated = _interpolate(interpolated, d, along, how, interpolation_dtype(data.dtype))
        if interpolated.dtype == dtype and how.mode != "tf_crop_and_resize":
            return interpolated

    def source(*axes: PrimExpr) -> PrimExpr:
        positions = {d: position_of(axes[d], along, how.mode) for d, along in changes.items()}
        at = dict(enumerate(axes))
        if how.is_nearest:
            at |= {d: index_of(round_position(x, how.index_rounding), data.shape[d]) for d, x in positions.items()}
        element = interpolated(*at.values())
        element = cast(dtype, element) if interpolated is data else saturating_cast(element, dtype)
        if how.mode != "tf_crop_and_resize" or not positions:
            return element
        outside = [is_outside for d, x in positions.items() for is_outside in _bounds(x, data.shape[d])]
        return Select(scalar.any(*outside), const(how.extrapolation_value, dtype), element)

    shape = [dimensions[d].size if d in dimensions else extent for d, extent in enumerate(data.shape)]
    return compute(shape, source, "resize", "injective", varargs_names=[f"ax{n}" for n in range(data.ndim)])


def _bounds(position: PrimExpr, extent: PrimExpr) -> list[PrimExpr]:
    """The conditions under which a position is before the first or after the last element."""
    return [position < const(0.0, "float64"), position > cast("float64", extent - 1)]
