"""Image operators: `relay.image`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...operators.windows import Window
from .expr import Expr, call
from .operators import functions_in, named

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The function that builds expressions of the operator `name`."""
else:
    globals().update(functions_in("image."))


def _resize(rank: int, usual: str) -> Any:
    name = f"image.resize{rank}d"

    @named(name)
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


resize1d, resize2d, resize3d = _resize(1, "NCW"), _resize(2, "NCHW"), _resize(3, "NCDHW")
