"""Patterns of expressions of relay and of relax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..relay import expr as relay
from .relax import expr as relax

Matches = dict["DFPattern", Any]
"""The expression that each pattern has matched."""
_COMMUTATIVE = ("add", "multiply")
_PREFIX = "relax."
_EXPRS = (relay.Expr, relax.Expr)
_VARS = (relay.Var, relax.Var)
_CONSTANTS = (relay.Constant, relay.Number, relax.Constant)
_CALLS = (relay.Call, relax.Call)
_TUPLES = (relay.Tuple, relax.Tuple)
_FIELDS = (relay.TupleGetItem, relax.TupleGetItem)


def _name_of(op: Any) -> str | None:
    """The name of an operator without the prefix of relax, None for other values."""
    name = getattr(op, "name", None)
    return name.removeprefix(_PREFIX) if isinstance(name, str) else None


def _type_of(expr: Any) -> Any:
    return expr.struct_info if isinstance(expr, relax.Expr) else expr.checked_type


def _values_of(expr: Any) -> list[Any]:
    """The expression that a variable of relax denotes, in a list; empty for a parameter and for other expressions."""
    value = expr.bound_value if isinstance(expr, relax.Var) else None
    return [] if value is None else [value]


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
        return OpPattern("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return OpPattern("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return OpPattern("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return OpPattern("divide")(self, other)

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

    def match(self, expr: Any) -> bool:
        """Whether the pattern matches an expression."""
        return self.find(expr, {}) is not None

    def rewrite(self, callback: Any, expr: Any) -> Any:
        """The expression with a `DFPatternCallback` applied."""
        return callback.rewrite(expr)

    def find(self, expr: Any, known: Matches) -> Matches | None:
        """The matches with those of this pattern in an expression or operator; None if it does not match.

        known: of other parts of the whole pattern; a pattern matches the same expression wherever it occurs.
        """
        for each in (expr, *_values_of(expr)):
            if self in known:
                if known[self] is each:
                    return known
                continue
            found = self.attempt(each, known)
            if found is not None:
                return {**found, self: each}
        return None

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        """As `find`, for a pattern that has matched nothing yet."""
        raise NotImplementedError


class WildcardPattern(DFPattern):
    """Any expression."""

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _EXPRS) else None


class VarPattern(DFPattern):
    """A variable. name: its name, or empty for any."""

    def __init__(self, name: str = ""):
        self.name = name

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _VARS) and self.name in ("", expr.name_hint) else None


class ConstantPattern(DFPattern):
    """A constant."""

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _CONSTANTS) else None


class OpPattern(DFPattern):
    """An operator, by its name, with or without the prefix `relax.`."""

    def __init__(self, name: str):
        self.name = name.removeprefix(_PREFIX)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if not isinstance(expr, _EXPRS) and _name_of(expr) == self.name else None


class ExprPattern(DFPattern):
    """Only a given expression, by identity."""

    def __init__(self, expr: Any):
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
        if not isinstance(expr, _CALLS):
            return None
        found = self.op.find(expr.op, known)
        if found is None or self.args is None:
            return found
        matched = _find_all(self.args, expr.args, found)
        if matched is None and _name_of(expr.op) in _COMMUTATIVE:
            return _find_all(self.args, expr.args[::-1], found)
        return matched


class TuplePattern(DFPattern):
    """A tuple. fields: the patterns of its fields; None for any."""

    def __init__(self, fields: Sequence[DFPattern] | None):
        self.fields = None if fields is None else list(fields)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _TUPLES):
            return None
        return known if self.fields is None else _find_all(self.fields, expr.fields, known)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple. index: None for any."""

    def __init__(self, tuple_value: DFPattern, index: int | None):
        self.tuple_value = tuple_value
        self.index = index

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _FIELDS) or self.index not in (None, expr.index):
            return None
        return self.tuple_value.find(expr.tuple_value, known)


class IfPattern(DFPattern):
    """A conditional expression, by the patterns of its parts."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.parts = [cond, true_branch, false_branch]

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, relay.If):
            return None
        return _find_all(self.parts, [expr.cond, expr.true_branch, expr.false_branch], known)


class LetPattern(DFPattern):
    """A binding, by the patterns of the variable, the value and the body."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.parts = [var, value, body]

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return _find_all(self.parts, [expr.var, expr.value, expr.body], known) if isinstance(expr, relay.Let) else None


class FunctionPattern(DFPattern):
    """A function. params: the patterns of its parameters, None for any.  body: the pattern of its body."""

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern):
        self.params = None if params is None else list(params)
        self.body = body

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, relay.Function):
            return None
        found = known if self.params is None else _find_all(self.params, expr.params, known)
        return None if found is None else self.body.find(expr.body, found)


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
        if not isinstance(expr, _CALLS) or not all(_has(expr.attrs, *each) for each in self.attrs.items()):
            return None
        return self.pattern.find(expr, known)


class TypePattern(DFPattern):
    """An expression with a type that fulfils a condition. OptionError for an expression whose type is not known."""

    def __init__(self, pattern: DFPattern, condition: Callable[[Any], bool]):
        self.pattern = pattern
        self.condition = condition

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        found = self.pattern.find(expr, known)
        return found if found is not None and self.condition(_type_of(expr)) else None


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


def is_expr(expr: Any) -> ExprPattern:
    """Only a given expression, by identity."""
    return ExprPattern(expr)


def is_tuple(fields: Sequence[DFPattern] | None = None) -> TuplePattern:
    """A tuple. fields: the patterns of its fields; None for any."""
    return TuplePattern(fields)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A conditional expression, by the patterns of its parts."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A binding, by the patterns of the variable, the value and the body."""
    return LetPattern(var, value, body)


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
