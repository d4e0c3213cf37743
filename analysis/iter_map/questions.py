"""Whether bindings are injective, onto, both or affine: by their form where it says so, else by isl."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..index import Analyzer, Lin
from .detect import detect
from .exact import ExactMap, Undecided
from .terms import Domain, IterMap, IterSum, axis_name, lin_text, running

Box = Sequence[tuple[Lin, Lin]]
"""(low, extent) of each binding: the values that it is expected to take."""


def why_not_injective(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], names: Sequence[str] | None = None
) -> str | None:
    """None if different points of the domain give different values of the bindings; else why not, with two points that
    give the same where they are known.

    Exact for quasi-affine bindings and static or symbolic ranges; what cannot be decided counts as no.
    """
    mapping = detect(analyzer, domain, bindings, names)
    if isinstance(mapping, IterMap) and mapping.loss is None:
        return None
    reason = mapping if isinstance(mapping, str) else mapping.loss
    return _decided(domain, bindings, reason, ExactMap.why_not_injective)


def why_not_onto(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], box: Box, names: Sequence[str] | None = None
) -> str | None:
    """None if the values of the bindings at the points of the domain are exactly those of the box; else why not.

    Exact and conservative as `why_not_injective`; but where symbolic ranges are beyond isl, it is assumed that every
    loop runs.
    """
    mapping = detect(analyzer, domain, bindings, names)
    if isinstance(mapping, str):
        reason = mapping
    else:
        reason = mapping.dependence or _guard(domain) or _why_not_box(analyzer, mapping, box, names)
    if not domain.exact or (reason is None and _has_points(analyzer, mapping)):
        return reason
    return _decided(domain, bindings, reason, lambda exact: exact.why_not_onto(box, names))


def why_not_bijective(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], box: Box, names: Sequence[str] | None = None
) -> str | None:
    """None if each value of the box is that of the bindings at exactly one point of the domain; else why not."""
    return why_not_injective(analyzer, domain, bindings, names) or why_not_onto(analyzer, domain, bindings, box, names)


def why_not_affine(
    analyzer: Analyzer, domain: Domain, bindings: Sequence[Lin], names: Sequence[str] | None = None
) -> str | None:
    """None if the bindings are sums of digits that take their values independently of each other, or are injective;
    else why not."""
    mapping = detect(analyzer, domain, bindings, names)
    reason = mapping if isinstance(mapping, str) else mapping.dependence
    if reason is None or why_not_injective(analyzer, domain, bindings, names) is None:
        return None
    return reason


def _decided(
    domain: Domain, bindings: Sequence[Lin], reason: str | None, ask: Callable[[ExactMap], str | None]
) -> str | None:
    """What isl says, or `reason` where it cannot say."""
    try:
        return ask(ExactMap(domain, bindings))
    except Undecided:
        return reason


def _has_points(analyzer: Analyzer, mapping: IterMap | str) -> bool:
    """Whether the domain is known to have points."""
    if isinstance(mapping, str) or mapping.is_empty:
        return False
    return all(analyzer.is_provably("ge", v.extent, 1) for v in mapping.domain.variables)


def _guard(domain: Domain) -> str | None:
    """A condition that no variable is in, so that there may be no points at all."""
    values = domain.values()
    free = next((c for c in domain.constraints if not any(leaf in values for leaf in c.leaves())), None)
    return None if free is None else f"nothing runs unless {lin_text(free)} >= 0"


def _why_not_box(analyzer: Analyzer, mapping: IterMap, box: Box, names: Sequence[str] | None) -> str | None:
    """Whether bindings that are independent of each other take the values of a box."""
    with running(analyzer, mapping.domain):
        for n, (total, (low, extent)) in enumerate(zip(mapping.sums, box, strict=True)):
            found = _interval(analyzer, total)
            if found is None:
                return f"{axis_name(names, n)} is {total}, which leaves gaps"
            if not all(analyzer.is_provably("eq", a, b) for a, b in zip(found, (low, extent), strict=True)):
                first, count = map(lin_text, found)
                expected = f"{lin_text(low)} and {lin_text(extent)}"
                return f"{axis_name(names, n)} starts at {first} and takes {count} values, expected {expected}"
    return None


def _interval(analyzer: Analyzer, total: IterSum) -> tuple[Lin, Lin] | None:
    """The least value of a sum and how many it takes, or None if it leaves gaps."""
    low, extent = total.base, Lin(1)
    for split in reversed(total.splits):
        size = split.scale
        if analyzer.is_provably("lt", size, 0):
            low, size = low + analyzer.mul(size, split.extent - 1), -size
        if not analyzer.is_provably("eq", size, extent):
            return None
        extent = analyzer.mul(extent, split.extent)
    return low, extent
