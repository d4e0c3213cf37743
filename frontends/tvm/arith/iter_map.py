"""Iterator maps: indices as sums of digits of variables, `tvm.arith.detect_iter_map` and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from xdsl.ir import Operation, SSAValue

from ....analysis.index import Lin, ProductAtom
from ....analysis.iter_map import (
    DigitSource,
    Fused,
    IterMap,
    IterSplit,
    IterSum,
    assume_nonempty,
    detect,
    divide_bindings,
    iteration_domain,
    split_constraints,
)
from ....core.dtypes import parse_dtype
from ....expressions.axes import Range
from ....expressions.errors import TeError
from ....expressions.expr import And, IntImm, PrimExpr, Var, as_condition, as_expr, cast, const
from ....expressions.functions import floordiv, floormod
from .analyzer import Analyzer
from .program import IndexProgram


class IterMapLevel(IntEnum):
    """The demand on a map: each point has other values, all combinations of values occur, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """The level of a name: `bijective`, `surjective` or `nocheck`. TeError for another one."""
        levels = {level.name.lower(): level for level in IterMapLevel}
        if name.lower() not in levels:
            raise TeError(f"level {name!r} of an iterator map, expected one of {', '.join(levels)}")
        return levels[name.lower()]


class IterMapExpr(PrimExpr):
    """A part of an iterator map."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class IterMark:
    """An iterator, which takes the numbers from 0 to below its extent.

    source: a variable, or a sum of digits that is an iterator.  extent: the number of values.
    """

    source: PrimExpr
    extent: PrimExpr

    def __init__(self, source: PrimExpr, extent: Any):
        object.__setattr__(self, "source", source)
        count = as_expr(extent)
        object.__setattr__(self, "extent", count if count.data_type.is_bool else cast(source.dtype, count))


class IterSplitExpr(IterMapExpr):
    """A digit of an iterator: `source // lower_factor % extent * scale`."""

    __slots__ = ("extent", "lower_factor", "scale", "source")

    def __init__(self, source: IterMark, lower_factor: Any, extent: Any, scale: Any):
        self.source = source
        kind = source.source.dtype
        self.lower_factor, self.extent, self.scale = (cast(kind, each) for each in (lower_factor, extent, scale))
        self.data_type = parse_dtype(kind)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.source.source, self.source.extent, self.lower_factor, self.extent, self.scale

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        source, count, *rest = children
        return IterSplitExpr(IterMark(source, count), *rest)


class IterSumExpr(IterMapExpr):
    """A sum of digits and of a number without variables of the map, its base."""

    __slots__ = ("args", "base")

    def __init__(self, args: Sequence[IterSplitExpr], base: Any):
        self.args = tuple(args)
        self.base = cast(self.args[0].dtype, base) if self.args else as_expr(base)
        self.data_type = self.base.data_type

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return (*self.args, self.base)

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        *args, base = children
        return IterSumExpr([each for each in args if isinstance(each, IterSplitExpr)], base)


@dataclass(frozen=True)
class IterMapResult:
    """The sum of each index, or the reasons why the indices are no map of the demanded level."""

    indices: list[IterSumExpr] = field(default_factory=list[IterSumExpr])
    errors: list[str] = field(default_factory=list[str])
    padding_predicate: PrimExpr = field(default_factory=lambda: const(False, "bool"))


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Mapping[Var, Range],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """The indices as sums of digits of the variables of `input_iters`.

    predicate: a condition that holds for the values of the variables.  check_level: the demand.  A sum of digits that
    takes all numbers of an interval is one iterator. simplify_trivial_iterators: ignored; variables of one value are
    numbers.
    """
    level = IterMapLevel.from_str(check_level) if isinstance(check_level, str) else IterMapLevel(check_level)
    detection = _Detection(indices, input_iters, predicate)
    found = detection.mapping
    reason = found if isinstance(found, str) else _loss(found, level)
    if reason is not None or isinstance(found, str):
        return IterMapResult([], [str(reason)])
    try:
        return IterMapResult([detection.sum(total, level) for total in found.sums])
    except _NoMap as error:
        return IterMapResult([], [str(error)])


def _loss(mapping: IterMap, level: IterMapLevel) -> str | None:
    """The reason why a map does not satisfy a demand."""
    if level is IterMapLevel.NoCheck:
        return None
    return mapping.dependence or (mapping.loss if level is IterMapLevel.Bijective else None)


class _NoMap(Exception):
    """The reason why indices are no map."""


class _Detection:
    """The map of indices, and the conversion of its parts to expressions."""

    def __init__(self, indices: Sequence[Any], ranges: Mapping[Var, Range], predicate: Any):
        exprs = [as_expr(index) for index in indices]
        self.program = IndexProgram(ranges, [*exprs, as_condition(predicate)])
        self.analyzer = self.program.analyzer
        self.dtype = self.program.dtype
        self._marks: dict[DigitSource, IterMark] = {}
        self.domain: Any = None
        dependent = self.program.leaf_that_depends_on(ranges)
        with self.analyzer.inside(self.program.place):
            self.domain = iteration_domain(self.analyzer, self.program.loops, self.program.values[-1])
            self._assume_positive_sizes()
            with assume_nonempty(self.analyzer, self.domain):
                lins = [self.program.lin(n) for n in range(len(exprs))]
            found = detect(self.analyzer, self.domain, lins)
        opaque = next((leaf for lin in lins for leaf in lin.leaves() if self._varies(leaf)), None)
        self.mapping: IterMap | str = found
        if dependent is not None or opaque is not None:
            self.mapping = "an index is no sum of quotients and remainders of variables by numbers that are not 0"

    def _assume_positive_sizes(self) -> None:
        """Assumes that there are values of each variable: a size that is a factor of their number is not 0."""
        for variable in self.domain.variables:
            terms = list(variable.extent.terms.items())
            if variable.extent.const != 0 or len(terms) != 1 or terms[0][1] <= 0:
                continue
            atom = terms[0][0]
            factors = set(atom.factors) if isinstance(atom, ProductAtom) else {atom}
            known = [f for f in factors if len(factors) == 1 or self.analyzer.is_provably("ge", Lin.of(f), 0)]
            for each in known:
                self.analyzer.assume_not_negative(Lin.of(each) - 1)

    def _varies(self, value: SSAValue) -> bool:
        """Whether a value that the analysis does not look into depends on a variable."""
        todo = [value] if isinstance(value.owner, Operation) else []
        while todo:
            owner = todo.pop().owner
            if isinstance(owner, Operation):
                todo += owner.operands
            elif any(owner is loop.body.block for loop in self.program.loops):
                return True
        return False

    def expr(self, lin: Lin) -> PrimExpr:
        """A sum of the index normal form as an expression."""
        return self.program.expr(lin)

    def condition(self, constraints: Sequence[Lin]) -> PrimExpr:
        """The condition that sums are at least 0."""
        holds = const(True, "bool")
        for n, each in enumerate(constraints):
            one = self.expr(each) >= 0
            holds = And(holds, one) if n else one
        return holds

    def _merged(self, total: IterSum) -> IterSum:
        """A sum with one digit in place of adjacent digits of an iterator: `x // 4 * 4 + x % 4` is `x`."""
        mul, splits = self.analyzer.mul, list[IterSplit]()
        for high in reversed(total.splits):
            low = splits[-1] if splits and splits[-1].source == high.source else None
            if low is None or not self._are_equal(
                (high.lower, mul(low.lower, low.extent)), (high.scale, mul(low.scale, low.extent))
            ):
                splits.append(high)
            else:
                splits[-1] = IterSplit(low.source, low.lower, mul(low.extent, high.extent), low.scale)
        return IterSum(tuple(reversed(splits)), total.base)

    def _are_equal(self, *pairs: tuple[Lin, Lin]) -> bool:
        return all(self.analyzer.is_provably("eq", a, b) for a, b in pairs)

    def sum(self, total: IterSum, level: IterMapLevel) -> IterSumExpr:
        """A sum as an expression: with one digit, unless it takes no interval of numbers."""
        with self.analyzer.inside(self.program.place):
            total = self._merged(total)
        base = self.expr(total.base)
        if len(total.splits) < 2:
            if any(self._is_negative(split) for split in total.splits) and level is not IterMapLevel.NoCheck:
                raise _NoMap(f"{total} counts down")
            return IterSumExpr([self._split(split) for split in total.splits], base)
        with self.analyzer.inside(self.program.place):
            fused = self._fuse(total)
        if fused is None:
            if level is not IterMapLevel.NoCheck:
                raise _NoMap(f"{total} does not take all numbers of an interval")
            return IterSumExpr([self._split(split) for split in total.splits], base)
        parts, extent, factor = fused
        inner = IterSumExpr([self._split(split) for split in parts], const(0, self.dtype))
        count = self.expr(extent)
        return IterSumExpr([IterSplitExpr(IterMark(inner, count), 1, count, self.expr(factor))], base)

    def _is_negative(self, split: IterSplit) -> bool:
        return self.analyzer.is_provably("lt", split.scale, 0)

    def _fuse(self, total: IterSum) -> tuple[list[IterSplit], Lin, Lin] | None:
        """The digits divided by their least factor, the number of their values, and the factor; None if the sum leaves
        gaps."""
        factor, extent = total.splits[-1].scale, Lin(1)
        parts: list[IterSplit] = []
        for split in reversed(total.splits):
            if not self.analyzer.is_provably("eq", split.scale, self.analyzer.mul(extent, factor)):
                return None
            parts.append(IterSplit(split.source, split.lower, split.extent, extent))
            extent = self.analyzer.mul(extent, split.extent)
        return None if self._is_negative(total.splits[-1]) else (parts[::-1], extent, factor)

    def _split(self, split: IterSplit) -> IterSplitExpr:
        lower, extent, scale = (self.expr(each) for each in (split.lower, split.extent, split.scale))
        return IterSplitExpr(self._mark(split.source), lower, extent, scale)

    def _mark(self, source: DigitSource) -> IterMark:
        if source not in self._marks:
            extent = self.expr(source.extent)
            if isinstance(source, Fused):
                inner = IterSumExpr([self._split(split) for split in source.sum.splits], self.expr(source.sum.base))
                self._marks[source] = IterMark(inner, extent)
            else:
                self._marks[source] = IterMark(self.expr(source.number(self.analyzer)), extent)
        return self._marks[source]


def normalize_iter_map_to_expr(expr: PrimExpr) -> PrimExpr:
    """An expression of a map with quotients and remainders in place of its digits."""
    match expr:
        case IterSumExpr():
            total: PrimExpr | None = None
            for each in map(normalize_iter_map_to_expr, expr.args):
                total = each if total is None else total + each
            if total is None:
                return expr.base
            return total if _is_number(expr.base, 0) else total + expr.base
        case IterSplitExpr():
            return _digit(expr)
        case _:
            return expr


def _digit(split: IterSplitExpr) -> PrimExpr:
    value = normalize_iter_map_to_expr(split.source.source)
    analyzer = Analyzer()
    if not analyzer.can_prove(split.lower_factor * split.extent >= split.source.extent):
        value = floormod(value, analyzer.simplify(split.lower_factor * split.extent))
    if not _is_number(split.lower_factor, 1):
        value = floordiv(value, split.lower_factor)
    return value if _is_number(split.scale, 1) else value * split.scale


def _is_number(expr: PrimExpr, number: int) -> bool:
    return isinstance(expr, IntImm) and expr.value == number


def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Mapping[Var, Range],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """The indices with fewer quotients and remainders, where they are a map; else as they are."""
    found = detect_iter_map(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    if found.errors:
        return [as_expr(index) for index in indices]
    return [Analyzer().simplify(normalize_iter_map_to_expr(total)) for total in found.indices]


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]) -> dict[Var, PrimExpr]:
    """The value of each variable of a bijective map where its sums have the values `outputs`. TeError for an iterator
    that is neither a variable nor a sum."""
    values: dict[IterMark, PrimExpr] = {}
    todo: list[tuple[IterSumExpr, PrimExpr]] = list(zip(iter_map, outputs, strict=True))
    while todo:
        for total, output in todo:
            for split, digit in _digits(total, output):
                part = digit if _is_number(split.lower_factor, 1) else digit * split.lower_factor
                values[split.source] = values[split.source] + part if split.source in values else part
        # An iterator may be a part of several sums, so that of the deepest nesting comes first.
        fused = [(mark, mark.source) for mark in values if isinstance(mark.source, IterSumExpr)]
        deepest = max(fused, key=lambda each: _depth(each[0]), default=None)
        todo = [] if deepest is None else [(deepest[1], values.pop(deepest[0]))]
    result: dict[Var, PrimExpr] = {}
    for mark, value in values.items():
        if not isinstance(mark.source, Var):
            raise TeError(f"inverse_affine_iter_map of iterator {mark.source!r}, expected a variable that starts at 0")
        result[mark.source] = Analyzer().simplify(value)
    return result


def _digits(total: IterSumExpr, output: PrimExpr) -> Iterator[tuple[IterSplitExpr, PrimExpr]]:
    """The value of each digit of a sum with a known value."""
    value = output if _is_number(total.base, 0) else output - total.base
    for n, split in enumerate(total.args):
        digit = value if _is_number(split.scale, 1) else floordiv(value, split.scale)
        yield split, digit if n == 0 else floormod(digit, split.extent)


def _depth(mark: IterMark) -> int:
    """The nesting depth of an iterator."""
    if not isinstance(mark.source, IterSumExpr):
        return 0
    return 1 + max((_depth(split.source) for split in mark.source.args), default=0)


def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[Any]]:
    """Each binding as an iterator of the outer variables and one of the inner ones, `sub_iters`: the binding is
    `outer * extent of inner + inner`. The extents of the last entry are the conditions on outer and on inner variables.
    Empty where the bindings have no such form. predicate, check_level: as of `detect_iter_map`."""
    level = IterMapLevel.from_str(check_level) if isinstance(check_level, str) else IterMapLevel(check_level)
    detection = _Detection(bindings, input_iters, predicate)
    mapping, domain = detection.mapping, detection.domain
    if isinstance(mapping, str) or _loss(mapping, level) is not None or not domain.exact:
        return []
    inner = {detection.program.value_of(var) for var in sub_iters}
    *conditions, both = split_constraints(domain, inner)
    if both:
        return []
    analyzer = detection.analyzer
    with analyzer.inside(detection.program.place):
        divisions = divide_bindings(analyzer, mapping, inner)
        if isinstance(divisions, str):
            return []
        result: list[list[Any]] = []
        for each in divisions:
            if each.outer_extent.constant != 1 and not analyzer.is_provably("eq", each.inner_extent, each.factor):
                return []
            sides = ((each.outer, each.outer_extent), (each.inner + each.base, each.inner_extent))
            result.append([IterMark(detection.expr(value), detection.expr(extent)) for value, extent in sides])
    nothing = IterSumExpr([], const(0, detection.dtype))
    return [*result, [IterMark(nothing, detection.condition(each)) for each in conditions]]


__all__ = [
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "detect_iter_map",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "subspace_divide",
]
