"""The operations of the normal form: sums, quotients, remainders, minima, simplified as ranges allow.

All rules are identities of unbounded integers, given the ranges. No rule creates a dividend or an operand of a minimum
that needs a wider type than the original, so that the exported expression can be computed in the original type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd

from xdsl.ir import SSAValue

from .ranges import SumRanges
from .terms import (
    MAX_DEPTH,
    MAX_FACTORS,
    MAX_TERMS,
    Atom,
    Compound,
    DivAtom,
    Extremum,
    Lin,
    MaxAtom,
    MinAtom,
    ModAtom,
    ProductAtom,
)

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


class Rules(SumRanges):
    """Arithmetic on sums. Results are in normal form if the operands are."""

    # Sums

    def add(self, a: Lin, b: Lin) -> Lin:
        """`a + b` in normal form."""
        return self.combine(a + b)

    def sub(self, a: Lin, b: Lin) -> Lin:
        """`a - b` in normal form."""
        return self.combine(a - b)

    def mul(self, a: Lin, b: Lin) -> Lin:
        """`a * b` in normal form."""
        return self.combine(a.times(b))

    def combine(self, lin: Lin) -> Lin:
        """Combines quotients and remainders of one dividend: `c*(x//c) + x%c` is `x`, `x - c*(x//c)` is `x%c`."""
        for _ in range(MAX_TERMS):
            better = self._combine_once(lin)
            if better is None:
                break
            lin = better
        return lin

    def _combine_once(self, lin: Lin) -> Lin | None:
        if len(lin.terms) < 2 or not lin.depth:
            return None
        for atom, k in lin.terms.items():
            if isinstance(atom, DivAtom) and (c := atom.divisor.constant) is not None and c > 0 and k % c == 0:
                better = self._combine_quotient(lin, atom, k // c, c)
                if better is not None:
                    return better
            if isinstance(atom, ModAtom) and atom.divisor.constant is None:
                better = self._combine_remainder(lin, atom, k)
                if better is not None:
                    return better
        return None

    def _combine_remainder(self, lin: Lin, mod: ModAtom, k: int) -> Lin | None:
        """`lin`, which has the term `k*(y%b)`, with `k*y` in place of it and of `k*b*(y//b)`; None without the latter
        term."""
        y, b = mod.dividend, mod.divisor
        multiple = Lin.of(DivAtom(y, b)).times(b)
        return lin - multiple * k - Lin.of(mod, k) + y * k if _contains(lin, multiple, k) else None

    def _combine_quotient(self, lin: Lin, div: DivAtom, k: int, c: int) -> Lin | None:
        """`lin`, which has the term `k*c*(y//c)`, without that quotient if the matching terms are present, else
        None."""
        y = div.dividend
        rest = lin - Lin.of(div, k * c)
        if _contains(rest, y, -k):
            return rest + y * k - self.floormod(y, c) * k
        remainder = self.floormod(y, c)
        if _contains(rest, remainder, k):
            return rest - remainder * k + y * k
        return None

    # Quotients

    def floordiv(self, a: Lin, b: Lin | int) -> Lin:
        """`floor(a / b)`. ValueError if b may be 0."""
        b, c = self._divisor(b)
        if c is not None:
            if c > 0:
                return self._div(a, c)
            if self.no_wider(-a, a):
                return self._div(-a, -c)
        quotient, rest = self._split(a, b)
        for shift in (0, 1):  # n*x - 1 is n*(x - 1) + (n - 1)
            if self._is_remainder(rest + b * shift, b):
                return quotient - shift
        return Lin.of(DivAtom(a, b))

    def floormod(self, a: Lin, b: Lin | int) -> Lin:
        """`a - floor(a / b) * b`. ValueError if b may be 0."""
        b, c = self._divisor(b)
        if c is not None:
            if c > 0:
                return self._mod(a, c)
            if self.no_wider(-a, a):
                return -self._mod(-a, -c)
        _, rest = self._split(a, b)
        return next((r for r in (rest, rest + b) if self._is_remainder(r, b)), Lin.of(ModAtom(a, b)))

    def _divisor(self, b: Lin | int) -> tuple[Lin, int | None]:
        """A divisor as a sum, and as a number if it is constant. ValueError if it may be 0."""
        divisor = Lin(b) if isinstance(b, int) else b
        low, high = self.bounds(divisor)
        if self.may_be_0(divisor):
            raise ValueError(f"divisor {divisor} may be zero")
        return (Lin(low), low) if low == high else (divisor, None)

    def may_be_0(self, lin: Lin) -> bool:
        """Whether 0 is in the range of a sum."""
        low, high = self.bounds(lin)
        return low <= 0 <= high

    def _is_remainder(self, rest: Lin, b: Lin) -> bool:
        return self.is_provably("ge", rest, 0) and self.is_provably("lt", rest, b)

    def _split(self, a: Lin, b: Lin) -> tuple[Lin, Lin]:
        """(q, r) with `a = q*b + r`: q collects the visible multiples of b, an atom `m*n`; r is the rest."""
        if b.const or len(b.terms) != 1:
            return Lin(), a
        ((n, m),) = b.terms.items()
        quotient: dict[Atom, int] = {}
        constant = 0
        for atom, k in a.terms.items():
            if k % m:
                continue
            if atom == n:
                constant += k // m
            elif isinstance(atom, ProductAtom) and n in atom.factors:
                left = list(atom.factors)
                left.remove(n)
                quotient[left[0] if len(left) == 1 else ProductAtom(*left)] = k // m
        q = Lin(constant, quotient)
        return q, a - q.times(b)

    def _div(self, a: Lin, c: int) -> Lin:
        if c == 1:
            return a
        quotient = Lin(a.const // c, {x: k // c for x, k in a.terms.items() if k % c == 0})
        rest = Lin(a.const % c, {x: k for x, k in a.terms.items() if k % c})
        if not self.no_wider(rest, a):
            quotient, rest = Lin(), a
        low, high = self.bounds(rest)
        if low // c == high // c:
            return self.combine(quotient + low // c)
        return self.combine(quotient + self._div_rest(rest, c))

    def _div_rest(self, rest: Lin, c: int) -> Lin:
        """`rest // c` of a rest without multiples of c whose quotient is not constant."""
        if (common := self._common_factor(rest, c)) is not None:
            g, x, _ = common
            return self._div(x, c // g)
        if (inner := self._inner_quotient(rest, c)) is not None:
            y, d = inner
            return self._div(y, c * d)
        return Lin.of(DivAtom(rest, Lin(c)))

    def _inner_quotient(self, lin: Lin, c: int) -> tuple[Lin, int] | None:
        """(y, d) if `lin` is `y//d` and `c*d` is in range as a divisor of y."""
        atom = lin.atom
        if not isinstance(atom, DivAtom) or (d := atom.divisor.constant) is None or d < 0:
            return None
        greatest = _INT32_MAX if self.width(atom.dividend) == 32 else _INT64_MAX
        return (atom.dividend, d) if c * d <= greatest else None

    def _mod(self, a: Lin, c: int) -> Lin:
        rest = self._modulo_terms(a, c)
        if not self.no_wider(rest, a):
            rest = a
        low, high = self.bounds(rest)
        if low // c == high // c:
            return self.combine(rest - low // c * c)
        if (common := self._common_factor(rest, c)) is not None:
            g, x, small = common
            return self.combine(self._mod(x, c // g) * g + small)
        if (inner := self._inner_quotient(rest, c)) is not None:  # as quotients of remainders, like TVM
            y, d = inner
            return self._div(self._mod(y, c * d), d)
        return Lin.of(ModAtom(rest, Lin(c)))

    def _modulo_terms(self, a: Lin, c: int) -> Lin:
        """`a` without multiples of c, and without remainders of remainders."""
        rest = Lin(a.const % c, {x: k for x, k in a.terms.items() if k % c})
        for atom, k in rest.terms.items():
            if isinstance(atom, ModAtom) and (d := atom.divisor.constant) is not None and k * d % c == 0:
                opened = rest - Lin.of(atom, k) + atom.dividend * k
                if self.no_wider(opened, a):
                    return self._modulo_terms(opened, c)
        return rest

    def _common_factor(self, rest: Lin, c: int) -> tuple[int, Lin, Lin] | None:
        """(g, x, s) with `rest = g*x + s`, g > 1 a divisor of c, `0 <= s < g`, for the greatest such g."""
        for g in sorted({gcd(c, k) for k in rest.terms.values()} - {1}, reverse=True):
            x = Lin(rest.const // g, {a: k // g for a, k in rest.terms.items() if k % g == 0})
            small = Lin(rest.const % g, {a: k for a, k in rest.terms.items() if k % g})
            low, high = self.bounds(small)
            if low // g == high // g and self.no_wider(x + low // g, rest):
                return g, x + low // g, small - low // g * g
        return None

    # Minima and maxima

    def minimum(self, a: Lin, b: Lin) -> Lin:
        """`min(a, b)` in normal form."""
        return self._extremum(MinAtom, a, b)

    def maximum(self, a: Lin, b: Lin) -> Lin:
        """`max(a, b)` in normal form."""
        return self._extremum(MaxAtom, a, b)

    def _extremum(self, kind: type[Extremum], a: Lin, b: Lin) -> Lin:
        """The extremum of the sums of both operands, without the sums that another sum always dominates."""
        wins = "le" if kind is MinAtom else "ge"
        kept: list[Lin] = []
        for new in (*_sums(kind, a), *_sums(kind, b)):
            if any(self.is_provably(wins, old, new) for old in kept):
                continue
            kept = [old for old in kept if not self.is_provably(wins, new, old)]
            kept.append(new)
        return kept[0] if len(kept) == 1 else Lin.of(kind(*kept))

    # Substitution

    def substitute(self, lin: Lin, replacements: Mapping[SSAValue, Lin]) -> Lin:
        """`lin` with SSA values replaced by equal sums, in normal form. A divisor that is not 0 keeps its value, so it
        is still not 0.

        ValueError if a divisor becomes the number 0.
        """
        if not any(leaf in replacements for leaf in lin.leaves()):
            return lin
        total = Lin(lin.const)
        for atom, k in lin.terms.items():
            total = total + self._substitute_atom(atom, replacements) * k
        return self.combine(total)

    def _substitute_atom(self, atom: Atom, replacements: Mapping[SSAValue, Lin]) -> Lin:
        if isinstance(atom, SSAValue):
            return replacements.get(atom, Lin.of(atom))
        if isinstance(atom, ProductAtom):
            args = [self._substitute_atom(f, replacements) for f in atom.factors]
        else:
            args = [self.substitute(a, replacements) for a in atom.args if isinstance(a, Lin)]
        if isinstance(atom, DivAtom | ModAtom) and self.may_be_0(args[1]):
            with self.assumptions():
                self.assume_not_negative(args[1] - 1)
                return _APPLY[type(atom)](self, *args)
        result = args[0]
        for arg in args[1:]:
            result = _APPLY[type(atom)](self, result, arg)
        return result

    def within_limits(self, lin: Lin) -> bool:
        """Whether a sum is small enough to be analyzed."""
        return (
            len(lin.terms) <= MAX_TERMS
            and (depth := lin.depth) <= MAX_DEPTH
            and (not depth or all(len(a.factors) <= MAX_FACTORS for a in lin.terms if isinstance(a, ProductAtom)))
        )


def _contains(lin: Lin, part: Lin, times: int) -> bool:
    """Whether the terms of `times * part` are terms of `lin`."""
    return bool(times and part.terms) and all(lin.terms.get(a) == times * k for a, k in part.terms.items())


_APPLY: dict[type[Compound], Callable[[Rules, Lin, Lin], Lin]] = {
    DivAtom: Rules.floordiv,
    ModAtom: Rules.floormod,
    MinAtom: Rules.minimum,
    MaxAtom: Rules.maximum,
    ProductAtom: Rules.mul,
}


def _sums(kind: type[Extremum], lin: Lin) -> tuple[Lin, ...]:
    atom = lin.atom
    return atom.sums if isinstance(atom, Extremum) and type(atom) is kind else (lin,)
