"""The congruences of sums: `tvm.arith.Analyzer.modular_set`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd
from typing import TypeAlias

from xdsl.ir import SSAValue

from ....analysis.index import Analyzer, Atom, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom
from ....expressions.expr import (
    EQ,
    Add,
    And,
    BinaryOp,
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    PrimExpr,
    Select,
    Sub,
    Var,
)

Congruence: TypeAlias = tuple[int, int]
"""A coefficient `c` and a base `b`: the integers `c * n + b`; `c` is 0 for a constant."""
ANY: Congruence = (1, 0)
"""All integers."""


class Congruences:
    """The congruences of expressions whose arithmetic in 32 bits and fewer does not overflow.

    conditions: hold; those of the form `x % k == b` state congruences of variables.  is_nonnegative: whether an
    expression is never negative.
    """

    def __init__(self, conditions: Iterable[PrimExpr], is_nonnegative: Callable[[PrimExpr], bool]):
        self._known: dict[Var, Congruence] = {}
        self._is_nonnegative = is_nonnegative
        for condition in conditions:
            self._assume(condition)

    def _assume(self, condition: PrimExpr) -> None:
        if isinstance(condition, And) and not isinstance(condition, Or):
            for part in condition.children:
                self._assume(part)
        if not isinstance(condition, EQ) or not isinstance(condition.a, Mod | FloorMod):
            return
        var, divisor, rest = condition.a.a, condition.a.b, condition.b
        if isinstance(var, Var) and isinstance(divisor, IntImm) and isinstance(rest, IntImm) and divisor.value:
            stated = _normal(divisor.value, rest.value)
            self._known[var] = intersection(self._known.get(var, ANY), stated)

    def of(self, expr: PrimExpr) -> Congruence:
        """The congruence of an integer expression; that of arithmetic in int64, which may wrap, is unknown."""
        match expr:
            case IntImm():
                return 0, expr.value
            case Var():
                return self._known.get(expr, ANY)
            case PrimExpr() if expr.data_type.bits > 32 and not isinstance(expr, Cast):
                return ANY
            case Cast() if expr.value.data_type.is_int and expr.data_type.bits >= expr.value.data_type.bits:
                is_same = expr.data_type.kind == expr.value.data_type.kind
                return self.of(expr.value) if is_same else ANY
            case Select():
                return _union(*map(self.of, expr.children[1:]))
            case Call(name="shr") if isinstance(expr.args[1], IntImm) and 0 <= expr.args[1].value < 32:
                return _quotient(self.of(expr.args[0]), 1 << expr.args[1].value)
            case BinaryOp():
                return self._of_binary(expr)
            case _:
                return ANY

    def _of_binary(self, expr: BinaryOp) -> Congruence:
        left, right = self.of(expr.a), self.of(expr.b)
        (c, b), (d, e) = left, right
        match expr:
            case Add():
                return _normal(gcd(c, d), b + e)
            case Sub():
                return _normal(gcd(c, d), b - e)
            case Mul():
                return _normal(gcd(c * d, c * e, d * b), b * e)
            case Min() | Max():
                return _union(left, right)
            case FloorDiv() | Div() if d == 0 and e > 0:
                rounds_down = isinstance(expr, FloorDiv) or b % e == c % e == 0 or self._is_nonnegative(expr.a)
                return _quotient(left, e) if rounds_down else ANY
            case FloorMod() | Mod() if d == 0 and e > 0:
                common = gcd(c, e)
                is_floor = isinstance(expr, FloorMod) or b % common == 0 or self._is_nonnegative(expr.a)
                return _normal(common, b) if is_floor else ANY
            case _:
                return ANY


def _quotient(value: Congruence, divisor: int) -> Congruence:
    """The congruence of quotients rounded down."""
    coeff, base = value
    return ANY if coeff % divisor else _normal(coeff // divisor, base // divisor)


def _union(left: Congruence, right: Congruence) -> Congruence:
    return _normal(gcd(left[0], right[0], left[1] - right[1]), left[1])


def intersection(left: Congruence, right: Congruence) -> Congruence:
    """The integers of both congruences; the first one if there is none."""
    (c, b), (d, e) = left, right
    if 0 in (c, d):
        return left if c == 0 else right
    common = gcd(c, d)
    if (e - b) % common:
        return left
    steps = (e - b) // common * pow(c // common, -1, d // common) if d != common else 0
    return _normal(c * d // common, b + c * steps)


def modular_set(analyzer: Analyzer, lin: Lin) -> tuple[int, int]:
    """The coefficient `c` and the base `b` of a sum whose values are `c * n + b`; `c` is 0 for a constant."""
    coeff, base = 0, lin.const
    for atom, factor in lin.terms.items():
        own, rest = _of_atom(analyzer, atom)
        coeff = gcd(coeff, factor * own)
        base += factor * rest
    return _normal(coeff, base)


def _normal(coeff: int, base: int) -> tuple[int, int]:
    return abs(coeff), base % abs(coeff) if coeff else base


def _of_atom(analyzer: Analyzer, atom: Atom) -> tuple[int, int]:
    match atom:
        case SSAValue():
            low, high = analyzer.atom_bounds(atom)
            return (0, int(low)) if low == high else (1, 0)
        case ModAtom():
            coeff, base = modular_set(analyzer, atom.dividend)
            divisor = atom.divisor.constant
            return (1, 0) if divisor is None else _normal(gcd(coeff, divisor), base)
        case DivAtom():
            coeff, base = modular_set(analyzer, atom.dividend)
            divisor = atom.divisor.constant
            return (1, 0) if not divisor or coeff % divisor else _normal(coeff // divisor, base // divisor)
        case MinAtom() | MaxAtom():
            parts = [modular_set(analyzer, each) for each in atom.sums]
            base = parts[0][1]
            return _normal(gcd(*(n for coeff, other in parts for n in (coeff, other - base))), base)
        case ProductAtom():
            coeff, base = 0, 1
            for factor in atom.factors:
                own, rest = _of_atom(analyzer, factor)
                coeff, base = gcd(coeff * own, coeff * rest, base * own), base * rest
            return _normal(coeff, base)
        case _:
            return 1, 0


__all__ = ["Congruences", "intersection", "modular_set"]
