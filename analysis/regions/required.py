"""The required region of a buffer for fixed values: the smallest box around the elements of accesses."""

from __future__ import annotations

from collections.abc import Sequence

from .. import isl
from ..index import Analyzer, Lin
from ..isl_budget import REGIONS, isl_operation_limit
from .boxes import AccessBox, IndexRange
from .exact import IslNames, NotAffineSum, ends_of, sum_text, with_constant_extent
from .relax import Ends, IsFixed, Relaxer, hull


def required_region(
    analyzer: Analyzer, boxes: Sequence[AccessBox], is_fixed: IsFixed, shape: Sequence[IndexRange] | None = None
) -> list[IndexRange] | str:
    """The range per dimension that `boxes` touch altogether, for fixed values, while the others move.

    The region contains every touched element. Where each moving value is in one term of an index, it is the smallest
    such box; else isl makes it smaller, if its extent then is a number. The conditions of the boxes bound sums that
    occur in an index; others are used only where the extent is no number without them. `shape` is the buffer: an
    unknown dimension is the whole dimension of the buffer, and a range whose ends are numbers is clipped to it; others
    may extend beyond it.

    Without `shape`, an unknown dimension yields the reason instead.

        for i_0 in range(4):      # fixed
            for i_1 in range(4):
                ... = A[i_0*4 + i_1] + A[i_0*4 + i_1 + 2]    # A[i_0*4 +: 6]
    """
    if not boxes:
        return "nothing is touched"
    sides: list[IndexRange] = []
    for n in range(len(boxes[0].sides)):
        side = _side(analyzer, boxes, n, is_fixed)
        if side is None:
            if shape is None:
                return f"what dimension {n} is indexed by has no bounds: {_index_text(boxes, n)}"
            side = shape[n]
        sides.append(side if shape is None else side.clip_to(analyzer, shape[n]))
    return sides


def _index_text(boxes: Sequence[AccessBox], n: int) -> str:
    return ", ".join(dict.fromkeys(sum_text(box.sides[n][0]) for box in boxes))


def _side(analyzer: Analyzer, boxes: Sequence[AccessBox], n: int, is_fixed: IsFixed) -> IndexRange | None:
    relaxer = Relaxer(analyzer, is_fixed)
    touched = dict.fromkeys((*box.sides[n], box.conditions) for box in boxes)
    ends = [_box_ends(relaxer, low, extent, conditions) for low, extent, conditions in touched]
    known = [e for e in ends if e is not None]
    side = IndexRange.between(analyzer, *hull(analyzer, known)) if len(known) == len(ends) else None
    if side is not None and not side.extent.terms and relaxer.exact:
        return side
    side = _better(side, _exact_side(analyzer, boxes, n, is_fixed), is_tight=relaxer.exact)
    side = None if side is None else with_constant_extent(analyzer, side, is_fixed)
    if (side is None or side.extent.terms) and any(box.conditions for box in boxes):
        side = _better(side, _exact_side(analyzer, boxes, n, is_fixed, conditional=True), is_tight=True)
    return side


def _better(structural: IndexRange | None, exact: IndexRange | None, *, is_tight: bool) -> IndexRange | None:
    """The better of two sides: the exact side if its extent is a number or is smaller, else the structural side."""
    if structural is None or exact is None:
        return structural or exact
    if not exact.extent.terms:
        return exact if structural.extent.terms or exact.most < structural.most else structural
    return exact if structural.extent.terms and not is_tight else structural


def _box_ends(relaxer: Relaxer, low: Lin, extent: Lin, conditions: Sequence[Lin]) -> Ends | None:
    relaxer.conditions = conditions
    first = relaxer.ends(low)
    last = first if extent == Lin(1) else relaxer.ends(low + extent - 1)
    return None if first is None or last is None else (first[0], last[1])


def _exact_side(
    analyzer: Analyzer, boxes: Sequence[AccessBox], n: int, is_fixed: IsFixed, *, conditional: bool = False
) -> IndexRange | None:
    """The side by isl; None if it is not affine, or has no simple ends. Conditions are used if `conditional`."""
    names = IslNames(analyzer, is_fixed)
    try:
        touched = [_element_conditions(names, box, n, conditional=conditional) for box in boxes]
        with isl_operation_limit(REGIONS):
            values = isl.Set.empty(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=["e"]))
            for conditions in touched:
                values = values.union(names.set(["e"], conditions))
            ends = ends_of(names, values.coalesce())
    except (NotAffineSum, isl.Error):
        return None
    return None if ends is None else IndexRange.between(analyzer, *ends)


def _element_conditions(names: IslNames, box: AccessBox, n: int, *, conditional: bool) -> list[str]:
    low, extent = box.sides[n]
    conditions = [f"{names.text(low)} <= e < {names.text(low + extent)}"]
    return conditions + ([c for c in map(names.condition, box.conditions) if c is not None] if conditional else [])
