"""Integer expressions in int64, in which arithmetic of narrower numbers does not overflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....core.dtypes import int_fits, int_range
from ....expressions.axes import Range
from ....expressions.expr import (
    And,
    BinaryOp,
    Call,
    Cast,
    CmpOp,
    IfThenElse,
    IntImm,
    Not,
    PrimExpr,
    Select,
    SizeVar,
    Var,
    cast,
)
from ....expressions.rewrite import ExpressionRewriter

WIDE = "int64"


class Widening(ExpressionRewriter):
    """Rewrites expressions to int64: variables, constants, arithmetic, comparisons and selections.

    Other nodes, such as elements of buffers, calls, and numbers that are no signed integers, become variables. ranges:
    the ranges of variables, which a new variable for them does not need again.
    """

    def __init__(self, ranges: Mapping[Var, Range]):
        super().__init__({})
        self._has_range = set(ranges)
        self.leaves: dict[Var, PrimExpr] = {}
        self._text: dict[str, Var] = {}

    def variable(self, var: Var) -> Var:
        """The wide variable of a variable."""
        result = self.expr(var)
        assert isinstance(result, Var)
        return result

    def range(self, interval: Range) -> Range:
        """The interval in int64."""
        low, extent = (cast(WIDE, self.expr(each)) for each in (interval.min, interval.extent))
        return Range(low, extent)

    def ranges_of_leaves(self) -> Iterator[tuple[Var, Range]]:
        """The variables for numbers of narrower types that have no range, with the range of their type."""
        for variable, leaf in self.leaves.items():
            kind = leaf.data_type
            if variable.dtype == WIDE and kind.bits < 64 and not (isinstance(leaf, Var) and leaf in self._has_range):
                low, high = (0, int_range(kind)[1]) if isinstance(leaf, SizeVar) else int_range(kind)
                yield variable, Range(IntImm(WIDE, low), IntImm(WIDE, high - low + 1))

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        kind = expr.data_type
        is_integer = kind.kind == "int" and kind.lanes == 1
        match expr:
            case IntImm() if is_integer:
                return IntImm(WIDE, expr.value)
            case IntImm():
                return expr
            case Cast() if is_integer and _is_integer(expr.value) and kind.bits >= expr.value.data_type.bits:
                return children[0]
            case CmpOp() if not _is_integer(expr.a):
                return self._leaf(expr)
            case Call(op="likely"):
                return children[0]
            case Call(op="and" | "or" | "xor") if is_integer or kind.is_bool:
                return Call(WIDE if is_integer else expr.dtype, expr.op, children)
            case BinaryOp() | Select() if is_integer or kind.is_bool:
                return expr.with_children(children)
            case IfThenElse() if is_integer or kind.is_bool:
                condition, true_value, false_value = children
                return IfThenElse(condition, true_value, false_value)
            case And() | Not():
                return expr.with_children(children)
            case _:
                return self._leaf(expr)

    def _leaf(self, expr: PrimExpr) -> PrimExpr:
        """The variable of a node; equal nodes but variables have one."""
        kind = expr.data_type
        dtype = WIDE if kind.kind == "int" and kind.lanes == 1 else expr.dtype
        if isinstance(expr, Var):
            variable = SizeVar(expr.name, dtype) if isinstance(expr, SizeVar) else Var(expr.name, dtype)
        else:
            known = self._text.get(repr(expr))
            variable = Var(f"leaf_{len(self.leaves)}", dtype) if known is None else known
            self._text[repr(expr)] = variable
        self.leaves[variable] = expr
        return variable

    def narrowed(self, wide: PrimExpr, original: PrimExpr) -> PrimExpr | None:
        """A wide expression in the types of the original one; None for a constant that does not fit them."""
        dtype = original.dtype
        kinds = [leaf.dtype for leaf in self.leaves.values() if leaf.data_type.kind == "int"]
        narrow = dtype if original.data_type.kind == "int" else max(kinds, key=_bits, default="int32")
        try:
            return _Narrowing(narrow, self.leaves).result(wide, dtype)
        except _DoesNotFit:
            return None


def _bits(dtype: str) -> int:
    return int(dtype.removeprefix("int"))


def _is_integer(expr: PrimExpr) -> bool:
    return expr.data_type.kind == "int" and expr.data_type.lanes == 1


class _DoesNotFit(Exception):
    """A constant of a wide expression does not fit the narrow type."""


class _Narrowing(ExpressionRewriter):
    """Rewrites wide expressions to a narrower type."""

    def __init__(self, dtype: str, leaves: Mapping[Var, PrimExpr]):
        super().__init__({})
        self._dtype = dtype
        self.leaves = leaves

    def result(self, expr: PrimExpr, dtype: str) -> PrimExpr:
        found = self.expr(expr)
        return found if found.dtype == dtype else cast(dtype, found)

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        match expr:
            case Var() if expr in self.leaves:
                leaf = self.leaves[expr]
                return cast(self._dtype, leaf) if leaf.data_type.kind == "int" else leaf
            case IntImm() if expr.dtype == WIDE:
                if not int_fits(expr.value, IntImm(self._dtype, 0).data_type):
                    raise _DoesNotFit
                return IntImm(self._dtype, expr.value)
            case Cast() if expr.dtype == WIDE and not children[0].data_type.is_bool:
                return children[0]
            case Call() if expr.dtype == WIDE:
                return Call(self._dtype, expr.op, children)
            case _:
                return super().rebuild(expr, children)


__all__ = ["Widening"]
