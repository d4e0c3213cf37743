"""Arithmetic on the indices and the parameters of an index map, which builds affine expressions."""

from __future__ import annotations

from typing import Any, NoReturn

from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr

from ..core.errors import ScheduleError


class IndexTerm:
    """An operand of index arithmetic: sums, products with numbers and parameters, floor divisions and remainders by
    positive numbers and parameters; shifts by numbers, and the lowest bits (`i & 7`). ScheduleError for other operands
    of these operators."""

    __slots__ = ()

    @property
    def expr(self) -> AffineExpr:
        """The expression of the operand."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Index:
        return Index(self.expr + _expression(other, "+"))

    def __radd__(self, other: Any) -> Index:
        return Index(_expression(other, "+") + self.expr)

    def __sub__(self, other: Any) -> Index:
        return Index(self.expr + _expression(other, "-") * -1)

    def __rsub__(self, other: Any) -> Index:
        return Index(_expression(other, "-") + self.expr * -1)

    def __neg__(self) -> Index:
        return Index(self.expr * -1)

    def __mul__(self, other: Any) -> Index:
        factor = _expression(other, "*")
        if factor.used_dims() and self.expr.used_dims():
            raise ScheduleError("index map: a product of two indices, expected a number on one side of *")
        return Index(self.expr * factor)

    def __rmul__(self, other: Any) -> Index:
        return self * other

    def __floordiv__(self, other: Any) -> Index:
        return Index(self.expr // divisor_of(other, "//"))

    def __mod__(self, other: Any) -> Index:
        return Index(self.expr % divisor_of(other, "%"))

    def __lshift__(self, other: Any) -> Index:
        return Index(self.expr * (1 << _bits(other, "<<")))

    def __rshift__(self, other: Any) -> Index:
        return Index(self.expr // (1 << _bits(other, ">>")))

    def __and__(self, other: Any) -> Index:
        count = _bits(other, "&") + 1
        if count & (count - 1):
            raise ScheduleError(f"index map: {other} beside &, expected a number of lowest bits, 2 ** n - 1")
        return Index(self.expr % count)

    __rand__ = __and__

    def __rfloordiv__(self, other: Any) -> Index:
        return Index(_expression(other, "//") // divisor_of(self, "//"))

    def __rmod__(self, other: Any) -> Index:
        return Index(_expression(other, "%") % divisor_of(self, "%"))


class Index(IndexTerm):
    """A symbolic index, to trace a function of indices. Any operation other than index arithmetic raises
    ScheduleError."""

    __slots__ = ("_expr",)

    def __init__(self, expr: AffineExpr):
        self._expr = expr

    @property
    def expr(self) -> AffineExpr:
        return self._expr

    def _refuse(self, *_: object) -> NoReturn:
        known = "sums, and //, %, *, <<, >> and & by numbers, of the indices"
        raise ScheduleError(f"index map: expected {known}; got something else")

    __bool__ = __int__ = __index__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __hash__ = _refuse  # pyright: ignore[reportAssignmentType]
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __abs__ = _refuse
    __or__ = __xor__ = __ror__ = __rxor__ = _refuse


def _expression(value: object, operator: str) -> AffineExpr:
    if isinstance(value, IndexTerm):
        return value.expr
    if isinstance(value, int) and not isinstance(value, bool):
        return AffineExpr.constant(value)
    raise ScheduleError(f"index map: {value!r} beside {operator}, expected an index or an integer")


def _bits(value: object, operator: str) -> int:
    """The number after an operator on bits. ScheduleError unless it is an integer that is not negative."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ScheduleError(f"index map: {value!r} beside {operator}, expected an integer that is not negative")


def divisor_of(value: object, operator: str) -> AffineExpr:
    """The expression of a divisor: a positive integer, or arithmetic on parameters. ScheduleError for another."""
    expr = value.expr if isinstance(value, IndexTerm) else None
    if isinstance(value, int) and not isinstance(value, bool):
        expr = AffineExpr.constant(value)
    if expr is not None and is_divisor(expr):
        return expr
    got = "an index" if isinstance(value, Index) else repr(value)
    raise ScheduleError(f"index map: {got} behind {operator}, expected a positive integer")


def is_divisor(expr: AffineExpr) -> bool:
    """Whether an expression contains no index, and is positive if it is a number."""
    if isinstance(expr, AffineBinaryOpExpr):
        return not expr.used_dims()
    return expr.value > 0 if isinstance(expr, AffineConstantExpr) else not expr.used_dims()
