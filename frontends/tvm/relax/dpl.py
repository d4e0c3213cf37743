"""Patterns of programs, and rewrites of the places where they match: `tvm.relax.dpl`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core.errors import OptionError
from ....operators.relax.spelling import all_words
from ..absent import report_absent
from ..patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    ExprPattern,
    Matches,
    OpPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    has_attr,
    has_dtype,
    has_shape,
    is_expr,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from .bindings import VarBinding
from .calls import PREFIX
from .expr import Call, Constant, DataflowVar, Expr, ExternFunc, GlobalVar, ShapeExpr, Var
from .expr_functor import PyExprMutator
from .function import Function

__getattr__ = report_absent("tvm.relax.dpl")

_CALLS = ("call_dps_packed", "call_pure_packed", "call_tir", "shape_of")


class _KindPattern(DFPattern):
    """Expressions that fulfil a condition."""

    def __init__(self, condition: Callable[[Any], bool]):
        self.condition = condition

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
    return _KindPattern(lambda expr: isinstance(expr, DataflowVar) and name in ("", expr.name_hint))


def is_gv(name: str = "") -> _KindPattern:
    """A function of the module, of a name or of any."""
    return _KindPattern(lambda expr: isinstance(expr, GlobalVar) and name in ("", expr.name_hint))


GlobalVarPattern = is_gv
"""The name of the pattern's class."""


def is_shape(shape: Sequence[Any]) -> _KindPattern:
    """A shape of given sizes."""
    return _KindPattern(lambda expr: isinstance(expr, ShapeExpr) and expr.values == list(shape))


def _is_function(name: str) -> _KindPattern:
    return _KindPattern(lambda expr: isinstance(expr, ExternFunc) and expr.global_symbol == name)


def is_call_tir(func_name: str, args: Sequence[DFPattern] | TuplePattern | None = None) -> CallPattern:
    """A call of a kernel of the module, by its name. args: the patterns of its tensors; None for any."""
    return is_op("relax.call_tir")(is_gv(func_name), _tuple(args))


def is_call_dps_packed(func_name: str, args: Sequence[DFPattern] | TuplePattern | None = None) -> CallPattern:
    """A call of a packed function in destination-passing style, by its name. args: as of `is_call_tir`."""
    return is_op("relax.call_dps_packed")(_is_function(func_name), _tuple(args))


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """A call of a packed function, by its name. args: the patterns of its arguments; None for any."""
    return CallPattern(_is_function(func_name), args)


def _tuple(args: Sequence[DFPattern] | TuplePattern | None) -> TuplePattern:
    return args if isinstance(args, TuplePattern) else TuplePattern(args)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """An operator of two operands, then the sum with a bias, then an operator of one operand."""
    pattern: DFPattern = is_op(op_name)(wildcard(), wildcard())
    pattern = is_op("relax.add")(pattern, wildcard()) if with_bias else pattern
    return pattern if activation is None else is_op(activation)(pattern)


# Rewrites


def matched_exprs(pattern: DFPattern, expr: Expr) -> Matches | None:
    """The expression that each part of a pattern has matched in an expression; None if it does not match."""
    return pattern.find(expr, {})


extract_matched_expr = matched_exprs


def rewrite_call(
    pattern: DFPattern, rewriter: Callable[[Call, Mapping[DFPattern, Expr]], Expr], func: Function
) -> Function:
    """The function with each value that a pattern matches replaced by the result of a function of the value and the
    matches; again until nothing changes. OptionError for rewrites without end."""
    for _ in range(_MOST_ROUNDS):
        rewrite = _CallRewriter(pattern, rewriter)
        func = rewrite.visit_expr(func)
        if not rewrite.has_changed:
            return func
    raise OptionError(f"rewrite_call: the pattern still matches after {_MOST_ROUNDS} rounds")


_MOST_ROUNDS = 100


class _CallRewriter(PyExprMutator):
    def __init__(self, pattern: DFPattern, rewriter: Callable[[Call, Mapping[DFPattern, Expr]], Expr]):
        super().__init__()
        self.pattern, self.rewriter = pattern, rewriter
        self.has_changed = False

    def visit_var_binding_(self, binding: VarBinding) -> None:
        found = None if isinstance(binding.value, Var | Constant) else self.pattern.find(binding.value, {})
        new = binding.value if found is None else self.rewriter(binding.value, found)  # pyright: ignore[reportArgumentType]
        if new is binding.value:
            super().visit_var_binding_(binding)
            return
        self.has_changed = True
        var = self.with_struct_info(self.visit_var_def(binding.var), self.builder_.type_of(new))
        self.set_var_remap(binding.var, var)
        self.builder_.emit_normalized(VarBinding(var, self.visit_expr(new)))


__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "ExprPattern", "GlobalVarPattern",
    "TupleGetItemPattern", "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern", "extract_matched_expr",
    "has_attr", "has_dtype", "has_shape", "is_call_dps_packed", "is_call_packed", "is_call_tir", "is_const", "is_dfv",
    "is_expr", "is_gv", "is_op", "is_shape", "is_tuple", "is_tuple_get_item", "is_var",
    "make_fused_bias_activation_pattern", "matched_exprs", "rewrite_call", "wildcard",
]  # fmt: skip
