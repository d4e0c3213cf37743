"""Patterns of programs, and rewrites of the places where they match: `tvm.relax.dpl`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import OptionError
from ....operators.relax.spelling import all_words
from ..absent import report_absent
from ..pattern_graphs import PatternContext, PatternSeq
from ..patterns import (
    AltPattern,
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    FunctionPattern,
    Matches,
    NotPattern,
    OpPattern,
    ShapePattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
    has_attr,
    has_dtype,
    has_shape,
    is_expr,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from .calls import PREFIX
from .expr import DataflowVar, Expr, ExternFunc, GlobalVar, ShapeExpr
from .pattern_rewrites import (
    ExprPatternRewriter,
    OrRewriter,
    PatternMatchingRewriter,
    rewrite_bindings,
    rewrite_call,
)

__getattr__ = report_absent("tvm.relax.dpl")

_CALLS = ("call_dps_packed", "call_pure_packed", "call_tir", "shape_of")


OrPattern = AltPattern
"""The name of the pattern of `a | b` in relax."""


class _KindPattern(DFPattern):
    """Expressions that fulfil a condition. is_variable: whether they are variables."""

    def __init__(self, condition: Callable[[Any], bool], is_variable: bool = False):
        self.condition = condition
        self.denotes_variable = is_variable

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if self.condition(expr) else None


def is_op(op_name: str) -> OpPattern:
    """An operator, `relax.nn.relu`. OptionError for an unknown name."""
    word = op_name.removeprefix(PREFIX)
    if word not in (*all_words(), *_CALLS):
        raise OptionError(f"is_op: no operator {op_name!r}")
    return OpPattern(word)


def is_const() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_dfv(name: str = "") -> _KindPattern:
    """A variable of a dataflow block, of a name or of any."""
    return _KindPattern(lambda expr: isinstance(expr, DataflowVar) and name in ("", expr.name_hint), is_variable=True)


def is_gv(name: str = "") -> _KindPattern:
    """A function of the module, of a name or of any."""
    return _KindPattern(lambda expr: isinstance(expr, GlobalVar) and name in ("", expr.name_hint))


DataflowVarPattern, GlobalVarPattern = is_dfv, is_gv
"""The names of the patterns' classes."""


def is_tuple(
    fields: Sequence[DFPattern] | None = None, unordered: bool = False
) -> TuplePattern | UnorderedTuplePattern:
    """A tuple. fields: the patterns of its fields; None for any.  unordered: whether the fields may be in any order."""
    return UnorderedTuplePattern(fields) if unordered and fields is not None else TuplePattern(fields)


def reject(pattern: DFPattern) -> NotPattern:
    """The expressions that a pattern does not match."""
    return NotPattern(pattern)


def is_shape(shape: Sequence[Any]) -> _KindPattern:
    """A shape of given sizes."""
    return _KindPattern(lambda expr: isinstance(expr, ShapeExpr) and expr.sizes == list(shape))


PrimArrPattern = is_shape
"""The name of the pattern's class."""


def ExternFuncPattern(global_symbol: str) -> _KindPattern:
    """A packed function, by its name."""
    return _KindPattern(lambda expr: isinstance(expr, ExternFunc) and expr.global_symbol == global_symbol)


def is_call_tir(func_name: str, args: Sequence[DFPattern] | TuplePattern | None = None) -> CallPattern:
    """A call of a kernel of the module, by its name. args: the patterns of its tensors; None for any."""
    return CallPattern(is_op("relax.call_tir"), [is_gv(func_name), _tuple(args)], varg_default_wildcard=True)


def is_call_dps_packed(func_name: str, args: Sequence[DFPattern] | TuplePattern | None = None) -> CallPattern:
    """A call of a packed function in destination-passing style, by its name. args: as of `is_call_tir`."""
    return CallPattern(is_op("relax.call_dps_packed"), [ExternFuncPattern(func_name), _tuple(args)])


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """A call of a packed function, by its name. args: the patterns of its arguments; None for any."""
    return CallPattern(ExternFuncPattern(func_name), None) if args is None else ExternFuncPattern(func_name)(*args)


def _tuple(args: Sequence[DFPattern] | TuplePattern | None) -> TuplePattern:
    return args if isinstance(args, TuplePattern) else TuplePattern(args)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """An operator of two operands, then the sum with a bias, then an operator of one operand."""
    pattern: DFPattern = is_op(op_name)(wildcard(), wildcard())
    pattern = is_op("relax.add")(pattern, wildcard()) if with_bias else pattern
    return pattern if activation is None else is_op(activation)(pattern)


def matched_exprs(pattern: DFPattern, expr: Expr) -> Matches | None:
    """The expression that each part of a pattern has matched in an expression; None if it does not match."""
    return pattern.find(expr, {})


extract_matched_expr = matched_exprs

__all__ = [
    "AltPattern", "AndPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DataTypePattern",
    "DataflowVarPattern", "ExprPattern", "ExprPatternRewriter", "ExternFuncPattern", "FunctionPattern",
    "GlobalVarPattern", "NotPattern", "OrPattern", "OrRewriter", "PatternContext", "PatternMatchingRewriter",
    "PatternSeq", "PrimArrPattern", "ShapePattern", "StructInfoPattern", "TupleGetItemPattern", "TuplePattern",
    "TypePattern", "UnorderedTuplePattern", "VarPattern", "WildcardPattern", "extract_matched_expr", "has_attr",
    "has_dtype", "has_shape", "is_call_dps_packed", "is_call_packed", "is_call_tir", "is_const", "is_dfv", "is_expr",
    "is_gv", "is_op", "is_shape", "is_tuple", "is_tuple_get_item", "is_var", "make_fused_bias_activation_pattern",
    "matched_exprs", "reject", "rewrite_bindings", "rewrite_call", "wildcard",
]  # fmt: skip
