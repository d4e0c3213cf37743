"""Operators that give what is reached so far along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, placeholder
from .axes import axis_of
from .definition import Pattern, operator
from .elements import computed
from .transform import reshape

Array = Any


def _cumulative(
    name: str, combine: Callable[[PrimExpr, PrimExpr], PrimExpr], neutral: int, reference: Any, meaning: str
) -> Any:
    """Define an operator that combines the elements up to each. neutral: what is reached before the first."""

    def formula(
        data: Tensor, axis: int | None = None, dtype: str = "", exclusive: bool = False, reverse: bool = False
    ) -> Tensor:
        kind = dtype or data.dtype
        flat = reshape(data, [-1]) if axis is None else data
        along = axis_of(0 if axis is None else axis, flat.ndim, name)
        count, rest = flat.shape[along], [extent for d, extent in enumerate(flat.shape) if d != along]
        reached = placeholder([count + 1, *rest], kind, name)
        if reached.data_type.is_bool:
            raise TeError(f"{name} of bool, expected numbers, or a dtype to count in")

        def step(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
            place = count - time if reverse else time - 1
            return combine(reached(time - 1, *i), cast(kind, flat(*i[:along], place, *i[along:])))

        start = computed([1, *rest], lambda t, *i: const(neutral, kind), f"{name}_start")
        update = computed([count + 1, *rest], step, f"{name}_step")
        rows = scan(start, update, reached, name=f"{name}_rows")

        def row(place: PrimExpr) -> PrimExpr:
            before = count - 1 - place if reverse else place
            return before if exclusive else before + 1

        return computed(
            flat.shape, lambda *i: rows(row(i[along]), *i[:along], *i[along + 1 :]), f"T_{name}", "injective"
        )

    def expected(data: Array, axis: int | None, dtype: str, exclusive: bool, reverse: bool) -> Array:
        kind = np.dtype(dtype or data.dtype)
        wide = data.astype(kind).astype("float64" if kind.kind == "f" else kind)
        flat, along = (wide.reshape(-1), 0) if axis is None else (wide, axis)
        turned = np.moveaxis(np.flip(flat, along) if reverse else flat, along, 0)
        with np.errstate(all="ignore"):
            found = reference(turned, axis=0, dtype=turned.dtype)
        if exclusive:
            found = np.concatenate([np.full_like(turned[:1], neutral), found[:-1]])
        found = np.moveaxis(found, 0, along)
        return (np.flip(found, along) if reverse else found).astype(kind)

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"""Of each element along an axis {meaning} the elements up to it.

    axis: None for all elements, row by row.  dtype: what is computed in, and the type of the result; that of data if
    missing.  exclusive: without the element itself.  reverse: of those from it on.
    """
    return operator(name, Pattern.OPAQUE, expected)(formula)


cumsum = _cumulative("cumsum", lambda x, y: x + y, 0, np.cumsum, "the sum of")
cumprod = _cumulative("cumprod", lambda x, y: x * y, 1, np.cumprod, "the product of")
