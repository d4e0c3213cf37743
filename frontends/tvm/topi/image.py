"""The module `tvm.topi.image`, as of v0.16."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....expressions.tensor import Tensor
from ....operators import image
from ....operators.grids import affine_grid, grid_sample
from ....operators.windows import Window
from ..absent import report_absent

__getattr__ = report_absent("tvm.topi.image")

__all__ = [
    "affine_grid", "crop_and_resize", "dilation2d_nchw", "dilation2d_nhwc", "grid_sample", "resize1d", "resize2d",
    "resize3d",
]  # fmt: skip


def _resize(resize_data: Callable[..., Tensor], usual: str):
    def resize(
        data: Tensor,
        roi: Sequence[float] | None,
        size: Window,
        layout: str = usual,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.75,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: None = None,
    ) -> Tensor:
        """Resizes a signal, an image or a volume. output_shape: ignored; follows from the other arguments."""
        modes = (method.lower(), coordinate_transformation_mode, rounding_method, bicubic_alpha, bicubic_exclude)
        return resize_data(data, size, roi, layout, *modes, extrapolation_value, out_dtype or "")

    return resize


resize1d = _resize(image.resize1d, "NCW")
resize2d = _resize(image.resize2d, "NCHW")
resize3d = _resize(image.resize3d, "NCDHW")


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Window, padding: Window, dilations: Window, out_dtype: str | None = None
) -> Tensor:
    """The greatest sum of an element and a weight in windows of an image in the layout NCHW."""
    return image.dilation2d(input, filter, stride, padding, dilations, "NCHW", "IHW", out_dtype or "")


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Window, padding: Window, dilations: Window, out_dtype: str | None = None
) -> Tensor:
    """The greatest sum of an element and a weight in windows of an image in the layout NHWC."""
    return image.dilation2d(input, filter, stride, padding, dilations, "NHWC", "HWI", out_dtype or "")


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Window,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    """Parts of images, each resized to `crop_size`."""
    outside = 0.0 if extrapolation_value is None else extrapolation_value
    return image.crop_and_resize(data, boxes, box_indices, crop_size, layout, method.lower(), outside, out_dtype or "")
