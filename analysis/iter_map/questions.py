"""Checks whether bindings are injective, onto or bijective: by their form if possible, else by isl."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..index import Analyzer, Lin
from .detect import detect
from .exact import ExactMap, UndecidedMap
from .terms import Domain, IterMap, IterSum, assume_nonempty, axis_name, lin_text

BindingBox = Sequence[tuple[Lin, Lin]]
"""(low, extent) of each binding: its expected values."""


def why_not_injective(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], names: Sequence[str] | None = None
) -> str | None:
    """None if different points of the domain have different values of the bindings; else the reason, with two points of
    the same values if known.

    Exact for quasi-affine bindings and static or symbolic ranges; an undecided case counts as no.
    """
    mapping = detect(analyzer, domain, bindings, names)
    if isinstance(mapping, IterMap) and mapping.loss is None:
        return None
    reason = mapping if isinstance(mapping, str) else mapping.loss
    return _ask_isl(domain, bindings, reason, ExactMap.why_not_injective)


def why_not_onto(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], box: BindingBox, names: Sequence[str] | None = None
) -> str | None:
    """None if the values of the bindings at the points of the domain are exactly those of the box; else the reason.

    Exact and conservative as `why_not_injective`; but where symbolic ranges are beyond isl, every loop is assumed to
    run.
    """
    mapping = detect(analyzer, domain, bindings, names)
    if isinstance(mapping, str):
        reason = mapping
    else:
        reason = mapping.dependence or _guard(domain) or _why_not_box(analyzer, mapping, box, names)
    if not domain.exact or (reason is None and _has_points(analyzer, mapping)):
        return reason
    return _ask_isl(domain, bindings, reason, lambda exact: exact.why_not_onto(box, names))


def why_not_bijective(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], box: BindingBox, names: Sequence[str] | None = None
) -> str | None:
    """None if the bindings take each value of the box at exactly one point of the domain; else the reason."""
    return why_not_injective(analyzer, domain, bindings, names) or why_not_onto(analyzer, domain, bindings, box, names)


def box_of_values(analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin]) -> BindingBox | None:
    """The box whose elements are exactly the values of the bindings at the points of the domain; None where their form
    does not show a box."""
    mapping = detect(analyzer, domain, bindings)
    if isinstance(mapping, str) or mapping.dependence or _guard(domain) or not domain.exact:
        return None
    if not _has_points(analyzer, mapping):
        return None
    sides = [_interval(analyzer, total) for total in mapping.sums]
    known = [side for side in sides if side is not None]
    return known if len(known) == len(sides) else None


def _ask_isl(
    domain: Domain, bindings: Sequence[Lin], reason: str | None, ask: Callable[[ExactMap], str | None]
) -> str | None:
    """The answer of isl, or `reason` where isl cannot decide."""
    try:
        return ask(ExactMap(domain, bindings))
    except UndecidedMap:
        return reason


def _has_points(analyzer: Analyzer, mapping: IterMap | str) -> bool:
    """Whether the domain is known to have points."""
    if isinstance(mapping, str) or mapping.is_empty:
        return False
    return all(analyzer.is_provably("ge", v.extent, 1) for v in mapping.domain.variables)


def _guard(domain: Domain) -> str | None:
    """A condition without variables, which may leave the domain without points; None if there is no such condition."""
    values = domain.values()
    free = next((c for c in domain.constraints if not any(leaf in values for leaf in c.leaves())), None)
    return None if free is None else f"nothing runs unless {lin_text(free)} >= 0"


def _why_not_box(analyzer: Analyzer, mapping: IterMap, box: BindingBox, names: Sequence[str] | None) -> str | None:
    """None if bindings that are independent of each other take the values of a box; else the reason."""
    with assume_nonempty(analyzer, mapping.domain):
        for n, (total, (low, extent)) in enumerate(zip(mapping.sums, box, strict=True)):
            interval = _interval(analyzer, total)
            if interval is None:
                return f"{axis_name(names, n)} is {total}, which leaves gaps"
            if not all(analyzer.is_provably("eq", a, b) for a, b in zip(interval, (low, extent), strict=True)):
                first, count = map(lin_text, interval)
                expected = f"{lin_text(low)} and {lin_text(extent)}"
                return f"{axis_name(names, n)} starts at {first} and takes {count} values, expected {expected}"
    return None


def _interval(analyzer: Analyzer, total: IterSum) -> tuple[Lin, Lin] | None:
    """The minimum of a sum and the number of its values, or None if it leaves gaps."""
    low, extent = total.base, Lin(1)
    for split in reversed(total.splits):
        size = split.scale
        if analyzer.is_provably("lt", size, 0):
            low, size = low + analyzer.mul(size, split.extent - 1), -size
        if not analyzer.is_provably("eq", size, extent):
            return None
        extent = analyzer.mul(extent, split.extent)
    return low, extent
