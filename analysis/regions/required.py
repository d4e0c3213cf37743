"""What is needed of a buffer while some values are fixed: the smallest box around what accesses touch."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from ..index import Analyzer, Lin
from .boxes import Box, Side
from .exact import Names, NotAffine, ends_of, limited, measured, said
from .relax import Ends, IsFixed, Relaxer, hull


def required_region(
    analyzer: Analyzer, boxes: Sequence[Box], is_fixed: IsFixed, shape: Sequence[Side] | None = None
) -> list[Side] | str:
    """Per dimension what `boxes` touch altogether while the fixed values stand still and the others move.

    Everything touched is in it. Where each moving value is in one term of an index, it is the smallest such box; else
    isl makes it smaller, if it then has a number as extent. The conditions of the boxes are looked at only where the
    extent is no number without them. `shape` is the buffer: a dimension of which nothing is known is all of it, and one
    whose ends are numbers ends with it; others may reach outside of it.

    A dimension of which nothing is known, without `shape`, gives the reason why.

        for i_0 in range(4):      # fixed
            for i_1 in range(4):
                ... = A[i_0*4 + i_1] + A[i_0*4 + i_1 + 2]    # A[i_0*4 +: 6]
    """
    if not boxes:
        return "nothing is touched"
    found: list[Side] = []
    for n in range(len(boxes[0].sides)):
        side = _side(analyzer, boxes, n, is_fixed)
        if side is None:
            if shape is None:
                return f"what dimension {n} is indexed by has no bounds: {_index_text(boxes, n)}"
            side = shape[n]
        found.append(side if shape is None else side.clipped(analyzer, shape[n]))
    return found


def _index_text(boxes: Sequence[Box], n: int) -> str:
    return ", ".join(dict.fromkeys(said(box.sides[n][0]) for box in boxes))


def _side(analyzer: Analyzer, boxes: Sequence[Box], n: int, is_fixed: IsFixed) -> Side | None:
    relaxer = Relaxer(analyzer, is_fixed)
    ends = [_box_ends(relaxer, *side) for side in dict.fromkeys(box.sides[n] for box in boxes)]
    known = [e for e in ends if e is not None]
    side = Side.between(analyzer, *hull(analyzer, known)) if len(known) == len(ends) else None
    if side is not None and not side.extent.terms and relaxer.exact:
        return side
    side = _better(side, _exact_side(analyzer, boxes, n, is_fixed), is_tight=relaxer.exact)
    side = None if side is None else measured(analyzer, side, is_fixed)
    if (side is None or side.extent.terms) and any(box.conditions for box in boxes):
        side = _better(side, _exact_side(analyzer, boxes, n, is_fixed, conditional=True), is_tight=True)
    return side


def _better(structural: Side | None, exact: Side | None, *, is_tight: bool) -> Side | None:
    """The exact one where it says more: an extent that is a number, and a smaller one."""
    if structural is None or exact is None:
        return structural or exact
    if not exact.extent.terms:
        return exact if structural.extent.terms or exact.most < structural.most else structural
    return exact if structural.extent.terms and not is_tight else structural


def _box_ends(relaxer: Relaxer, low: Lin, extent: Lin) -> Ends | None:
    first = relaxer.ends(low)
    last = first if extent == Lin(1) else relaxer.ends(low + extent - 1)
    return None if first is None or last is None else (first[0], last[1])


def _exact_side(
    analyzer: Analyzer, boxes: Sequence[Box], n: int, is_fixed: IsFixed, *, conditional: bool = False
) -> Side | None:
    """By isl; None if it is not affine, or has no simple ends. Conditions are looked at if `conditional`."""
    names = Names(analyzer, is_fixed)
    try:
        touched = [_element_conditions(names, box, n, conditional=conditional) for box in boxes]
        with limited():
            values = isl.Set.empty(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=["e"]))
            for conditions in touched:
                values = values.union(names.set(["e"], conditions))
            ends = ends_of(names, values.coalesce())
    except (NotAffine, isl.Error):
        return None
    return None if ends is None else Side.between(analyzer, *ends)


def _element_conditions(names: Names, box: Box, n: int, *, conditional: bool) -> list[str]:
    low, extent = box.sides[n]
    conditions = [f"{names.text(low)} <= e < {names.text(low + extent)}"]
    return conditions + ([c for c in map(names.condition, box.conditions) if c is not None] if conditional else [])
