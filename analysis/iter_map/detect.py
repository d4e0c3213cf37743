"""Detection of iterator maps: decomposition of bindings into digits of the variables of a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import Any

from ..index import Analyzer, Atom, DivAtom, Lin, ModAtom, ProductAtom
from .terms import (
    DigitSource,
    Domain,
    DomainVar,
    Fused,
    IterMap,
    IterSplit,
    IterSum,
    assume_nonempty,
    axis_name,
    lin_text,
)


class NoIterMap(Exception):
    """The bindings are no iterator map; the text is the reason."""


def detect(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], names: Sequence[str] | None = None
) -> IterMap | str:
    """The bindings as sums of digits of the domain's variables, or the reason why they have no such form.

    The sums are equal to the bindings at every point of the domain. A constraint `sum < n` on digits that the bindings
    use as that sum makes it an iterator of its own, with n values; any other constraint leaves the sums unchanged, and
    the bindings count as dependent.

    names: the name of each binding in messages, for instance `axis vi`.
    """
    with assume_nonempty(analyzer, domain):
        return _Detector(analyzer, domain, names).detect(bindings)


class _Detector:
    def __init__(self, analyzer: Analyzer, domain: Domain, names: Sequence[str] | None):
        self.analyzer = analyzer
        self.names = names
        self.original = domain
        self.domain, self.open = narrow_domain(analyzer, domain)
        self.empty = any(_is_empty(v.extent) for v in self.domain.variables)
        clamped = (replace(v, extent=_at_least_one(v.extent)) for v in self.domain.variables)
        self.domain = replace(self.domain, variables=tuple(clamped))
        self.variables = {v.value: v for v in self.domain.variables}
        self.fused: list[Fused] = []

    def detect(self, bindings: Sequence[Lin]) -> IterMap | str:
        """The bindings as sums of digits, or the reason why they have no such form."""
        for variable in self.domain.variables:
            if self._varies(variable.low) or self._varies(variable.extent):
                return f"the bounds of {variable.name} depend on other loops"
        sums: list[IterSum] = []
        self._learn()
        for n, binding in enumerate(bindings):
            try:
                sums.append(self._order(self._sum(binding)))
            except NoIterMap as reason:
                return f"{axis_name(self.names, n)} is bound to {lin_text(binding)}, {reason}"
        return self._map_of(tuple(sums))

    def _varies(self, lin: Lin) -> bool:
        return any(leaf in self.variables for leaf in lin.leaves())

    # Sums of digits

    def _sum(self, lin: Lin) -> IterSum:
        """A sum as digits in any order, without duplicates, with fused iterators substituted. NoIterMap where this is
        not possible."""
        base, splits = Lin(lin.const), list[IterSplit]()
        for atom, k in lin.terms.items():
            if not self._varies(Lin.of(atom)):
                base = base + Lin.of(atom, k)
                continue
            part = self._atom(atom)
            base = base + part.base * k
            splits += [replace(s, scale=s.scale * k) for s in part.splits]
        return self._fuse(IterSum(tuple(self._collect(splits)), base))

    def _collect(self, splits: Sequence[IterSplit]) -> list[IterSplit]:
        """The same sum with each digit once, without digits that are always 0."""
        scales: dict[tuple[DigitSource, Lin, Lin], Lin] = {}
        for s in splits:
            if s.extent.constant == 1:
                continue
            key = (s.source, s.lower, s.extent)
            scales[key] = scales.get(key, Lin()) + s.scale
        return [IterSplit(*key, scale) for key, scale in scales.items() if scale.constant != 0]

    def _atom(self, atom: Atom) -> IterSum:
        handler = _ATOMS.get(type(atom), _Detector._variable)
        return handler(self, atom)

    def _variable(self, atom: Any) -> IterSum:
        variable = self.variables.get(atom)
        if variable is None:
            raise NoIterMap("which is no sum of quotients and remainders of loops")
        split = IterSplit(variable, Lin(1), variable.extent, Lin(variable.step))
        return IterSum(() if variable.extent.constant == 1 else (split,), variable.low)

    def _product(self, atom: ProductAtom) -> IterSum:
        varying = [f for f in atom.factors if self._varies(Lin.of(f))]
        if len(varying) != 1:
            raise NoIterMap(f"in which {lin_text(Lin.of(atom))} is a product of loops")
        factor = Lin(1)
        for f in atom.factors:
            if f is not varying[0]:
                factor = self.analyzer.mul(factor, Lin.of(f))
        part = self._atom(varying[0])
        splits = tuple(replace(s, scale=self.analyzer.mul(s.scale, factor)) for s in part.splits)
        return IterSum(splits, self.analyzer.mul(part.base, factor))

    def _quotient(self, atom: DivAtom | ModAtom) -> IterSum:
        divisor = atom.divisor
        if self._varies(divisor):
            raise NoIterMap(f"in which {lin_text(Lin.of(atom))} divides by a loop")
        whole = self._sum(atom.dividend)
        split, base = self._as_digit(whole, Lin.of(atom))
        if self.analyzer.constant(self.analyzer.floormod(base, divisor)) != 0:
            raise NoIterMap(f"in which {lin_text(Lin.of(atom))} does not start at a multiple of {lin_text(divisor)}")
        if isinstance(atom, ModAtom):
            return IterSum((self._remainder(split, divisor, atom),))
        return IterSum((self._quotient_digit(split, divisor, atom),), self.analyzer.floordiv(base, divisor))

    def _as_digit(self, whole: IterSum, text: Lin) -> tuple[IterSplit, Lin]:
        """A sum as one digit with factor 1, and the remaining addend."""
        if len(whole.splits) == 1 and whole.splits[0].scale.constant == 1:
            return whole.splits[0], whole.base
        ordered = self._order(whole)
        extent = self.contiguous_extent(ordered)
        if extent is None or any(s.scale.constant is not None and s.scale.constant < 0 for s in ordered.splits):
            raise NoIterMap(f"in which {lin_text(text)} divides what does not count up in steps of 1")
        fused = Fused(IterSum(ordered.splits), extent)
        return IterSplit(fused, Lin(1), extent, Lin(1)), ordered.base

    def _quotient_digit(self, split: IterSplit, divisor: Lin, atom: Atom) -> IterSplit:
        analyzer = self.analyzer
        count = analyzer.floordiv(split.extent + divisor - 1, divisor)
        if not self._divides(divisor, split.extent) and not split.is_top(analyzer):
            raise NoIterMap(f"in which {lin_text(Lin.of(atom))} divides a remainder unevenly")
        return IterSplit(split.source, analyzer.mul(split.lower, divisor), count, Lin(1))

    def _remainder(self, split: IterSplit, divisor: Lin, atom: Atom) -> IterSplit:
        if not self._divides(divisor, split.extent) and not split.is_top(self.analyzer):
            raise NoIterMap(f"in which {lin_text(Lin.of(atom))} divides a remainder unevenly")
        return IterSplit(split.source, split.lower, divisor, Lin(1))

    def _divides(self, divisor: Lin, number: Lin) -> bool:
        return self.analyzer.constant(self.analyzer.floormod(number, divisor)) == 0

    # Order

    def _order(self, total: IterSum) -> IterSum:
        """The digits from the largest factor to the smallest. NoIterMap if the sum does not determine every digit."""
        left, chosen = list(total.splits), list[IterSplit]()
        while left:
            least = self._least(left)
            left.remove(least)
            chosen.append(least)
        return IterSum(tuple(reversed(chosen)), total.base)

    def _least(self, splits: Sequence[IterSplit]) -> IterSplit:
        """The digit whose range is at most the factor of each other digit."""
        problem: tuple[IterSplit, IterSplit] | None = None
        for split in splits:
            span = self.analyzer.mul(self.size(split.scale), split.extent)
            above = [o for o in splits if o is not split and not self._fits_below(span, o)]
            if not above:
                return split
            problem = problem or (split, above[0])
        assert problem is not None
        raise NoIterMap(self._overlap(*problem))

    def _fits_below(self, span: Lin, other: IterSplit) -> bool:
        return self.analyzer.is_provably("le", span, self.size(other.scale))

    def size(self, scale: Lin) -> Lin:
        """The magnitude of a factor; NoIterMap if its sign is unknown."""
        if self.analyzer.is_provably("gt", scale, 0):
            return scale
        if self.analyzer.is_provably("lt", scale, 0):
            return -scale
        raise NoIterMap(f"in which the factor {lin_text(scale)} may be negative or zero")

    def _overlap(self, a: IterSplit, b: IterSplit) -> str:
        """The reason why neither of two digits fits below the other."""
        if self.analyzer.is_provably("gt", self.size(a.scale), self.size(b.scale)):
            a, b = b, a
        width = self.size(a.scale)
        steps = "" if width.constant == 1 else f" in steps of {lin_text(width)}"
        lower, upper = (replace(split, scale=Lin(1)) for split in (a, b))
        apart = lin_text(self.size(b.scale))
        return f"in which {lower} takes {lin_text(a.extent)} values{steps}, but {upper} moves in steps of {apart}"

    def contiguous_extent(self, ordered: IterSum) -> Lin | None:
        """The number of consecutive values of an ordered sum, or None if it leaves gaps."""
        extent = Lin(1)
        for split in reversed(ordered.splits):
            if not self.analyzer.is_provably("eq", self.size(split.scale), extent):
                return None
            extent = self.analyzer.mul(extent, split.extent)
        return extent

    # Constraints

    def _learn(self) -> None:
        """Creates iterators for the sums that constraints limit, small sums first as larger sums contain them."""

        def terms(constraint: Lin) -> int:
            return len(set(constraint.leaves()) & set(self.variables))

        pending, self.open = sorted(self.open, key=terms), []
        for constraint in pending:
            if not self._add_constraint(constraint):
                self.open.append(constraint)

    def _add_constraint(self, constraint: Lin) -> bool:
        """Records the constraint `sum < n`; False if it has another form."""
        try:
            total = self._sum(-constraint)
            splits = total.splits
            common = gcd(*(s.scale.constant or 0 for s in splits))
            if len(splits) < 2 or any(s.scale.constant is None for s in splits) or common == 0:
                return self._add_limit(total)
            ordered = self._order(
                IterSum(tuple(replace(s, scale=Lin((s.scale.constant or 0) // common)) for s in splits))
            )
        except NoIterMap:
            return False
        # total = common * ordered + base <= 0
        return self._add_fused(ordered, self.analyzer.floordiv(-total.base, common) + 1)

    def _add_limit(self, total: IterSum) -> bool:
        if len(total.splits) < 2:
            return self._is_redundant(total)
        return self._add_fused(self._order(IterSum(total.splits)), -total.base + 1)

    def _is_redundant(self, total: IterSum) -> bool:
        """Whether `total <= 0` always holds, by its maximum."""
        greatest = total.base
        for split in total.splits:
            if not self.analyzer.is_provably("le", split.scale, 0):
                if not self.analyzer.is_provably("gt", split.scale, 0):
                    return False
                greatest = greatest + self.analyzer.mul(split.scale, split.extent - 1)
        return self.analyzer.is_provably("le", greatest, 0)

    def _add_fused(self, ordered: IterSum, limit: Lin) -> bool:
        """Records the bound `limit` of an ordered sum; False if the bound cannot be represented."""
        if any(not self.analyzer.is_provably("gt", s.scale, 0) for s in ordered.splits):
            return False
        extent = self.contiguous_extent(ordered)
        if extent is None:
            return False
        if self.analyzer.is_provably("le", extent, limit):
            return True
        if not self.analyzer.is_provably("le", limit, extent):
            return False
        self.empty = self.empty or _is_empty(limit)
        self.fused.append(Fused(ordered, _at_least_one(limit)))
        return True

    def _fuse(self, total: IterSum) -> IterSum:
        """The sum with digits replaced by the fused iterators that they form together."""
        splits = list(total.splits)
        for fused in self.fused:
            inner = fused.sum.splits
            last = next((s for s in splits if _same_digit(s, inner[-1])), None)
            if last is None:
                continue
            wanted = [replace(s, scale=self.analyzer.mul(s.scale, last.scale)) for s in inner]
            if all(w in splits for w in wanted):
                position = splits.index(wanted[0])
                splits[position] = IterSplit(fused, Lin(1), fused.extent, last.scale)
                splits = [s for s in splits if s not in wanted]
        return IterSum(tuple(splits), total.base)

    # Properties of the map

    def _map_of(self, sums: tuple[IterSum, ...]) -> IterMap:
        used = _used_splits([s for total in sums for s in total.splits])
        loss = next((r for v in self.domain.variables if (r := self._why_unused(v, used))), None)
        loss = loss or next((r for source, splits in used.items() if (r := self._loss(source, splits))), None)
        domain = replace(self.domain, constraints=self.original.constraints)
        dependence = next((r for source, splits in used.items() if (r := self._dependence(source, splits))), None)
        return IterMap(domain, sums, dependence or self._remaining_condition(used), loss, self.empty)

    def _why_unused(self, variable: DomainVar, used: dict[DigitSource, list[IterSplit]]) -> str | None:
        if variable.extent.constant in (0, 1) or variable in used:
            return None
        return f"{variable.name} takes {lin_text(variable.extent)} values that no binding tells apart"

    def _sort_digits(self, splits: Sequence[IterSplit]) -> list[IterSplit] | None:
        """The digits of one iterator from the least significant on; None if they overlap or are not aligned."""
        left, chosen = list(dict.fromkeys(splits)), list[IterSplit]()
        while left:

            def below(split: IterSplit) -> bool:
                end = self.analyzer.mul(split.lower, split.extent)
                return all(o is split or self._divides(end, o.lower) for o in left)

            least = next((s for s in left if below(s)), None)
            if least is None:
                return None
            left.remove(least)
            chosen.append(least)
        return chosen

    def _loss(self, source: DigitSource, splits: Sequence[IterSplit]) -> str | None:
        """The reason why the digits do not determine their iterator, or None."""
        problem = f"only {_texts(splits)} of {source.name}, which takes {lin_text(source.extent)} values, is bound"
        digits, end = self._sort_digits(splits), Lin(1)
        if digits is None:
            return problem
        for digit in digits:
            if not self.analyzer.is_provably("eq", digit.lower, end):
                return problem
            end = self.analyzer.mul(end, digit.extent)
        return None if self.analyzer.is_provably("ge", end, source.extent) else problem

    def _dependence(self, source: DigitSource, splits: Sequence[IterSplit]) -> str | None:
        """The reason why some combinations of values of the digits do not occur, or None."""
        if len(set(map(_digit, splits))) != len(splits):
            return f"{_texts(splits)} is in more than one place"
        digits = self._sort_digits(splits)
        if digits is None:
            return f"{_texts(splits)} overlap as parts of {source.name}"
        last = digits[-1]
        end = self.analyzer.mul(last.lower, last.extent)
        if len(digits) == 1:
            end = self.analyzer.mul(last.lower, last.extent - 1) + 1
        if self.analyzer.is_provably("le", end, source.extent):
            return None
        count = lin_text(source.extent)
        return f"{_texts(splits)} do not take every combination of values, as {source.name} takes {count} values"

    def _remaining_condition(self, used: dict[DigitSource, list[IterSplit]]) -> str | None:
        """The condition that restricts the digits beyond the ranges of their iterators, or None."""
        if not self.domain.exact:
            return "a condition on the loops is not known to be affine"
        for fused in self.fused:
            if fused not in used:
                return f"{fused.name} < {lin_text(fused.extent)} restricts loops that are bound one by one"
        if self.open:
            return f"the condition {lin_text(self.open[0])} >= 0 restricts the loops"
        return None


def _digit(split: IterSplit) -> tuple[DigitSource, Lin, Lin]:
    return split.source, split.lower, split.extent


def _same_digit(a: IterSplit, b: IterSplit) -> bool:
    return _digit(a) == _digit(b)


def _texts(splits: Sequence[IterSplit]) -> str:
    return " and ".join(dict.fromkeys(str(replace(s, scale=Lin(1))) for s in splits))


def _used_splits(splits: Sequence[IterSplit]) -> dict[DigitSource, list[IterSplit]]:
    """The digits used of each iterator, including the digits inside fused iterators."""
    used: dict[DigitSource, list[IterSplit]] = {}
    todo = list(splits)
    while todo:
        split = todo.pop(0)
        if isinstance(split.source, Fused) and split.source not in used:
            todo += split.source.sum.splits
        used.setdefault(split.source, []).append(split)
    return used


def narrow_domain(analyzer: Analyzer, domain: Domain) -> tuple[Domain, list[Lin]]:
    """The domain with constraints on one variable as bounds of it, and the remaining constraints."""
    variables = {v.value: v for v in domain.variables}
    left: list[Lin] = []
    for constraint in domain.constraints:
        inside = [v for v in dict.fromkeys(constraint.leaves()) if v in variables]
        if not inside:
            continue  # the same at every point: either nothing runs, or the constraint is redundant
        narrower = _narrow(analyzer, variables[inside[0]], constraint) if len(inside) == 1 else None
        if narrower is None:
            left.append(constraint)
        else:
            variables[inside[0]] = narrower
    return replace(domain, variables=tuple(variables.values()), constraints=()), left


def _is_empty(extent: Lin) -> bool:
    return extent.constant is not None and extent.constant < 1


def _at_least_one(extent: Lin) -> Lin:
    """The extent, or 1 if it is known to be 0 or less: the domain has no points then, and any number will do."""
    return Lin(1) if _is_empty(extent) else extent


def _narrow(analyzer: Analyzer, variable: DomainVar, constraint: Lin) -> DomainVar | None:
    """The variable under `constraint >= 0`, a condition on it alone; None if the result is not a single range of known
    size."""
    k = constraint.terms.get(variable.value, 0)
    rest = constraint - Lin.of(variable.value, k)
    if k == 0 or variable.value in rest.leaves():
        return None
    # factor*number + offset >= 0
    offset, factor = rest + variable.low * k, k * variable.step
    if factor < 0:
        extent = analyzer.floordiv(offset, -factor) + 1
        if not _is_settled(analyzer, extent, variable):
            return None
        return replace(variable, extent=analyzer.minimum(variable.extent, extent))
    first = analyzer.maximum(-analyzer.floordiv(offset, factor), Lin())
    if not _is_settled(analyzer, first, variable):
        return None
    low, extent = variable.low + first * variable.step, variable.extent - first
    return replace(variable, low=low, extent=extent)


def _is_settled(analyzer: Analyzer, number: Lin, variable: DomainVar) -> bool:
    """Whether the order of a new bound of a variable and its old bounds is known."""
    return analyzer.compare("le", number, variable.extent) is not None and analyzer.compare("ge", number, 0) is not None


_ATOMS: dict[type[Any], Callable[[_Detector, Any], IterSum]] = {
    ProductAtom: _Detector._product,  # pyright: ignore[reportPrivateUsage]
    DivAtom: _Detector._quotient,  # pyright: ignore[reportPrivateUsage]
    ModAtom: _Detector._quotient,  # pyright: ignore[reportPrivateUsage]
}
