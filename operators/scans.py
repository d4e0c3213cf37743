"""Cumulative operators along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import is_float_dtype, numpy_dtype
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, as_dtype, cast
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, placeholder
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .elements import build_tensor
from .transform import reshape

Array = Any


def accumulate(
    data: Tensor,
    combine: Callable[[PrimExpr, PrimExpr], Any],
    neutral: Any,
    name: str,
    axis: int | None = None,
    dtype: str = "",
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """The combination of all elements up to each element along an axis. neutral: the identity element.  Other
    parameters as of `cumsum`."""
    kind = dtype or data.dtype
    flat = reshape(data, [-1]) if axis is None else data
    along = nonnegative_axis(0 if axis is None else axis, flat.ndim, name)
    count, rest = flat.shape[along], [extent for d, extent in enumerate(flat.shape) if d != along]
    reached = placeholder([count + 1, *rest], kind, name)

    def step(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        position = count - time if reverse else time - 1
        return cast(kind, combine(reached(time - 1, *i), cast(kind, flat(*i[:along], position, *i[along:]))))

    start = build_tensor([1, *rest], lambda t, *i: cast(kind, neutral), f"{name}_start")
    update = build_tensor([count + 1, *rest], step, f"{name}_step")
    rows = scan(start, update, reached, name=f"{name}_rows")

    def row(position: PrimExpr) -> PrimExpr:
        before = count - 1 - position if reverse else position
        return before if exclusive else before + 1

    return build_tensor(
        flat.shape, lambda *i: rows(row(i[along]), *i[:along], *i[along + 1 :]), f"T_{name}", "injective"
    )


def _cumulative(
    name: str, combine: Callable[[PrimExpr, PrimExpr], PrimExpr], neutral: int, reference: Any, meaning: str
) -> Any:
    """Defines an operator that combines all elements up to each element. neutral: the identity element.  meaning: its
    summary."""

    def formula(
        data: Tensor, axis: int | None = None, dtype: str = "", exclusive: bool = False, reverse: bool = False
    ) -> Tensor:
        if as_dtype(dtype or data.dtype).is_bool:
            raise TeError(f"{name} of bool, expected numbers, or a dtype to count in")
        return accumulate(data, combine, neutral, name, axis, dtype, exclusive, reverse)

    def scan_array(data: Array, axis: int | None, dtype: str, exclusive: bool, reverse: bool) -> Array:
        kind = numpy_dtype(dtype or data.dtype.name)
        wide = data.astype(kind).astype("float64" if is_float_dtype(kind) else kind)
        flat, along = (wide.reshape(-1), 0) if axis is None else (wide, axis)
        turned = np.moveaxis(np.flip(flat, along) if reverse else flat, along, 0)
        with np.errstate(all="ignore"):
            result = reference(turned, axis=0, dtype=turned.dtype)
        if exclusive:
            result = np.concatenate([np.full_like(turned[:1], neutral), result[:-1]])
        result = np.moveaxis(result, 0, along)
        return (np.flip(result, along) if reverse else result).astype(kind)

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"""{meaning}

    axis: None for all elements in row-major order.  dtype: the data type of the computation and of the result, by
    default the data type of data.  exclusive: excludes the element itself.  reverse: starts at the last element.
    """
    return operator(name, Pattern.OPAQUE, scan_array)(formula)


cumsum = _cumulative("cumsum", lambda x, y: x + y, 0, np.cumsum, "The cumulative sum of the elements along `axis`.")
cumprod = _cumulative(
    "cumprod", lambda x, y: x * y, 1, np.cumprod, "The cumulative product of the elements along `axis`."
)
