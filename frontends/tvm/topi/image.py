"""The module `tvm.topi.image`, as of v0.16."""

from __future__ import annotations

from collections.abc import Sequence

from ....expressions.tensor import Tensor
from ....operators import image
from ....operators.grids import affine_grid, grid_sample
from ....operators.windows import Window

__all__ = ["affine_grid", "grid_sample", "resize1d", "resize2d", "resize3d"]


def resize1d(
    data: Tensor, roi: Sequence[float] | None, size: Window, layout: str = "NCW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "", bicubic_alpha: float = -0.75,
    bicubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None,
    output_shape: None = None,
) -> Tensor:  # fmt: skip
    """Resizes a signal. output_shape: ignored; follows from the other arguments."""
    return image.resize1d(
        data, size, roi, layout, method.lower(), coordinate_transformation_mode, rounding_method, bicubic_alpha,
        bicubic_exclude, extrapolation_value, out_dtype or "",
    )  # fmt: skip


def resize2d(
    data: Tensor, roi: Sequence[float] | None, size: Window, layout: str = "NCHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "", bicubic_alpha: float = -0.75,
    bicubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None,
    output_shape: None = None,
) -> Tensor:  # fmt: skip
    """Resizes an image. output_shape: ignored; follows from the other arguments."""
    return image.resize2d(
        data, size, roi, layout, method.lower(), coordinate_transformation_mode, rounding_method, bicubic_alpha,
        bicubic_exclude, extrapolation_value, out_dtype or "",
    )  # fmt: skip


def resize3d(
    data: Tensor, roi: Sequence[float] | None, size: Window, layout: str = "NCDHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "", bicubic_alpha: float = -0.75,
    bicubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None,
    output_shape: None = None,
) -> Tensor:  # fmt: skip
    """Resizes a volume. output_shape: ignored; follows from the other arguments."""
    return image.resize3d(
        data, size, roi, layout, method.lower(), coordinate_transformation_mode, rounding_method, bicubic_alpha,
        bicubic_exclude, extrapolation_value, out_dtype or "",
    )  # fmt: skip
