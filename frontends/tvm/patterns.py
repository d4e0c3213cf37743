"""Patterns of expressions of relay and of relax."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from ...operators import Operator
from ..relay import expr as relay
from .pattern_graphs import ANY, PatternSeq, connect, demand_same_shape
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
    """The type of an expression, None for an expression of relay whose free variables have no types."""
    if isinstance(expr, relax.Expr):
        return expr.struct_info
    if expr.known_type is not None:
        return expr.known_type
    # lazy: tvm.ir imports the patterns
    from .relay.types import type_of

    return type_of(expr)


def _values_of(expr: Any) -> list[Any]:
    """The expression that a variable of relax denotes, in a list; empty for a parameter and for other expressions."""
    value = expr.bound_value if isinstance(expr, relax.Var) else None
    return [] if value is None else [value]


class DFPattern:
    """A pattern of expressions. Operators of Python and calls build larger ones: `is_op("add")(wildcard(), a * b)`."""

    denotes_variable = True
    """Whether a variable of relax may match: a constant, a shape and a function are written where they are used."""

    def __call__(
        self,
        *args: DFPattern | Sequence[DFPattern] | None,
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ) -> CallPattern:
        """Calls whose operator the pattern matches.

        args: the patterns of the operands; None alone for any operands.  varg_default_wildcard: whether a call may have
        further operands.  add_constraint: whether the call's use of its operands is a demand of a `PatternContext`.
        """
        if args == (None,):
            return CallPattern(self, None)
        only = args[0] if len(args) == 1 else args
        call = CallPattern(self, only if isinstance(only, list | tuple) else args, varg_default_wildcard)  # pyright: ignore[reportArgumentType]
        if add_constraint:
            call.connect_operands()
        return call

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

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
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """The expressions of the pattern whose elements have a data type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """The expressions of the pattern that have a shape."""
        return ShapePattern(self, shape)

    def has_struct_info(self, struct_info: Any) -> StructInfoPattern:
        """The expressions of the pattern with a type of relax that has the parts which a type states."""
        return StructInfoPattern(self, struct_info)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """As the function `dominates`, with this pattern as the child."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def partition(
        self, expr: Any, attrs: Mapping[str, Any] | None = None, check: Callable[[Any], bool] = lambda expr: True
    ) -> Any:
        """The expression of relay with the operators of each match in a function of their own, which is called there.

        attrs: attributes of the functions.  check: whether a match becomes a function.
        """
        # lazy: relay imports the patterns
        from .relay.partitioning import partition

        return partition(self, expr, attrs or {}, check)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """The expressions of the pattern, or of the pattern that `option_constructor` builds from it."""
        return AltPattern(option_constructor(self), self)

    def used_by(self, other: DFPattern | PatternSeq, index: int = ANY) -> PatternSeq:
        """The chain of this pattern and another one, which uses its value, of a `PatternContext`. index: as which
        operand."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = ANY) -> PatternSeq:
        """As `used_by`, where no other value of the block uses the value."""
        return PatternSeq([self]).only_used_by(other, index)

    __xor__ = used_by
    __rshift__ = only_used_by

    def fork_to(self, *others: DFPattern | PatternSeq) -> None:
        """Demands of a `PatternContext` that each of others uses the value."""
        PatternSeq([self]).fork_to(*others)

    def same_shape_as(self, *others: DFPattern) -> None:
        """Demands of a `PatternContext` that the values have equal shapes. ArgumentError outside of one."""
        demand_same_shape([self, *others])

    def dup(self) -> DFPattern:
        """A new pattern with the same meaning, whose parts are new, too."""
        return _duplicate(self, {})

    def extract_matched_expr(self, expr: Any) -> Matches | None:
        """The expression that each part of the pattern has matched in an expression; None if it does not match."""
        return self.find(expr, {})

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
    """Any expression or operator."""

    _target: DFPattern | None = None

    def redirect_to(self, pattern: DFPattern) -> None:
        """Makes this pattern another one, which may contain this pattern."""
        self._target = pattern

    def find(self, expr: Any, known: Matches) -> Matches | None:
        if self._target is None:
            return super().find(expr, known)
        found = self._target.find(expr, {})  # of a recursive pattern, each instance matches an expression of its own
        return None if found is None else known

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _EXPRS) or _name_of(expr) is not None else None


class VarPattern(DFPattern):
    """A variable. name: its name, or empty for any."""

    def __init__(self, name: str = ""):
        self.name = name

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _VARS) and self.name in ("", expr.name_hint) else None


class ConstantPattern(DFPattern):
    """A constant."""

    denotes_variable = False

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if isinstance(expr, _CONSTANTS) else None


class OpPattern(DFPattern):
    """An operator, by its name, with or without the prefix `relax.`."""

    def __init__(self, name: str):
        self.name = name.removeprefix(_PREFIX)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if not isinstance(expr, _EXPRS) and _name_of(expr) == self.name else None


class ExprPattern(DFPattern):
    """Only a given expression, or a constant of the same value."""

    def __init__(self, expr: Any):
        self.expr = expr

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return known if expr is self.expr or _is_same_constant(expr, self.expr) else None


def _is_same_constant(first: Any, second: Any) -> bool:
    one, other = _array_of(first), _array_of(second)
    return one is not None and other is not None and one.dtype == other.dtype and np.array_equal(one, other)


def _array_of(expr: Any) -> np.ndarray[Any, Any] | None:
    """The value of a constant, None for another expression."""
    match expr:
        case relay.Constant():
            return expr.array
        case relax.Constant():
            return expr.data
        case _:
            return None


class CallPattern(DFPattern):
    """A call. op: the pattern of the operator.  args: the patterns of the operands, in either order for a sum or a
    product; None for any operands.
    """

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None, varg_default_wildcard: bool = False):
        """varg_default_wildcard: whether a call may have further operands."""
        self.op = op
        self.args = None if args is None else list(args)
        self.is_prefix = varg_default_wildcard

    def connect_operands(self) -> None:
        """Adds the demands of a `PatternContext` that the call uses its operands."""
        for n, arg in enumerate(self.args or ()):
            if isinstance(arg, TuplePattern):
                for field in arg.fields or ():
                    connect(field, self)
            elif arg.denotes_variable:
                connect(arg, self, n)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _CALLS):
            return None
        found = self.op.find(expr.op, known)
        if found is None or self.args is None:
            return found
        if self.is_prefix:
            return _find_all(self.args, expr.args[: len(self.args)], found)
        matched = _find_all(self.args, expr.args, found)
        if matched is None and _name_of(expr.op) in _COMMUTATIVE:
            return _find_all(self.args, expr.args[::-1], found)
        return matched

    def find(self, expr: Any, known: Matches) -> Matches | None:
        """As of `DFPattern`; `a * b / c` also matches `a * (b / c)`, and vice versa."""
        found = super().find(expr, known)
        if found is not None or self in known or not isinstance(expr, _CALLS):
            return found
        for associated in self._associated():
            found = associated.find(expr, known)
            if found is not None:
                return {**found, self: expr}
        return None

    def _associated(self) -> Iterator[CallPattern]:
        """The patterns of the same product in which the quotient is at the other place."""
        if not isinstance(self.op, OpPattern) or self.op.name not in ("multiply", "divide") or not self.args:
            return
        other = "divide" if self.op.name == "multiply" else "multiply"
        for n, part in enumerate(self.args if self.op.name == "multiply" else self.args[:1]):
            if isinstance(part, CallPattern) and isinstance(part.op, OpPattern) and part.op.name == other and part.args:
                rest = self.args[1 - n]
                if other == "divide":  # rest * (a / b)
                    yield _Plain(part.op, [_Plain(self.op, [rest, part.args[0]]), part.args[1]])
                else:  # (a * b) / rest
                    for a, b in (part.args, part.args[::-1]):
                        yield _Plain(part.op, [a, _Plain(self.op, [b, rest])])


class _Plain(CallPattern):
    """A call that matches in one way."""

    def _associated(self) -> Iterator[CallPattern]:
        yield from ()


class TuplePattern(DFPattern):
    """A tuple. fields: the patterns of its fields; None for any."""

    def __init__(self, fields: Sequence[DFPattern] | None):
        self.fields = None if fields is None else list(fields)

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        return TupleGetItemPattern(self, index)

    def __len__(self) -> int:
        return len(self.fields or ())

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _TUPLES):
            return None
        return known if self.fields is None else _find_all(self.fields, expr.fields, known)


class UnorderedTuplePattern(DFPattern):
    """A tuple whose fields are in any order. fields: the patterns of its fields."""

    def __init__(self, fields: Sequence[DFPattern]):
        self.fields = list(fields)

    def __len__(self) -> int:
        return len(self.fields)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _TUPLES) or len(expr.fields) != len(self.fields):
            return None
        return self._rest(self.fields, list(expr.fields), known)

    def _rest(self, patterns: Sequence[DFPattern], exprs: Sequence[Any], known: Matches) -> Matches | None:
        """The matches of patterns in as many expressions."""
        if not patterns:
            return known
        for n, each in enumerate(exprs):
            found = patterns[0].find(each, known)
            rest = None if found is None else self._rest(patterns[1:], [*exprs[:n], *exprs[n + 1 :]], found)
            if rest is not None:
                return rest
        return None


class TupleGetItemPattern(DFPattern):
    """A field of a tuple. index: None for any."""

    def __init__(self, tuple_value: DFPattern, index: int | None):
        self.tuple = tuple_value
        self.index = index

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, _FIELDS) or self.index not in (None, expr.index):
            return None
        return self.tuple.find(expr.tuple_value, known)


class IfPattern(DFPattern):
    """A conditional expression, by the patterns of its parts."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.cond = cond
        self.true_branch = true_branch
        self.false_branch = false_branch

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, relay.If):
            return None
        parts = [self.cond, self.true_branch, self.false_branch]
        return _find_all(parts, [expr.cond, expr.true_branch, expr.false_branch], known)


class LetPattern(DFPattern):
    """A binding, by the patterns of the variable, the value and the body."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.var = var
        self.value = value
        self.body = body

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        if not isinstance(expr, relay.Let):
            return None
        return _find_all([self.var, self.value, self.body], [expr.var, expr.value, expr.body], known)


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


class AndPattern(DFPattern):
    """The expressions of both of two patterns."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left = left
        self.right = right

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        return _find_all([self.left, self.right], [expr, expr], known)


class NotPattern(DFPattern):
    """The expressions that a pattern does not match."""

    def __init__(self, to_reject: DFPattern):
        self.reject = to_reject

    def find(self, expr: Any, known: Matches) -> Matches | None:
        """As of `DFPattern`; a variable is rejected with the expression that it denotes."""
        return {**known, self: expr} if self.reject.find(expr, known) is None else None


class AttrPattern(DFPattern):
    """A call, a function or an operator with attributes of given values. The attribute `TOpPattern` of an operator is
    its kind of fusion."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]):
        self.pattern = pattern
        self.attrs = dict(attrs)

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        attrs = _attributes_of(expr)
        if attrs is None or not all(_has(attrs, *each) for each in self.attrs.items()):
            return None
        return self.pattern.find(expr, known)


def _attributes_of(expr: Any) -> Mapping[str, Any] | None:
    """The attributes by name, None for an expression that has none."""
    if isinstance(expr, Operator):
        return {"TOpPattern": int(expr.pattern)}
    if isinstance(expr, relay.Call) and isinstance(expr.op, Operator):
        return {**{each.name: each.default for each in expr.op.attributes}, **expr.attrs}
    return expr.attrs if isinstance(expr, (*_CALLS, relay.Function)) else None


class _OfType(DFPattern):
    """An expression with a type that fulfils a condition. An expression whose type is not known does not match."""

    def __init__(self, pattern: DFPattern):
        self.pattern = pattern

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        found = self.pattern.find(expr, known)
        return found if found is not None and self.accepts(_type_of(expr)) else None

    def accepts(self, found: Any) -> bool:
        """Whether a type fulfils the condition."""
        raise NotImplementedError


class TypePattern(_OfType):
    """An expression of a type."""

    def __init__(self, pattern: DFPattern, ttype: Any):
        super().__init__(pattern)
        self.type = ttype

    def accepts(self, found: Any) -> bool:
        return found == self.type


class DataTypePattern(_OfType):
    """An expression whose elements have a data type."""

    def __init__(self, pattern: DFPattern, dtype: str):
        super().__init__(pattern)
        self.dtype = dtype

    def accepts(self, found: Any) -> bool:
        return getattr(found, "dtype", None) == self.dtype


class ShapePattern(_OfType):
    """An expression that has a shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]):
        super().__init__(pattern)
        self.shape = shape

    def accepts(self, found: Any) -> bool:
        return list(getattr(found, "shape", ())) == list(self.shape)


class StructInfoPattern(_OfType):
    """An expression of relax with a type that has the parts which a type states: a tensor without a shape states its
    data type, `relax.TensorStructInfo(dtype="float32")`."""

    def __init__(self, pattern: DFPattern, struct_info: Any):
        super().__init__(pattern)
        self.struct_info = struct_info

    def accepts(self, found: Any) -> bool:
        stated = self.struct_info
        if found == stated:
            return True
        if stated.dtype not in (None, found.dtype) or stated.ndim not in (-1, found.ndim):
            return False
        return type(found) is type(stated) and stated.shape in (None, found.shape)


class PathPattern(DFPattern):
    """The key, in the matches of a dominator, of an expression between the child and the parent."""


class DominatorPattern(DFPattern):
    """An expression of the pattern `child` all of whose operands are results of `path`, over any number of expressions,
    from one expression of `parent`."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        self.parent = parent
        self.path = path
        self.child = child

    def attempt(self, expr: Any, known: Matches) -> Matches | None:
        found = self.child.find(expr, known)
        return None if found is None else self._above(expr, found)

    def _above(self, expr: Any, known: Matches) -> Matches | None:
        """The matches with those of the expressions between the operands of an expression and the parent."""
        found: Matches | None = known
        for operand in expr.children:
            found = None if found is None or operand is None else self._reach(operand, found)
        return found if found is not None and self.parent in found else None

    def _reach(self, expr: Any, known: Matches) -> Matches | None:
        if any(isinstance(key, PathPattern) and node is expr for key, node in known.items()):
            return known
        found = self.parent.find(expr, known)
        if found is not None:
            return found
        if not isinstance(expr, _CALLS) or self.path.find(expr, {}) is None:
            return None
        return self._above(expr, {**known, PathPattern(): expr})


def _duplicate(pattern: DFPattern, known: dict[DFPattern, DFPattern]) -> DFPattern:
    """A copy of a pattern with copies of its parts, one for each. known: the copies."""
    if pattern not in known:
        known[pattern] = new = copy(pattern)
        for name, value in vars(pattern).items():
            if isinstance(value, DFPattern):
                setattr(new, name, _duplicate(value, known))
            elif isinstance(value, list) and all(isinstance(each, DFPattern) for each in value):  # pyright: ignore[reportUnknownVariableType]
                setattr(new, name, [_duplicate(each, known) for each in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return known[pattern]


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
    """Only a given expression, or a constant of the same value."""
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


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """The expressions of a pattern, by default all, whose elements have a data type."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """The expressions of a pattern, by default all, that have a shape."""
    return (pattern or wildcard()).has_shape(shape)


def has_type(ttype: Any, pattern: DFPattern | None = None) -> TypePattern:
    """The expressions of a pattern, by default all, that have a type."""
    return (pattern or wildcard()).has_type(ttype)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """The expressions of `child` all of whose operands are results of `path` from one expression of `parent`."""
    return DominatorPattern(parent, path, child)
