"""Uses of iterator maps: inversion from values to loops, and division into outer and inner loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ..index import Analyzer, Lin
from .terms import DigitSource, Domain, DomainVar, Fused, IterMap, IterSplit, IterSum, assume_nonempty, axis_name


def invert(analyzer: Analyzer, mapping: IterMap, values: Sequence[Lin]) -> dict[SSAValue, Lin] | str:
    """The variables of the domain as sums, when the bindings have `values`; or the reason why the values do not
    determine them.

    Correct for values that the bindings take at a point of the domain; for others the results are meaningless.
    """
    if mapping.loss is not None:
        return mapping.loss
    with assume_nonempty(analyzer, mapping.domain):
        numbers = _numbers(analyzer, zip(mapping.sums, values, strict=True))
    result: dict[SSAValue, Lin] = {}
    for variable in mapping.domain.variables:
        source, number = numbers.get(variable.value, (variable, Lin()))
        result[variable.value] = source.low + number * source.step
    return result


def _numbers(analyzer: Analyzer, sums: Iterable[tuple[IterSum, Lin]]) -> dict[SSAValue, tuple[DomainVar, Lin]]:
    """The number of each variable that appears in sums of known values."""
    numbers: dict[DigitSource, Lin] = {}
    seen: set[tuple[DigitSource, Lin]] = set()  # a digit may be in several sums
    todo = list(sums)
    while todo:
        for total, value in todo:
            for split, digit in _digits(analyzer, total, value):
                if (split.source, split.lower) in seen:
                    continue
                seen.add((split.source, split.lower))
                part = analyzer.mul(digit, split.lower)
                numbers[split.source] = analyzer.add(numbers.get(split.source, Lin()), part)
        # A fused iterator may supply further digits of its parts: so the deepest nesting first.
        fused = max((s for s in numbers if isinstance(s, Fused)), key=lambda s: s.depth, default=None)
        todo = [] if fused is None else [(fused.sum, numbers.pop(fused))]
    return {source.value: (source, n) for source, n in numbers.items() if isinstance(source, DomainVar)}


def _digits(analyzer: Analyzer, total: IterSum, value: Lin) -> list[tuple[IterSplit, Lin]]:
    """The value of each digit of a sum with a known value."""
    upright, low = make_factors_positive(analyzer, total)
    rest, digits = value - low, list[tuple[IterSplit, Lin]]()
    for split, up in zip(total.splits, upright, strict=True):
        digit, rest = analyzer.floordiv(rest, up.scale), analyzer.floormod(rest, up.scale)
        digits.append((split, digit if up is split else split.extent - 1 - digit))
    return digits


def make_factors_positive(analyzer: Analyzer, total: IterSum) -> tuple[list[IterSplit], Lin]:
    """The digits with positive factors, where digits that count down are counted from their other end; and the
    minimum."""
    splits, low = list[IterSplit](), total.base
    for split in total.splits:
        if analyzer.is_provably("lt", split.scale, 0):
            low = low + analyzer.mul(split.scale, split.extent - 1)
            split = replace(split, scale=-split.scale)
        splits.append(split)
    return splits, low


@dataclass(frozen=True)
class Division:
    """`binding = base + outer*factor + inner`: outer depends on the outer loops alone, inner on the inner loops alone.

    Both count from 0 to below their extents, and `inner_extent <= factor` unless there is no outer part.
    """

    outer: Lin
    inner: Lin
    outer_extent: Lin
    inner_extent: Lin
    factor: Lin
    base: Lin


def divide_bindings(
    analyzer: Analyzer, mapping: IterMap, inner: Collection[SSAValue], names: Sequence[str] | None = None
) -> list[Division] | str:
    """The division of each binding into a part of the outer loops and a part of the loops with variables `inner`, or
    the reason why a binding has no such form. Constraints of the domain still hold, on both parts together."""
    divisions: list[Division] = []
    with assume_nonempty(analyzer, mapping.domain):
        for n, total in enumerate(mapping.sums):
            division = _divide(analyzer, total, frozenset(inner))
            if isinstance(division, str):
                return f"{axis_name(names, n)} is {total}, {division}"
            divisions.append(division)
    return divisions


def _divide(analyzer: Analyzer, total: IterSum, inner: frozenset[SSAValue]) -> Division | str:
    splits = _expand(analyzer, total.splits, inner)
    if isinstance(splits, str):
        return splits
    count = next((n for n, s in enumerate(splits) if _side(s, inner) is not False), len(splits))
    wrong = next((s for s in splits[count:] if _side(s, inner) is False), None)
    if wrong is not None:
        return f"in which outer {wrong} is a finer part than inner {splits[count]}"
    outside, inside = (IterSum(tuple(part)) for part in (splits[:count], splits[count:]))
    inner_extent = _extent(analyzer, inside)
    factor = inner_extent if not outside.splits else make_factors_positive(analyzer, outside)[0][-1].scale
    quotients: list[IterSplit] = []
    for split in outside.splits:
        scale = analyzer.floordiv(split.scale, factor)
        if analyzer.mul(scale, factor) != split.scale:
            return f"in which {split} does not move in steps of {factor}"
        quotients.append(replace(split, scale=scale))
    outer, outer_low = _from_zero(analyzer, IterSum(tuple(quotients)))
    inner_part, inner_low = _from_zero(analyzer, inside)
    base = total.base + analyzer.mul(outer_low, factor) + inner_low
    return Division(outer, inner_part, _extent(analyzer, IterSum(tuple(quotients))), inner_extent, factor, base)


def _from_zero(analyzer: Analyzer, total: IterSum) -> tuple[Lin, Lin]:
    """A sum shifted to start at 0, and its original start."""
    low = make_factors_positive(analyzer, total)[1]
    return analyzer.combine(total.lin(analyzer) - low), low


def _extent(analyzer: Analyzer, total: IterSum) -> Lin:
    """The maximum minus the minimum, plus 1."""
    extent = Lin(1)
    for split in make_factors_positive(analyzer, total)[0]:
        extent = analyzer.add(extent, analyzer.mul(split.scale, split.extent - 1))
    return extent


def _side(split: IterSplit, inner: frozenset[SSAValue]) -> bool | None:
    """True for a digit of inner loops, False for a digit of outer loops, None for a digit of both."""
    sides = {v.value in inner for v in split.source.variables()}
    return sides.pop() if len(sides) == 1 else None


def _expand(analyzer: Analyzer, splits: Sequence[IterSplit], inner: frozenset[SSAValue]) -> list[IterSplit] | str:
    """The digits, with iterators over both inner and outer loops replaced by their parts."""
    result: list[IterSplit] = []
    for split in splits:
        if _side(split, inner) is not None:
            result.append(split)
            continue
        source = split.source
        if not isinstance(source, Fused) or split.lower.constant != 1 or not split.is_top(analyzer):
            return f"in which {split} is a part of inner and outer loops together"
        parts = [replace(s, scale=analyzer.mul(s.scale, split.scale)) for s in source.sum.splits]
        opened = _expand(analyzer, parts, inner)
        if isinstance(opened, str):
            return opened
        result += opened
    return result


def split_constraints(domain: Domain, inner: Collection[SSAValue]) -> tuple[list[Lin], list[Lin], list[Lin]]:
    """The constraints of a domain on outer loops alone, on inner loops alone, and on both together."""
    outside, inside, both = list[Lin](), list[Lin](), list[Lin]()
    for constraint in domain.constraints:
        sides = {leaf in inner for leaf in constraint.leaves() if leaf in domain.values()}
        (both if len(sides) > 1 else inside if True in sides else outside).append(constraint)
    return outside, inside, both
