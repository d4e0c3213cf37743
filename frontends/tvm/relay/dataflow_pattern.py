"""Patterns of expressions, and rewrites of all places where they match: `tvm.relay.dataflow_pattern`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core.errors import OptionError
from ....operators import OPERATORS
from ...relay.expr import Expr
from ...relay.functor import ExprMutator
from ..absent import report_absent
from ..patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    OpPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)

__getattr__ = report_absent("tvm.relay.dataflow_pattern")


def is_op(op_name: str) -> OpPattern:
    """An operator. OptionError for an unknown name."""
    if op_name not in OPERATORS:
        raise OptionError(f"is_op: no operator {op_name!r}")
    return OpPattern(op_name)


# Uses


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Whether a pattern matches an expression."""
    return pattern.find(expr, {}) is not None


def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Expr], bool] = lambda expr: True,
) -> Expr:
    """As `pattern.partition(expr, attrs, check)`."""
    return pattern.partition(expr, attrs, check)


class DFPatternCallback:
    """A rewrite of expressions: subclasses set `pattern`, and override `callback`. rewrite_once: whether each place is
    rewritten once, and not until the pattern matches nothing.
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        """require_type: whether `callback` needs the types of expressions, which those read from a module have."""
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Expr) -> Expr:
        """The expression with this callback applied, as `rewrite` does."""
        return rewrite(self, expr)

    def callback(self, pre: Expr, post: Expr, node_map: Mapping[DFPattern, list[Any]]) -> Expr:
        """The expression for one that the pattern matches. pre: before the rewrites of its operands.  post: after them.
        node_map: the expression that each part of the pattern has matched, as a list of one.
        """
        raise NotImplementedError


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Expr, mod: object = None) -> Expr:
    """The expression with every place that a pattern matches rewritten by its callback, operands first, again until
    nothing changes. mod: ignored. OptionError for rewrites without end.
    """
    del mod
    several = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for _ in range(_MOST_ROUNDS):
        before = expr
        for callback in several:
            rewriter = _Rewriter(callback)
            expr = rewriter.visit(expr)
        if expr is before or all(callback.rewrite_once for callback in several):
            return expr
    raise OptionError(f"rewrite: the patterns still match after {_MOST_ROUNDS} rounds")


_MOST_ROUNDS = 100


class _Rewriter(ExprMutator):
    def __init__(self, callback: DFPatternCallback):
        super().__init__()
        self.callback = callback

    def visit(self, expr: Any) -> Any:
        if expr in self.memo_map or not isinstance(expr, Expr):
            return super().visit(expr)
        post = super().visit(expr)
        found = self.callback.pattern.find(post, {})
        if found is not None:
            self.memo_map[expr] = self.callback.callback(expr, post, {each: [node] for each, node in found.items()})
        return self.memo_map.get(expr, post)


__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]
