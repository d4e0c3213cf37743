"""Index maps: conversion from Python functions of indices to affine maps, and from these to text and sums."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NoReturn, TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...analysis.index import Analyzer, Lin
from ...core.errors import ScheduleError

IndexMap: TypeAlias = "Callable[..., Any] | AffineMap | AffineMapAttr"
"""The accepted forms of an index map."""

AXIS_SEPARATOR = "axis_separator"
"""The marker of TVM at the end of a group of dimensions in an index map."""


class Index:
    """A symbolic index, to trace a function of indices: sums, products with constants, floor divisions and remainders
    by positive constants. Any other operation raises ScheduleError."""

    __slots__ = ("expr",)

    def __init__(self, expr: AffineExpr):
        self.expr = expr

    def __add__(self, other: Index | int) -> Index:
        return Index(self.expr + _expression(other, "+"))

    def __radd__(self, other: Index | int) -> Index:
        return Index(_expression(other, "+") + self.expr)

    def __sub__(self, other: Index | int) -> Index:
        return Index(self.expr + _expression(other, "-") * -1)

    def __rsub__(self, other: Index | int) -> Index:
        return Index(_expression(other, "-") + self.expr * -1)

    def __neg__(self) -> Index:
        return Index(self.expr * -1)

    def __mul__(self, other: Index | int) -> Index:
        factor = _expression(other, "*")
        if not isinstance(factor, AffineConstantExpr) and not isinstance(self.expr, AffineConstantExpr):
            raise ScheduleError("index map: a product of two indices, expected a number on one side of *")
        return Index(self.expr * factor)

    def __rmul__(self, other: Index | int) -> Index:
        return self * other

    def __floordiv__(self, other: int) -> Index:
        return Index(self.expr // _divisor(other, "//"))

    def __mod__(self, other: int) -> Index:
        return Index(self.expr % _divisor(other, "%"))

    def _refuse(self, *_: object) -> NoReturn:
        raise ScheduleError("index map: expected sums, and //, % and * by numbers, of the indices; got something else")

    __bool__ = __int__ = __index__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __hash__ = _refuse  # pyright: ignore[reportAssignmentType]
    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = __abs__ = _refuse
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = _refuse


def _expression(value: object, operator: str) -> AffineExpr:
    if isinstance(value, Index):
        return value.expr
    if isinstance(value, int) and not isinstance(value, bool):
        return AffineExpr.constant(value)
    raise ScheduleError(f"index map: {value!r} beside {operator}, expected an index or an integer")


def _divisor(value: object, operator: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    got = "an index" if isinstance(value, Index) else repr(value)
    raise ScheduleError(f"index map: {got} behind {operator}, expected a positive integer")


def index_map_attr(index_map: IndexMap, rank: int) -> AffineMapAttr:
    """The affine map attribute of an index map.

    index_map: a function of one index for each dimension (`*indices` matches any number of them) that returns an index
    or a tuple or list of indices, nested ones flattened; or an affine map without symbols.  rank: the number of
    dimensions.
    ScheduleError for another number of indices, or a function that computes anything but affine arithmetic.
    """
    if isinstance(index_map, AffineMapAttr):
        index_map = index_map.data
    if not isinstance(index_map, AffineMap):
        if not callable(index_map):
            raise ScheduleError(f"index map {index_map!r}, expected a function of indices or an affine map")
        index_map = AffineMap(rank, 0, tuple(_trace(index_map, rank)))
    if index_map.num_symbols:
        raise ScheduleError(f"index map {index_map} has symbols, expected none")
    if index_map.num_dims != rank:
        raise ScheduleError(f"an index map of {_count(index_map.num_dims)}, expected one of {_count(rank)}")
    for result in index_map.results:
        _check_divisors(result)
    return AffineMapAttr(index_map)


def _count(rank: int) -> str:
    return f"{rank} {'index' if rank == 1 else 'indices'}"


def _trace(function: Callable[..., Any], rank: int) -> list[AffineExpr]:
    function = _with_numbers(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ScheduleError(f"index map {function!r}: its parameters are not known") from error
    kinds = inspect.Parameter
    if any(p.kind is kinds.VAR_KEYWORD for p in parameters):
        raise ScheduleError("index map: parameters **, expected one for each index")
    named = [p for p in parameters if p.kind is not kinds.VAR_POSITIONAL]
    has_rest = len(named) < len(parameters)
    if len(named) > rank or (len(named) < rank and not has_rest):
        raise ScheduleError(f"an index map of {_count(len(named))}, expected one of {_count(rank)}")
    keywords = [p.name for p in named if p.kind is kinds.KEYWORD_ONLY]
    indices = [Index(AffineExpr.dimension(n)) for n in range(rank)]
    first = rank - len(keywords)
    result = function(*indices[:first], **dict(zip(keywords, indices[first:], strict=True)))
    return list(_flatten(result))


def _flatten(result: Any) -> list[AffineExpr]:
    if isinstance(result, tuple | list):
        return [expr for item in cast("Sequence[Any]", result) for expr in _flatten(item)]
    if isinstance(result, Index):
        return [result.expr]
    if isinstance(result, str) and result == AXIS_SEPARATOR:
        raise ScheduleError("index map: axis separators are not supported yet")
    if isinstance(result, int) and not isinstance(result, bool):
        return [AffineExpr.constant(result)]
    raise ScheduleError(f"index map: it gives {result!r}, expected an index or a tuple of indices")


def _check_divisors(expr: AffineExpr) -> None:
    if not isinstance(expr, AffineBinaryOpExpr):
        return
    _check_divisors(expr.lhs)
    _check_divisors(expr.rhs)
    if expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        return
    if not isinstance(expr.rhs, AffineConstantExpr) or expr.rhs.value <= 0:
        raise ScheduleError(f"index map: {expr}, expected a division by a positive number")


# Back to sums


def apply_map(analyzer: Analyzer, index_map: AffineMap, indices: Sequence[Lin]) -> list[Lin]:
    """The results of an index map for `indices`, in normal form."""
    return [_lin(analyzer, result, indices) for result in index_map.results]


def _lin(analyzer: Analyzer, expr: AffineExpr, indices: Sequence[Lin]) -> Lin:
    match expr:
        case AffineDimExpr(position=position):
            return indices[position]
        case AffineConstantExpr(value=value):
            return Lin(value)
        case AffineBinaryOpExpr(kind=kind):
            lhs, rhs = (_lin(analyzer, side, indices) for side in (expr.lhs, expr.rhs))
            return _APPLY[kind](analyzer, lhs, rhs)
        case _:
            raise ValueError(f"{expr} is not in an index map")


_APPLY: dict[AffineBinaryOpKind, Callable[[Analyzer, Lin, Lin], Lin]] = {
    AffineBinaryOpKind.Add: Analyzer.add,
    AffineBinaryOpKind.Mul: Analyzer.mul,
    AffineBinaryOpKind.FloorDiv: Analyzer.floordiv,
    AffineBinaryOpKind.CeilDiv: lambda analyzer, a, b: -analyzer.floordiv(-a, b),
    AffineBinaryOpKind.Mod: Analyzer.floormod,
}


def map_bounds(analyzer: Analyzer, expr: AffineExpr, shape: Sequence[Lin]) -> tuple[Lin, Lin]:
    """The lower and upper bound of a result of an index map over a shape, by its syntax: a remainder takes all values
    below its divisor, and the indices are independent."""
    match expr:
        case AffineDimExpr(position=position):
            return Lin(), shape[position] - 1
        case AffineConstantExpr(value=value):
            return Lin(value), Lin(value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, rhs=AffineConstantExpr(value=divisor)):
            return Lin(), Lin(divisor - 1)
        case AffineBinaryOpExpr(kind=kind):
            (a, b), (c, d) = (map_bounds(analyzer, side, shape) for side in (expr.lhs, expr.rhs))
            if kind is AffineBinaryOpKind.Mul and (c if c == d else a).const < 0:
                (a, b), (c, d) = (b, a), (d, c)
            return _APPLY[kind](analyzer, a, c), _APPLY[kind](analyzer, b, d)
        case _:
            raise ValueError(f"{expr} is not in an index map")


# Text

_SUM, _TERM, _UNARY = range(3)


def index_map_text(attr: AffineMapAttr) -> str:
    """The Python text of an index map: `lambda i0, i1: (i0, i1 // 4, i1 % 4,)`."""
    names = [f"i{n}" for n in range(attr.data.num_dims)]
    results = "".join(f"{_text(result, names, _SUM)}, " for result in attr.data.results)
    head = f"lambda {', '.join(names)}" if names else "lambda"
    return f"{head}: ({results.removesuffix(' ')})"


def _text(expr: AffineExpr, names: Sequence[str], level: int) -> str:
    match expr:
        case AffineDimExpr(position=position):
            return names[position]
        case AffineConstantExpr(value=value):
            return str(value) if value >= 0 or level == _SUM else f"({value})"
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            text, own = _sum_text(expr, names), _SUM
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.CeilDiv):
            text, own = f"-(-{_text(expr.lhs, names, _UNARY)} // {_text(expr.rhs, names, _UNARY)})", _TERM
        case AffineBinaryOpExpr(kind=kind):
            symbol = {"Mul": "*", "FloorDiv": "//", "Mod": "%"}[kind.name]
            text, own = f"{_text(expr.lhs, names, _TERM)} {symbol} {_text(expr.rhs, names, _UNARY)}", _TERM
        case _:
            raise ValueError(f"{expr} is not in an index map")
    return f"({text})" if own < level else text


def _sum_text(expr: AffineBinaryOpExpr, names: Sequence[str]) -> str:
    lhs, rhs, sign = expr.lhs, expr.rhs, "+"
    if isinstance(rhs, AffineConstantExpr) and rhs.value < 0:
        rhs, sign = AffineExpr.constant(-rhs.value), "-"
    elif isinstance(rhs, AffineBinaryOpExpr) and rhs.kind is AffineBinaryOpKind.Mul and _is_minus_one(rhs.rhs):
        rhs, sign = rhs.lhs, "-"
    return f"{_text(lhs, names, _SUM)} {sign} {_text(rhs, names, _TERM)}"


def _is_minus_one(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineConstantExpr) and expr.value == -1


class _Numbers:
    """A substitute for `T` in a function of indices: `T.float32(1.0)` is 1.0."""

    def __getattr__(self, dtype: str) -> Callable[[Any], Any]:
        if dtype.startswith("__"):
            raise AttributeError(dtype)
        return lambda value: value


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with `_Numbers` in place of the namespace `T`, which TVM's traces use."""
    if not isinstance(function, FunctionType) or "T" not in function.__code__.co_names:
        return function
    names = {**function.__globals__, "T": _Numbers()}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


# Padding


PadValue: TypeAlias = int | float | AffineMapAttr
"""The value of padding elements: a number, or a map from the new indices of an element to its value."""


def padding_value(pad_value: Any, rank: int) -> PadValue | None:
    """The value of padding elements; None if it is unspecified.

    pad_value: the number, None, or a function of the `rank` new indices that returns a number or an affine index
    expression, in the form of TVM's traces: `lambda i, j: (T.float32(0.0),)`.
    ScheduleError for any other value.
    """
    count = rank
    if isinstance(pad_value, FunctionType):
        function = _with_numbers(pad_value)
        count = len(inspect.signature(function).parameters) or rank
        pad_value = function(*(Index(AffineExpr.dimension(n)) for n in range(count)))
    if isinstance(pad_value, tuple | list) and len(items := cast("Sequence[Any]", pad_value)) == 1:
        pad_value = items[0]
    if isinstance(pad_value, Index):
        if count != rank:
            raise ScheduleError(f"pad_value is a function of {_count(count)}, expected one of {_count(rank)}")
        return AffineMapAttr(AffineMap(count, 0, (pad_value.expr,)))
    if pad_value is None or isinstance(pad_value, int | float | AffineMapAttr):
        return pad_value
    raise ScheduleError(f"pad_value {pad_value!r}, expected a number")
