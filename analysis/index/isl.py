"""Sums as text in isl's syntax."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from .terms import Atom, DivAtom, Extremum, Lin, ModAtom


def isl_text(lin: Lin, name: Callable[[SSAValue], str]) -> str | None:
    """`lin` as a quasi-affine expression of isl; None for a sum with a product of values or a quotient by a value.

    name: the name of a value, an identifier of isl.
    """
    parts: list[str] = []
    for atom, k in lin.terms.items():
        text = _atom_text(atom, name)
        if text is None:
            return None
        parts.append(text if k == 1 else f"{k}*{text}")
    if lin.const or not parts:
        parts.append(str(lin.const))
    return " + ".join(parts).replace("+ -", "- ")


def _atom_text(atom: Atom, name: Callable[[SSAValue], str]) -> str | None:
    if isinstance(atom, SSAValue):
        return name(atom)
    if isinstance(atom, Extremum):
        texts = [isl_text(s, name) for s in atom.sums]
        known = [t for t in texts if t is not None]
        return f"{atom.symbol}({', '.join(known)})" if len(known) == len(texts) else None
    if not isinstance(atom, DivAtom | ModAtom):
        return None
    dividend, c = isl_text(atom.dividend, name), atom.divisor.constant
    if dividend is None or c is None or c <= 0:
        return None
    return f"floor(({dividend})/{c})" if isinstance(atom, DivAtom) else f"(({dividend}) mod {c})"
