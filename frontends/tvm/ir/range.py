"""`tvm.ir.Range`: intervals of integers, by their first and their end."""

from __future__ import annotations

from ....expressions import axes
from ....expressions.axes import as_index
from ....expressions.expr import ExprLike, promote_operands


class Range(axes.Range):
    """The interval `[begin, end)`; `Range(n)` is `[0, n)`."""

    def __init__(self, begin: ExprLike, end: ExprLike | None = None):
        first, last = (0, begin) if end is None else (begin, end)
        low, high = promote_operands(as_index(first, "range"), as_index(last, "range"))
        super().__init__(low, high - low)

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> axes.Range:
        """The interval of `extent` integers from `min_value` on."""
        low, count = promote_operands(as_index(min_value, "range"), as_index(extent, "range"))
        return axes.Range(low, count)
