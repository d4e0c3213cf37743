"""Linear sums over atoms: the data of the index normal form, with exact integer meaning and no ranges.

`Lin` is `constant + sum of coefficient * atom`. An atom is an SSA value (a number, signed or unsigned by its type) or a
compound atom: a floor division or remainder, a minimum or maximum, a product of atoms. All numbers are unbounded
integers; the effect of machine types is the business of the import and the export.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from xdsl.ir import SSAValue

MAX_TERMS = 64
"""The maximum number of terms of a useful sum: a value with a longer sum stays opaque."""
MAX_DEPTH = 32
"""The maximum nesting depth of compound atoms, for the same reason (and for Python's stack)."""
MAX_FACTORS = 8
"""The maximum number of factors of a product."""


class Compound:
    """An atom computed from sums or atoms. `args` are in their original order; equality respects commutativity."""

    __slots__ = ("_hash", "_key", "args", "depth")

    symbol: ClassVar[str]

    def __init__(self, *args: Lin | Atom):
        self.args = args
        self.depth: int = 1 + max((depth_of(a) for a in args), default=0)
        self._key: Hashable = self._identity()
        self._hash = hash((type(self), self._key))

    def _identity(self) -> Hashable:
        return self.args

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is type(self) and other._hash == self._hash and other._key == self._key

    def __repr__(self) -> str:
        return render_atom(self)


class _Quotient(Compound):
    """A floor division or remainder: `args` are two sums, the second never zero where the atom has a value. A divisor
    with terms is positive there, though its range may not show it: the loops in the dividend have iterations."""

    __slots__ = ()

    def __init__(self, dividend: Lin, divisor: Lin):
        super().__init__(dividend, divisor)

    @property
    def dividend(self) -> Lin:
        """The dividend."""
        dividend = self.args[0]
        assert isinstance(dividend, Lin)
        return dividend

    @property
    def divisor(self) -> Lin:
        """The divisor."""
        divisor = self.args[1]
        assert isinstance(divisor, Lin)
        return divisor


class DivAtom(_Quotient):
    """`floor(dividend / divisor)`."""

    __slots__ = ()
    symbol = "//"


class ModAtom(_Quotient):
    """`dividend - floor(dividend / divisor) * divisor`."""

    __slots__ = ()
    symbol = "%"


class Extremum(Compound):
    """A minimum or maximum of two or more sums."""

    __slots__ = ()

    def __init__(self, *sums: Lin):
        super().__init__(*sums)

    def _identity(self) -> Hashable:
        return frozenset(self.args)

    @property
    def sums(self) -> tuple[Lin, ...]:
        """The operands."""
        return self.args  # pyright: ignore[reportReturnType]


class MinAtom(Extremum):
    """The minimum of sums."""

    __slots__ = ()
    symbol = "min"


class MaxAtom(Extremum):
    """The maximum of sums."""

    __slots__ = ()
    symbol = "max"


class ProductAtom(Compound):
    """A product of two or more atoms, none of them a product."""

    __slots__ = ()
    symbol = "*"

    def __init__(self, *factors: Atom):
        super().__init__(*factors)

    def _identity(self) -> Hashable:
        return frozenset(Counter(self.args).items())

    @property
    def factors(self) -> tuple[Atom, ...]:
        """The factors."""
        return self.args  # pyright: ignore[reportReturnType]


Atom: TypeAlias = SSAValue | Compound
"""The base of a term in a sum."""


def depth_of(term: Lin | Atom) -> int:
    """The nesting depth of compound atoms in `term`; 0 for an SSA value."""
    return term.depth if isinstance(term, Lin | Compound) else 0


class Lin:
    """`const + sum of coefficient * atom`. Immutable; equal whatever the order of the terms.

    terms: the coefficient of each atom, never 0, in the order of their first addition, which is the order of export.
    """

    __slots__ = ("_hash", "const", "terms")

    def __init__(self, const: int = 0, terms: Mapping[Atom, int] | None = None):
        self.const = const
        self.terms: dict[Atom, int] = {a: k for a, k in terms.items() if k} if terms else {}
        self._hash: int | None = None

    @property
    def depth(self) -> int:
        """The nesting depth of compound atoms; 0 for a sum of SSA values."""
        deepest = 0
        for atom in self.terms:
            if isinstance(atom, Compound) and atom.depth > deepest:
                deepest = atom.depth
        return deepest

    @staticmethod
    def _with_terms(const: int, terms: dict[Atom, int]) -> Lin:
        """The sum with some terms, of which none is 0; sums may share their dictionary."""
        lin = object.__new__(Lin)
        lin.const, lin.terms, lin._hash = const, terms, None
        return lin

    @staticmethod
    def of(atom: Atom, coefficient: int = 1) -> Lin:
        """`coefficient * atom`."""
        return Lin._with_terms(0, {atom: coefficient} if coefficient else {})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.const, frozenset(self.terms.items())))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Lin) and self.const == other.const and self.terms == other.terms)

    def __repr__(self) -> str:
        return render_sum(self)

    def __add__(self, other: Lin | int) -> Lin:
        return self._plus(other, 1)

    def __sub__(self, other: Lin | int) -> Lin:
        return self._plus(other, -1)

    def _plus(self, other: Lin | int, factor: int) -> Lin:
        """The sum of `self` and `factor` times `other`; `factor` is not 0."""
        if not isinstance(other, Lin):
            return Lin._with_terms(self.const + factor * other, self.terms)
        if not other.terms:
            return Lin._with_terms(self.const + factor * other.const, self.terms)
        terms = dict(self.terms)
        for atom, k in other.terms.items():
            total = terms[atom] + factor * k if atom in terms else factor * k
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Lin._with_terms(self.const + factor * other.const, terms)

    def __neg__(self) -> Lin:
        return self * -1

    def __mul__(self, factor: int) -> Lin:
        return Lin._with_terms(self.const * factor, {a: k * factor for a, k in self.terms.items()} if factor else {})

    def times(self, other: Lin) -> Lin:
        """The product of two sums, multiplied out."""
        terms: dict[Atom, int] = {}
        for a, k in self.terms.items():
            for b, m in other.terms.items():
                atom = multiply_atoms(a, b)
                terms[atom] = terms.get(atom, 0) + k * m
            terms[a] = terms.get(a, 0) + k * other.const
        for b, m in other.terms.items():
            terms[b] = terms.get(b, 0) + m * self.const
        return Lin(self.const * other.const, terms)

    @property
    def constant(self) -> int | None:
        """The number equal to a sum without terms, else None."""
        return None if self.terms else self.const

    @property
    def atom(self) -> Atom | None:
        """The atom equal to the sum, or None."""
        if self.const or len(self.terms) != 1:
            return None
        ((atom, k),) = self.terms.items()
        return atom if k == 1 else None

    def leaves(self) -> Iterator[SSAValue]:
        """The SSA values in the sum, including those inside compound atoms, once per occurrence."""
        for atom in self.terms:
            yield from leaves(atom)

    def evaluate(self, number: Callable[[SSAValue], int]) -> int:
        """The value of the sum when each SSA value has the value `number(value)`. ZeroDivisionError for a zero
        divisor."""
        return self.const + sum(k * _evaluate(atom, number) for atom, k in self.terms.items())


def multiply_atoms(a: Atom, b: Atom) -> ProductAtom:
    """The product of two atoms as one atom."""
    return ProductAtom(*_factors(a), *_factors(b))


def exact_quotient(a: Lin, b: Lin) -> Lin | None:
    """The sum q with `a = q * b` as polynomials of atoms; None if there is none."""
    if not b.terms:
        c = b.const
        divides = c and all(k % c == 0 for k in (a.const, *a.terms.values()))
        return Lin(a.const // c, {atom: k // c for atom, k in a.terms.items()}) if divides else None
    divisor, k = max(b.terms.items(), key=lambda term: len(_factors(term[0])))
    quotient, rest = Lin(), a
    for _ in range(MAX_FACTORS):
        if not rest.terms:
            break
        part = next((p for atom, m in rest.terms.items() if (p := _quotient_of_terms(atom, m, divisor, k))), None)
        if part is None:
            return None
        quotient, rest = quotient + part, rest - part.times(b)
    return quotient if rest == Lin() else None


def _quotient_of_terms(a: Atom, k: int, b: Atom, m: int) -> Lin | None:
    """The quotient of `k * a` by `m * b`; None if it is no term."""
    left = Counter(_factors(a))
    left.subtract(_factors(b))
    if k % m or any(n < 0 for n in left.values()):
        return None
    rest = tuple(left.elements())
    return Lin.of(rest[0] if len(rest) == 1 else ProductAtom(*rest), k // m) if rest else Lin(k // m)


def _factors(atom: Atom) -> tuple[Atom, ...]:
    return atom.factors if isinstance(atom, ProductAtom) else (atom,)


def leaves(term: Lin | Atom) -> Iterator[SSAValue]:
    """The values that a sum or an atom is computed from."""
    if isinstance(term, SSAValue):
        yield term
    elif isinstance(term, Lin):
        yield from term.leaves()
    else:
        for arg in term.args:
            yield from leaves(arg)


_EVALUATE: dict[type[Compound], Callable[[list[int]], int]] = {
    DivAtom: lambda n: n[0] // n[1],
    ModAtom: lambda n: n[0] % n[1],
    MinAtom: min,
    MaxAtom: max,
    ProductAtom: math.prod,
}


def _evaluate(term: Lin | Atom, number: Callable[[SSAValue], int]) -> int:
    if isinstance(term, SSAValue):
        return number(term)
    if isinstance(term, Lin):
        return term.evaluate(number)
    return _EVALUATE[type(term)]([_evaluate(arg, number) for arg in term.args])


# Text, for messages and debugging


def hint_of(value: SSAValue) -> str:
    """The name hint of a value, or `_`."""
    return value.name_hint or "_"


def render_sum(lin: Lin, name: Callable[[SSAValue], str] = hint_of) -> str:
    """The sum as Python text: `4*i + j//2 - 1`."""
    text = ""
    for atom, k in lin.terms.items():
        factor = "" if abs(k) == 1 else f"{abs(k)}*"
        part = render_atom(atom, name)
        text += _with_sign(
            k, f"{factor}({part})" if factor and isinstance(atom, _Quotient) else factor + part, first=not text
        )
    if lin.const or not text:
        text += _with_sign(lin.const, str(abs(lin.const)), first=not text)
    return text


def _with_sign(number: int, text: str, *, first: bool) -> str:
    if first:
        return f"-{text}" if number < 0 else text
    return f" - {text}" if number < 0 else f" + {text}"


def render_atom(atom: Atom, name: Callable[[SSAValue], str] = hint_of) -> str:
    """The atom as Python text."""
    if isinstance(atom, SSAValue):
        return name(atom)
    parts = [render_sum(arg, name) if isinstance(arg, Lin) else render_atom(arg, name) for arg in atom.args]
    if isinstance(atom, Extremum):
        return f"{atom.symbol}({', '.join(parts)})"
    return atom.symbol.join(p if p.isidentifier() or p.isdigit() else f"({p})" for p in parts)
