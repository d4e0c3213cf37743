"""Patterns of expressions, and rewrites of all places where they match: `tvm.relay.dataflow_pattern`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core.errors import OptionError
from ....operators import OPERATORS
from ...relay.expr import Call, Constant, Expr, Number, Tuple, TupleGetItem, Var
from ...relay.functor import ExprMutator
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.dataflow_pattern")

Matches = dict["DFPattern", Any]
"""The expression that each pattern has matched."""
_COMMUTATIVE = ("add", "multiply")


class DFPattern:
    """A pattern of expressions. Operators of Python and calls build larger ones: `is_op("add")(wildcard(), a * b)`."""

    def __call__(self, *args: DFPattern | Sequence[DFPattern] | None) -> CallPattern:
        """Calls whose operator the pattern matches. args: the patterns of the operands; None alone for any operands."""
        if args == (None,):
            return CallPattern(self, None)
        only = args[0] if len(args) == 1 else args
        return CallPattern(self, only if isinstance(only, list | tuple) else args)  # pyright: ignore[reportArgumentType]

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """The expressions of the pattern that have attributes of these values."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Any) -> TypePattern:
        """The expressions of the pattern that have a type."""
        return TypePattern(self, lambda found: found == ttype)

    def has_dtype(self, dtype: str) -> TypePattern:
        """The expressions of the pattern whose elements have a data type."""
        return TypePattern(self, lambda found: getattr(found, "dtype", None) == dtype)

    def has_shape(self, shape: Sequence[Any]) -> TypePattern:
        """The expressions of the pattern that have a shape."""
        return TypePattern(self, lambda found: list(getattr(found, "shape", ())) == list(shape))

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """The expressions of the pattern, or of the pattern that `option_constructor` builds from it."""
        return AltPattern(option_constructor(self), self)

    def match(self, expr: Expr) -> bool:
        """Whether the pattern matches an expression."""
        return match(self, expr)

    def rewrite(self, callback: DFPatternCallback, expr: Expr) -> Expr:
        """The expression with `callback` applied, as `rewrite` does."""
        return rewrite(callback, expr)

    def find(self, expr: Any, known: Matches) -> Matches | None:
        """The matches with those of this pattern in an expression or operator; None if it does not match.

        known: of other parts of the whole pattern; a pattern matches the same expression wherever it occurs.
        """
        if self in known:
            return known if known[self] is expr else None
        found = self.attempt(expr, known)
        return None if found is None else {**found, self: expr}

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        """As `find`, for a pattern that has matched nothing yet."""
        raise NotImplementedError


class WildcardPattern(DFPattern):
    """Any expression."""

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, Expr) else None


class VarPattern(DFPattern):
    """A variable. name: its name, or empty for any."""

    def __init__(self, name: str = ""):
        self.name = name

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, Var) and self.name in ("", expr.name_hint) else None


class ConstantPattern(DFPattern):
    """A constant."""

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, Constant | Number) else None


class OpPattern(DFPattern):
    """An operator, by its name."""

    def __init__(self, name: str):
        self.name = name

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if not isinstance(expr, Expr) and getattr(expr, "name", None) == self.name else None


class ExprPattern(DFPattern):
    """Only a given expression, by identity."""

    def __init__(self, expr: Expr):
        self.expr = expr

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if expr is self.expr else None


class CallPattern(DFPattern):
    """A call. op: the pattern of the operator.  args: the patterns of the operands, in either order for a sum or a
    product; None for any operands.
    """

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None):
        self.op = op
        self.args = None if args is None else list(args)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, Call):
            return None
        found = self.op.find(expr.op, known)
        if found is None or self.args is None:
            return found
        matched = _find_all(self.args, expr.args, found)
        if matched is None and getattr(expr.op, "name", None) in _COMMUTATIVE:
            return _find_all(self.args, expr.args[::-1], found)
        return matched


class TuplePattern(DFPattern):
    """A tuple. fields: the patterns of its fields; None for any."""

    def __init__(self, fields: Sequence[DFPattern] | None):
        self.fields = None if fields is None else list(fields)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, Tuple):
            return None
        return known if self.fields is None else _find_all(self.fields, expr.fields, known)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple. index: None for any."""

    def __init__(self, tuple_value: DFPattern, index: int | None):
        self.tuple_value = tuple_value
        self.index = index

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, TupleGetItem) or self.index not in (None, expr.index):
            return None
        return self.tuple_value.find(expr.tuple_value, known)


class AltPattern(DFPattern):
    """The expressions of either of two patterns; the first pattern has precedence."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left = left
        self.right = right

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        found = self.left.find(expr, known)
        return self.right.find(expr, known) if found is None else found


class AttrPattern(DFPattern):
    """A call with attributes of given values."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]):
        self.pattern = pattern
        self.attrs = dict(attrs)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, Call) or not all(_has(expr.attrs, *each) for each in self.attrs.items()):
            return None
        return self.pattern.find(expr, known)


class TypePattern(DFPattern):
    """An expression with a type that fulfils a condition. OptionError for an expression whose type is not known."""

    def __init__(self, pattern: DFPattern, condition: Callable[[Any], bool]):
        self.pattern = pattern
        self.condition = condition

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        found = self.pattern.find(expr, known)
        return found if found is not None and self.condition(expr.checked_type) else None


def _find_all(patterns: Sequence[DFPattern], exprs: Sequence[Any], known: Matches) -> Matches | None:
    if len(patterns) != len(exprs):
        return None
    found: Matches | None = known
    for pattern, expr in zip(patterns, exprs, strict=True):
        found = None if found is None else pattern.find(expr, found)
    return found


def _has(attrs: Mapping[str, Any], name: str, value: Any) -> bool:
    def plain(each: Any) -> Any:
        return [plain(part) for part in each] if isinstance(each, list | tuple) else each  # pyright: ignore[reportUnknownVariableType]

    return name in attrs and plain(attrs[name]) == plain(value)


# Constructors


def wildcard() -> WildcardPattern:
    """Any expression."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable, of a name or of any."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Expr) -> ExprPattern:
    """Only a given expression, by identity."""
    return ExprPattern(expr)


def is_op(op_name: str) -> OpPattern:
    """An operator. OptionError for an unknown name."""
    if op_name not in OPERATORS:
        raise OptionError(f"is_op: no operator {op_name!r}")
    return OpPattern(op_name)


def is_tuple(fields: Sequence[DFPattern] | None = None) -> TuplePattern:
    """A tuple. fields: the patterns of its fields; None for any."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple. index: None for any."""
    return TupleGetItemPattern(tuple_value, index)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """The expressions of a pattern, by default all, that have attributes of these values."""
    return (pattern or wildcard()).has_attr(attrs)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> TypePattern:
    """The expressions of a pattern, by default all, whose elements have a data type."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> TypePattern:
    """The expressions of a pattern, by default all, that have a shape."""
    return (pattern or wildcard()).has_shape(shape)


def has_type(ttype: Any, pattern: DFPattern | None = None) -> TypePattern:
    """The expressions of a pattern, by default all, that have a type."""
    return (pattern or wildcard()).has_type(ttype)


# Uses


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Whether a pattern matches an expression."""
    return pattern.find(expr, {}) is not None


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
    "ExprPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "rewrite",
    "wildcard",
]
