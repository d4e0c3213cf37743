"""Ranges of sums: intervals of atoms, facts under assumptions, and proofs from both."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from typing import Any, TypeVar

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue

from ...core.dtypes import dtype_of, int_range
from ...core.intervals import (
    Interval,
    floordiv,
    floormod,
    intersect,
    linear,
    maximum,
    minimum,
    mul,
    signed_range,
    within,
)
from ...core.keeping import kept_with_argument
from .terms import Atom, Compound, DivAtom, Extremum, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom, exact_quotient

Key = TypeVar("Key")
Result = TypeVar("Result")

_INT32, _INT64 = signed_range(32), signed_range(64)

# A search for a bound adds at most `_SEARCH_DEPTH` facts to a sum, and examines at most `_SEARCH_BUDGET` sums: limits
# four times as large found no further proof in any schedule tried.
_SEARCH_DEPTH = 3
_SEARCH_BUDGET = 128


@kept_with_argument
def type_range(type: Attribute) -> Interval:
    """The range of an integer or index type; ValueError for another type."""
    if not isinstance(type, IntegerType | IndexType):
        raise ValueError(f"{type} is not an integer type")
    return int_range(dtype_of(type))


def _intersect(a: Interval, b: Interval) -> Interval:
    """The intersection of two intervals; `a` if it is empty (in dead code, where any fact holds)."""
    return intersect(a, b) or a


@dataclass
class AssumptionScope:
    """The assumptions in one part of a program, and the cached results under them."""

    limits: dict[Atom, Interval] = field(default_factory=dict[Atom, Interval])
    facts: dict[Atom, list[Lin]] = field(default_factory=dict[Atom, list[Lin]])
    known: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    bounds: dict[Lin, Interval] = field(default_factory=dict[Lin, Interval])
    values: dict[SSAValue, tuple[Interval, list[Lin]]] = field(
        default_factory=dict[SSAValue, tuple[Interval, list[Lin]]]
    )
    imports: dict[SSAValue, Lin] = field(default_factory=dict[SSAValue, Lin])
    decisions: dict[SSAValue, bool | None] = field(default_factory=dict[SSAValue, bool | None])

    def inner(self) -> AssumptionScope:
        """A scope with the same assumptions and no cached results."""
        facts = {atom: list(facts) for atom, facts in self.facts.items()}
        return AssumptionScope(dict(self.limits), facts, dict(self.known))

    def forget(self) -> None:
        """Drops the cached results, because of a new assumption."""
        for computed in (self.bounds, self.values, self.imports, self.decisions):
            computed.clear()


class SumRanges:
    """Intervals of sums, and proofs that a sum is not negative.

    An SSA value has the range of its type unless `value_range` (which subclasses override) returns a smaller range. A
    *fact* is a sum that is at least 0. Facts of one atom become limits of that atom; others are added to a sum, as
    often as cancels one of its terms, in search of a better bound.
    """

    def __init__(self) -> None:
        self.scope = AssumptionScope()
        self._budget = 0
        self._busy: set[SSAValue] = set()
        self._partial: list[tuple[dict[Any, Any], Any]] | None = None
        """The cached results since a range was asked for that is being computed; None before."""

    @contextmanager
    def assumptions(self) -> Generator[None]:
        """Discards the assumptions of the body at its end."""
        saved, self.scope = self.scope, self.scope.inner()
        try:
            yield
        finally:
            self.scope = saved

    def assume_not_negative(self, lin: Lin) -> None:
        """Assumes `lin >= 0` in the current scope, and what follows for the factors of a product and for the dividend
        of a quotient if `lin` is one such term and a constant."""
        if not lin.terms:
            return
        for implied in self._implied(lin):
            self.assume_not_negative(implied)
        if len(lin.terms) > 1:
            for atom in lin.terms:
                self.scope.facts.setdefault(atom, []).append(lin)
        else:
            ((atom, k),) = lin.terms.items()
            low, high = self.atom_bounds(atom)
            limit = (-(lin.const // k), high) if k > 0 else (low, lin.const // -k)
            if limit[0] <= low and high <= limit[1]:  # known already: cached results remain
                return
            if limit[0] <= limit[1]:  # else dead code, where any fact holds
                self.scope.limits[atom] = limit
        self.scope.forget()

    def _implied(self, lin: Lin) -> Iterator[Lin]:
        """Sums that are not negative if `lin` is not: if `m * n >= 1` and one is not negative, both are positive; if
        `x // 16 >= 1`, then `x >= 16`; if `max(n, 0) >= 1`, then `n >= 1`."""
        ((atom, k), *others) = lin.terms.items()
        if others or k <= 0 or (least := -(lin.const // k)) < 1:
            return
        if isinstance(atom, ProductAtom) and sum(self.atom_bounds(factor)[0] < 0 for factor in atom.factors) <= 1:
            yield from (Lin.of(factor) - 1 for factor in atom.factors)
        if isinstance(atom, DivAtom) and (c := atom.divisor.constant) is not None and c > 0:
            yield atom.dividend - c * least
        if isinstance(atom, MaxAtom):
            large = [part for part in atom.sums if self.bounds(part)[1] >= least]
            yield from (part - least for part in large if len(large) == 1)

    # Values

    def value_range(self, value: SSAValue) -> tuple[Interval, list[Lin]]:
        """The range of an SSA value, and facts about it: sums with the value as a term that are at least 0.

        Such a fact is used only to cancel the value itself: it holds where the value is defined, and need not hold
        elsewhere for the other atoms in it.
        """
        return type_range(value.type), []

    def _value(self, value: SSAValue) -> tuple[Interval, list[Lin]]:
        range_and_facts = self.scope.values.get(value)
        if range_and_facts is not None:
            return range_and_facts
        if value in self._busy:  # the range of the value depends on a fact about it
            self._partial = self._partial or []
            return type_range(value.type), []
        self._busy.add(value)
        try:
            range_and_facts = self.value_range(value)
        finally:
            self._busy.remove(value)
            if not self._busy:
                self._forget_partial_results()
        return self.remember(self.scope.values, value, range_and_facts)

    def remember(self, cache: dict[Key, Result], key: Key, result: Result) -> Result:
        """Caches a result, and returns it. A result computed after a range was asked for that is being computed is
        forgotten when that range is known: it may be weaker than what is known then."""
        cache[key] = result
        if self._partial is not None:
            self._partial.append((cache, key))
        return result

    def _forget_partial_results(self) -> None:
        for cache, key in self._partial or ():
            cache.pop(key, None)
        self._partial = None

    def product_limit(self, atom: ProductAtom) -> int | None:
        """An upper bound of a product from its factors; None if unknown."""
        return None

    # Intervals

    def atom_bounds(self, atom: Atom) -> Interval:
        """The minimum and maximum of an atom."""
        own = _COMPOUND_BOUNDS[type(atom)](self, atom) if isinstance(atom, Compound) else self._value(atom)[0]
        limit = self.scope.limits.get(atom)
        return own if limit is None else _intersect(own, limit)

    def bounds(self, lin: Lin) -> Interval:
        """The minimum and maximum of a sum."""
        if not lin.terms:
            return lin.const, lin.const
        interval = self.scope.bounds.get(lin)
        if interval is None:
            # Cached before the refinement, whose facts may be about this very sum.
            interval = self.remember(self.scope.bounds, lin, self._interval(lin))
            if self._is_refinable(lin):
                refined = _intersect(interval, (self._least(lin), -self._least(-lin)))
                interval = self.remember(self.scope.bounds, lin, refined)
        return interval

    def _least(self, lin: Lin) -> int:
        saved, self._budget = self._budget, _SEARCH_BUDGET
        least = self._search(lin, _SEARCH_DEPTH)
        self._budget = saved
        return least

    def _interval(self, lin: Lin) -> Interval:
        return linear(lin.const, ((self.atom_bounds(atom), k) for atom, k in lin.terms.items()))

    def _is_refinable(self, lin: Lin) -> bool:
        """Whether adding facts may find better bounds than the intervals of the atoms."""
        if len(lin.terms) < 2:
            return any(self.scope.facts.get(a) for a in lin.terms)
        return any(
            self.scope.facts.get(a)
            or (not isinstance(a, ProductAtom) if isinstance(a, Compound) else self._value(a)[1])
            for a in lin.terms
        )

    def _search(self, lin: Lin, depth: int) -> int:
        """A lower bound of `lin`: the best found by adding up to `depth` facts."""
        best = self._interval(lin)[0]
        for atom, k in lin.terms.items():
            if not depth or self._budget <= 0:
                break
            if isinstance(atom, Extremum):
                without = lin - Lin.of(atom, k)
                self._budget -= len(atom.sums)
                # An extremum equals one of its sums; where a smaller extremum makes `lin` larger (or the reverse), any
                # of its sums is a bound.
                choose = max if (k > 0) == isinstance(atom, MaxAtom) else min
                best = max(best, choose(self._search(without + s * k, depth - 1) for s in atom.sums))
            nested = _facts_of_nested_quotients(atom, lin) if isinstance(atom, DivAtom) else ()
            for fact in (*self._facts(atom), *nested):
                m = fact.terms.get(atom, 0)
                if m * k > 0 and k % m == 0:
                    self._budget -= 1
                    best = max(best, self._search(lin - fact * (k // m), depth - 1))
        return best

    def _facts(self, atom: Atom) -> list[Lin]:
        """Facts that may cancel an atom: the assumed facts, and the facts that follow from the kind of the atom."""
        facts = self.scope.facts.get(atom, [])
        if isinstance(atom, SSAValue):
            return facts + self._value(atom)[1]
        if isinstance(atom, DivAtom) and (c := atom.divisor.constant) is not None and c > 0:
            rest = atom.dividend - Lin.of(atom, c)  # the remainder
            return [*facts, rest, -rest + (c - 1)]
        if isinstance(atom, DivAtom | ModAtom) and not atom.divisor.terms:
            return [*facts, atom.dividend - Lin.of(atom)] if self._is_small_remainder(atom) else facts
        if isinstance(atom, DivAtom | ModAtom):
            return facts + self._digit_facts(atom)
        return facts

    def _is_small_remainder(self, atom: DivAtom | ModAtom) -> bool:
        return isinstance(atom, ModAtom) and self.bounds(atom.dividend)[0] >= 0

    def _digit_facts(self, atom: DivAtom | ModAtom) -> list[Lin]:
        """Facts about a quotient or remainder by a symbolic divisor, which is positive."""
        if isinstance(atom, DivAtom):
            return [last - Lin.of(atom) for last in self.last_quotients(atom)]
        facts = [atom.divisor - 1 - Lin.of(atom)]
        return [*facts, atom.dividend - Lin.of(atom)] if self._is_small_remainder(atom) else facts

    def last_quotients(self, atom: DivAtom) -> list[Lin]:
        """Sums that a quotient by a positive symbolic divisor does not exceed: `f // n <= 31` if `f < n * 32`."""
        variable = atom.dividend.atom
        if not isinstance(variable, SSAValue):
            return []
        known = self.scope.facts.get(variable, []) + self._value(variable)[1]
        ends = [fact + Lin.of(variable) + 1 for fact in known if fact.terms.get(variable) == -1]
        return [quotient - 1 for end in ends if (quotient := exact_quotient(end, atom.divisor)) is not None]

    # Queries

    def width(self, lin: Lin) -> int | None:
        """The bits of the smallest type of at least 32 bits that holds every value of a sum: 32, 64 or None."""
        bounds = self.bounds(lin)
        if within(bounds, _INT32):
            return 32
        return 64 if within(bounds, _INT64) else None

    def fits(self, lin: Lin, type: Attribute) -> bool:
        """Whether every value of a sum is in the range of an integer type."""
        return within(self.bounds(lin), type_range(type))

    def no_wider(self, lin: Lin, than: Lin) -> bool:
        """Whether computing `lin` needs no wider type than computing `than`."""
        have, want = self.width(than), self.width(lin)
        return want is not None and (have is None or want <= have)

    def constant(self, lin: Lin) -> int | None:
        """The number that a sum is always equal to, or None."""
        low, high = self.bounds(lin)
        return low if low == high else None

    def compare(self, name: str, a: Lin | int, b: Lin | int) -> bool | None:
        """Whether `a <name> b` (`lt`, `le`, `gt`, `ge`, `eq`, `ne`) holds always (True) or never (False), or None."""
        lhs, rhs = (Lin(x) if isinstance(x, int) else x for x in (a, b))
        if name in ("gt", "ge"):
            lhs, rhs, name = rhs, lhs, {"gt": "lt", "ge": "le"}[name]
        difference = rhs - lhs
        low, high = self.bounds(difference)
        if name in ("lt", "le"):
            least = 1 if name == "lt" else 0
            return True if low >= least else False if high < least else None
        equal = True if low == high == 0 else False if low > 0 or high < 0 or _never_zero(difference) else None
        return equal if equal is None or name == "eq" else not equal

    def is_provably(self, name: str, a: Lin | int, b: Lin | int) -> bool:
        """Whether `a <name> b` (`lt`, `le`, `gt`, `ge`, `eq`, `ne`) provably always holds."""
        return self.compare(name, a, b) is True


def _facts_of_nested_quotients(atom: DivAtom, lin: Lin) -> Iterator[Lin]:
    """Facts about quotients in a sum whose dividends differ by a number, and of which one divisor is a multiple of the
    other: `0 <= x // 2 - 8 * (x // 16) <= 7`."""
    for other in lin.terms:
        for fine, coarse in ((atom, other), (other, atom)) if isinstance(other, DivAtom) else ():
            small, large = fine.divisor.constant, coarse.divisor.constant
            if small is None or large is None or not 0 < small < large or large % small:
                continue
            shift = (coarse.dividend - fine.dividend).constant
            if shift is not None:
                rest = Lin.of(fine) - Lin.of(coarse, large // small)
                yield rest - (-shift) // small
                yield -rest + (large - 1 - shift) // small


def _never_zero(lin: Lin) -> bool:
    """Whether the greatest common divisor of the coefficients does not divide the constant."""
    divisor = gcd(*lin.terms.values())
    return divisor != 0 and lin.const % divisor != 0


# Intervals of compound atoms


def _div_bounds(ranges: SumRanges, atom: DivAtom) -> Interval:
    low, high = floordiv(ranges.bounds(atom.dividend), _divisor_bounds(ranges, atom))
    if atom.divisor.terms:
        high = min([high, *(max(low, ranges.bounds(last)[1]) for last in ranges.last_quotients(atom))])
    return low, high


def _mod_bounds(ranges: SumRanges, atom: ModAtom) -> Interval:
    return floormod(ranges.bounds(atom.dividend), _divisor_bounds(ranges, atom))


def _divisor_bounds(ranges: SumRanges, atom: DivAtom | ModAtom) -> Interval:
    """The range of a divisor. A symbolic divisor is positive where the atom has a value."""
    low, high = ranges.bounds(atom.divisor)
    return (max(low, 1), max(high, 1)) if atom.divisor.terms else (low, high)


def _min_bounds(ranges: SumRanges, atom: MinAtom) -> Interval:
    return reduce(minimum, map(ranges.bounds, atom.sums))


def _max_bounds(ranges: SumRanges, atom: MaxAtom) -> Interval:
    return reduce(maximum, map(ranges.bounds, atom.sums))


def _product_bounds(ranges: SumRanges, atom: ProductAtom) -> Interval:
    low, high = reduce(mul, map(ranges.atom_bounds, atom.factors))
    limit = ranges.product_limit(atom)
    return low, high if limit is None else min(high, limit)


_COMPOUND_BOUNDS: dict[type[Compound], Callable[[SumRanges, Any], Interval]] = {
    DivAtom: _div_bounds,
    ModAtom: _mod_bounds,
    MinAtom: _min_bounds,
    MaxAtom: _max_bounds,
    ProductAtom: _product_bounds,
}
