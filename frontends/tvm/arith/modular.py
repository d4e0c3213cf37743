"""The congruences of sums: `tvm.arith.Analyzer.modular_set`."""

from __future__ import annotations

from math import gcd

from xdsl.ir import SSAValue

from ....analysis.index import Analyzer, Atom, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom


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


__all__ = ["modular_set"]
