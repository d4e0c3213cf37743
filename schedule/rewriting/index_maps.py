"""Index maps: conversion from Python functions of indices to affine maps, and from these to text and sums."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from ...analysis.index import Analyzer, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom
from ...analysis.iter_map import lin_text
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap
from ...dialects.tir import FuncOp
from ...dialects.tir.functions import integer_sizes
from ..arithmetic import Index, IndexTerm, is_divisor
from ..handles import ParameterExpr, ParameterRV

IndexMap: TypeAlias = "Callable[..., Any] | AffineMap | AffineMapAttr"
"""The accepted forms of an index map."""

AXIS_SEPARATOR = "axis_separator"
"""The marker of TVM between two groups of dimensions in an index map."""


def bound_index_map(index_map: IndexMap, rank: int) -> BoundMap:
    """The affine map of an index map, with the handles of its parameters as the values of its symbols.

    index_map: a function of one index for each dimension (`*indices` matches any number of them) that returns an index
    or a tuple or list of indices, nested ones flattened; or an affine map without symbols.  rank: the number of
    dimensions.
    ScheduleError for another number of indices, axis separators, or a function that computes anything but index
    arithmetic.
    """
    bound, separators = separated_index_map(index_map, rank)
    if separators:
        raise ScheduleError("index map: an axis separator, expected indices alone")
    return bound


def separated_index_map(index_map: IndexMap, rank: int) -> tuple[BoundMap, list[int]]:
    """The affine map of an index map, as of `bound_index_map`, and the positions of the axis separators among its
    results. ScheduleError as of `bound_index_map`, except for axis separators."""
    separators: list[int] = []
    if isinstance(index_map, AffineMapAttr):
        index_map = index_map.data
    if not isinstance(index_map, AffineMap):
        if not callable(index_map):
            raise ScheduleError(f"index map {index_map!r}, expected a function of indices or an affine map")
        results = _trace(index_map, rank)
        separators = [n - k for k, n in enumerate(n for n, each in enumerate(results) if each is None)]
        index_map = AffineMap(rank, 0, tuple(each for each in results if each is not None))
    if index_map.num_symbols:
        raise ScheduleError(f"index map {index_map} has symbols, expected none")
    if index_map.num_dims != rank:
        raise ScheduleError(f"an index map of {_count(index_map.num_dims)}, expected one of {_count(rank)}")
    for result in index_map.results:
        _check_divisors(result)
    return _bind_parameters(index_map), separators


def _bind_parameters(traced: AffineMap) -> BoundMap:
    """A map with symbols for its parameters, in the order of their first use."""
    leaves = [e for result in traced.results for e in result.dfs() if isinstance(e, ParameterExpr)]
    handles = list(dict.fromkeys(leaf.handle for leaf in leaves))
    results = tuple(_replace_parameters(result, handles) for result in traced.results)
    return BoundMap(AffineMap(traced.num_dims, len(handles), results), tuple(handles))


def share_parameters(*maps: BoundMap) -> list[BoundMap]:
    """The same maps with the same parameters in the same order."""
    handles = list(dict.fromkeys(handle for each in maps for handle in each.values))
    shared: list[BoundMap] = []
    for each in maps:
        symbols = [AffineExpr.symbol(handles.index(handle)) for handle in each.values]
        results = tuple(result.replace_dims_and_symbols((), symbols) for result in each.map.results)
        shared.append(BoundMap(AffineMap(each.map.num_dims, len(handles), results), tuple(handles)))
    return shared


def _replace_parameters(expr: AffineExpr, handles: Sequence[ParameterRV]) -> AffineExpr:
    match expr:
        case ParameterExpr(handle=handle):
            return AffineExpr.symbol(handles.index(handle))
        case AffineBinaryOpExpr(kind=kind):
            lhs, rhs = (_replace_parameters(side, handles) for side in (expr.lhs, expr.rhs))
            return AffineBinaryOpExpr(kind, lhs, rhs)
        case _:
            return expr


def _count(rank: int) -> str:
    return f"{rank} {'index' if rank == 1 else 'indices'}"


def _trace(function: Callable[..., Any], rank: int) -> list[AffineExpr | None]:
    """The results of a function of indices; None for an axis separator."""
    function = with_numbers(function)
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


def _flatten(result: Any) -> list[AffineExpr | None]:
    if isinstance(result, tuple | list):
        return [expr for item in cast("Sequence[Any]", result) for expr in _flatten(item)]
    if isinstance(result, IndexTerm):
        return [result.expr]
    if isinstance(result, str) and result == AXIS_SEPARATOR:
        return [None]
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
    if not is_divisor(expr.rhs):
        raise ScheduleError(f"index map: {expr}, expected a division by a positive number")


# Back to sums


def apply_map(analyzer: Analyzer, index_map: BoundMap, indices: Sequence[Lin]) -> list[Lin]:
    """The results of an index map for `indices`, in normal form.

    index_map: its parameters are numbers and integer values of the program.
    ScheduleError if a divisor may be 0 or negative under the current assumptions.
    """
    parameters = [analyzer.exact(value) for value in index_map.values]
    return [_lin(analyzer, result, indices, parameters) for result in index_map.map.results]


def _lin(analyzer: Analyzer, expr: AffineExpr, indices: Sequence[Lin], parameters: Sequence[Lin]) -> Lin:
    match expr:
        case AffineDimExpr(position=position):
            return indices[position]
        case AffineSymExpr(position=position):
            return parameters[position]
        case AffineConstantExpr(value=value):
            return Lin(value)
        case AffineBinaryOpExpr(kind=kind):
            lhs, rhs = (_lin(analyzer, side, indices, parameters) for side in (expr.lhs, expr.rhs))
            if kind in _DIVISIONS and not analyzer.is_provably("gt", rhs, 0):
                raise ScheduleError(
                    f"the index map divides by {lin_text(rhs)}, expected a divisor that is always positive"
                )
            return _APPLY[kind](analyzer, lhs, rhs)
        case _:
            raise ValueError(f"{expr} is not in an index map")


_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)

_APPLY: dict[AffineBinaryOpKind, Callable[[Analyzer, Lin, Lin], Lin]] = {
    AffineBinaryOpKind.Add: Analyzer.add,
    AffineBinaryOpKind.Mul: Analyzer.mul,
    AffineBinaryOpKind.FloorDiv: Analyzer.floordiv,
    AffineBinaryOpKind.CeilDiv: lambda analyzer, a, b: -analyzer.floordiv(-a, b),
    AffineBinaryOpKind.Mod: Analyzer.floormod,
}


def map_bounds(
    analyzer: Analyzer, expr: AffineExpr, shape: Sequence[Lin], parameters: Sequence[Lin]
) -> tuple[Lin, Lin] | None:
    """The lower and upper bound of a result of an index map over a shape, by its syntax: a remainder takes all values
    below its divisor, and the indices are independent. None if the sign of a factor is unknown.

    The divisors are positive under the current assumptions.
    """
    match expr:
        case AffineDimExpr(position=position):
            return Lin(), shape[position] - 1
        case AffineSymExpr(position=position):
            return parameters[position], parameters[position]
        case AffineConstantExpr(value=value):
            return Lin(value), Lin(value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod):
            return Lin(), _lin(analyzer, expr.rhs, (), parameters) - 1
        case AffineBinaryOpExpr(kind=kind):
            sides = [map_bounds(analyzer, side, shape, parameters) for side in (expr.lhs, expr.rhs)]
            if sides[0] is None or sides[1] is None:
                return None
            (a, b), (c, d) = sides[0], sides[1]
            if kind is AffineBinaryOpKind.Mul:
                factor = c if c == d else a
                if analyzer.is_provably("lt", factor, 0):
                    (a, b), (c, d) = (b, a), (d, c)
                elif not analyzer.is_provably("ge", factor, 0):
                    return None
            return _APPLY[kind](analyzer, a, c), _APPLY[kind](analyzer, b, d)
        case _:
            raise ValueError(f"{expr} is not in an index map")


def require_sizes_of(func: FuncOp, index_map: BoundMap) -> None:
    """Raises ScheduleError unless the sizes in an index map belong to a function."""
    known = [value for _, value in integer_sizes(func)]
    for value in index_map.values:
        if isinstance(value, SSAValue) and value not in known:
            raise ScheduleError(
                f"the index map has size {value.name_hint} of another function, expected sizes of "
                f"{func.sym_name.data!r}"
            )


def require_divisors(analyzer: Analyzer, total: Lin, subject: str) -> None:
    """Raises ScheduleError, with the subject of the error, if a sum contains a division by a number that may be 0 under
    the current assumptions."""
    atoms = list(total.terms)
    while atoms:
        atom = atoms.pop()
        if isinstance(atom, ProductAtom):
            atoms += atom.factors
        elif isinstance(atom, DivAtom | ModAtom):
            low, high = analyzer.bounds(atom.divisor)
            if low <= 0 <= high:
                raise ScheduleError(
                    f"{subject} is {lin_text(total)}, in which {lin_text(atom.divisor)} may be 0, expected a divisor "
                    "that is always positive"
                )
            atoms += [*atom.dividend.terms, *atom.divisor.terms]
        elif isinstance(atom, MaxAtom | MinAtom):
            atoms += [inner for each in atom.sums for inner in each.terms]


# Text

_SUM, _TERM, _UNARY = range(3)


def index_map_text(index_map: AffineMap, symbols: Sequence[str] = (), *, pairs: bool = False) -> str:
    """The Python text of an index map: `lambda i0, i1: (i0, i1 // 4, i1 % 4,)`.

    symbols: the names of the parameters.
    pairs: whether every two results are a pair: `lambda i0: ((i0 - 1, i0 + 2),)`.
    """
    indices = [f"i{n}" for n in range(index_map.num_dims)]
    names = _Names(indices, symbols)
    texts = [_text(result, names, _SUM) for result in index_map.results]
    if pairs:
        texts = [f"({low}, {end})" for low, end in zip(texts[::2], texts[1::2], strict=True)]
    results = "".join(f"{text}, " for text in texts)
    head = f"lambda {', '.join(indices)}" if indices else "lambda"
    return f"{head}: ({results.removesuffix(' ')})"


@dataclass(frozen=True)
class _Names:
    indices: Sequence[str]
    symbols: Sequence[str]


def _text(expr: AffineExpr, names: _Names, level: int) -> str:
    match expr:
        case AffineDimExpr(position=position):
            return names.indices[position]
        case AffineSymExpr(position=position):
            return names.symbols[position]
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


def _sum_text(expr: AffineBinaryOpExpr, names: _Names) -> str:
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


def with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with `_Numbers` in place of the namespace `T`, which TVM's traces use."""
    if not isinstance(function, FunctionType) or "T" not in function.__code__.co_names:
        return function
    names = {**function.__globals__, "T": _Numbers()}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


# Padding


PadValue: TypeAlias = int | float | BoundMap
"""The value of padding elements: a number, or a map from the new indices of an element to its value."""


def padding_value(pad_value: Any, rank: int) -> PadValue | None:
    """The value of padding elements; None if it is unspecified.

    pad_value: the number, None, or a function of the `rank` new indices that returns a number or an affine index
    expression, in the form of TVM's traces: `lambda i, j: (T.float32(0.0),)`.
    ScheduleError for any other value.
    """
    count = rank
    if isinstance(pad_value, FunctionType):
        function = with_numbers(pad_value)
        count = len(inspect.signature(function).parameters) or rank
        pad_value = function(*(Index(AffineExpr.dimension(n)) for n in range(count)))
    if isinstance(pad_value, tuple | list) and len(items := cast("Sequence[Any]", pad_value)) == 1:
        pad_value = items[0]
    if isinstance(pad_value, IndexTerm):
        if count != rank:
            raise ScheduleError(f"pad_value is a function of {_count(count)}, expected one of {_count(rank)}")
        return _bind_parameters(AffineMap(count, 0, (pad_value.expr,)))
    if isinstance(pad_value, AffineMapAttr):
        return BoundMap(pad_value.data)
    if pad_value is None or isinstance(pad_value, int | float):
        return pad_value
    raise ScheduleError(f"pad_value {pad_value!r}, expected a number")
