"""Image operators: `relay.image`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...operators.windows import Window
from .expr import Expr, call
from .operators import operator_function, relay_function

affine_grid = operator_function("image.affine_grid")
crop_and_resize = operator_function("image.crop_and_resize")
grid_sample = operator_function("image.grid_sample")


@relay_function("image.dilation2d")
def dilation2d(
    data: Expr,
    weight: Expr,
    strides: Window = (1, 1),
    padding: Window = (0, 0),
    dilations: Window = (1, 1),
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW",
    out_dtype: str = "",
) -> Expr:
    """The greatest sums of elements and weights in windows. strides, dilations: of further numbers than those of the
    two axes of the image, as programs give them, the first two count."""
    steps, far = (each[:2] if isinstance(each, list | tuple) else each for each in (strides, dilations))
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_dtype": out_dtype or ""}
    return call("image.dilation2d", data, weight, strides=steps, padding=padding, dilations=far, **layouts)


def _resize(rank: int, usual: str) -> Callable[..., Expr]:
    name = f"image.resize{rank}d"

    @relay_function(name)
    def resize(
        data: Expr,
        size: Window,
        roi: Any = None,
        layout: str = usual,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        cubic_alpha: float = -0.75,
        cubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
    ) -> Expr:
        """Resizes an image; each element is interpolated from the input elements around its coordinate."""
        modes = {"coordinate_transformation_mode": coordinate_transformation_mode, "rounding_method": rounding_method}
        cubic = {"cubic_alpha": cubic_alpha, "cubic_exclude": cubic_exclude}
        outside = {"roi": roi, "extrapolation_value": extrapolation_value, "out_dtype": out_dtype or ""}
        return call(name, data, size=size, layout=layout, method=method, **modes, **cubic, **outside)

    return resize


resize1d = _resize(1, "NCW")
resize2d = _resize(2, "NCHW")
resize3d = _resize(3, "NCDHW")
