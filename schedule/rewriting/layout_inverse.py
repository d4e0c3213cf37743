"""The inverse of a layout: the old indices in terms of the new ones, and the digits of the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...analysis.index import Analyzer, DivAtom, Lin, ModAtom
from ...analysis.iter_map import Domain, detect, invert, make_factors_positive
from ...core.errors import ScheduleError
from .index_maps import require_divisors

if TYPE_CHECKING:
    from ..primitives.layout import Layout


def invert_layout(analyzer: Analyzer, layout: Layout, values: Sequence[Lin]) -> list[Lin]:
    """The old indices for new ones; meaningless for a padding element.

    ScheduleError if they are unknown.
    """
    with layout.at_elements(analyzer):
        mapping = detect(analyzer, _aligned_domain(analyzer, layout), layout.sums)
        solution = mapping if isinstance(mapping, str) else invert(analyzer, mapping, values)
    if isinstance(solution, str):
        raise ScheduleError(f"the index map cannot be turned around: {solution}")
    old = [solution[index] for index in layout.indices]
    with layout.inside(analyzer):
        for total in old:
            require_divisors(analyzer, total, "an old index")
    return old


@dataclass(frozen=True)
class LayoutDigit:
    """A part `base + number * scale` of a new index, whose number counts up from 0 to below `extent`."""

    extent: Lin
    scale: Lin
    base: Lin = field(default_factory=Lin)


def layout_digits(analyzer: Analyzer, layout: Layout) -> list[list[LayoutDigit]]:
    """The digits of each new index, from the most to the least significant: in lexicographic order of the digits, the
    new indices, padding excluded, are in lexicographic order too. ScheduleError if they are unknown."""
    digits: list[list[LayoutDigit]] = []
    with layout.at_elements(analyzer):
        mapping = detect(analyzer, _aligned_domain(analyzer, layout), layout.sums)
        if isinstance(mapping, str):
            raise ScheduleError(f"the index map cannot be turned around: {mapping}")
        for total in mapping.sums:
            parts, base = make_factors_positive(analyzer, total)
            known = [LayoutDigit(part.extent, part.scale) for part in parts]
            digits.append([LayoutDigit(Lin(1), Lin(), base), *known])
    return digits


def _aligned_domain(analyzer: Analyzer, layout: Layout) -> Domain:
    """The domain of the old indices, extended below so that each `index + c` which is divided starts at a multiple of
    the divisors: the elements below 0 are padding."""
    divisors: dict[tuple[SSAValue, int], int] = {}
    for atom in {atom for total in layout.sums for atom in total.terms if isinstance(atom, DivAtom | ModAtom)}:
        divisor, dividend = analyzer.constant(atom.divisor), atom.dividend
        index = next((index for index in layout.indices if dividend - Lin.of(index) == Lin(dividend.const)), None)
        if index is not None and divisor is not None and divisor > 0:
            key = index, dividend.const
            divisors[key] = lcm(divisors.get(key, 1), divisor)
    below = {index: offset % divisor for (index, offset), divisor in divisors.items()}
    added = [(variable, below.get(variable.value, 0)) for variable in layout.domain.variables]
    return Domain(tuple(replace(variable, low=Lin(-n), extent=variable.extent + n) for variable, n in added))
