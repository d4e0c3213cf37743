"""Coverage: the check whether every read element has been written."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ...dialects.text.names import source_name
from ...dialects.tir import ForOp, LaunchThreadOp
from .. import isl
from ..index import Analyzer, Lin
from ..isl_budget import REGIONS, isl_operation_limit
from ..iter_map import box_of_values, iteration_domain
from .boxes import AccessBox, IndexRange
from .exact import IslNames, NotAffineSum
from .relax import IsFixed


def why_not_covered(
    analyzer: Analyzer,
    written: Sequence[AccessBox],
    read: Sequence[AccessBox],
    is_fixed: IsFixed,
    shape: Sequence[IndexRange] | None = None,
) -> str | None:
    """None if some box of `written` contains every element of every box of `read`, for all fixed values; else an
    element that is missing, or the reason why the answer is unknown.

    Exact where everything is quasi-affine. A read with another index counts as the whole dimension (of `shape`, if
    given), a write with another index as no element.
    """
    if any(_covers_by_form(analyzer, box, read, is_fixed) for box in written):
        return None
    rank = len((*read, *written)[0].sides) if read or written else 0
    points = [f"e{n}" for n in range(rank)]
    names = IslNames(analyzer, is_fixed)
    lost: list[str] = []
    wanted = [_read_conditions(names, box, points, shape) for box in read]
    covered = [c for box in written if (c := _written_conditions(names, box, points, lost)) is not None]
    try:
        with isl_operation_limit(REGIONS):
            missing = _union(names, points, wanted).subtract(_union(names, points, covered))
            if missing.is_empty():
                return None
            message = _example(names, missing)
    except isl.Error as error:
        return f"too large to decide: {error}"
    reason = "; ".join(dict.fromkeys(lost))
    return f"{message}, as far as is known: {reason}" if reason else message


def _covers_by_form(analyzer: Analyzer, written: AccessBox, read: Sequence[AccessBox], is_fixed: IsFixed) -> bool:
    """Whether the form of the indices shows that single written elements are a box that contains everything that is
    read: those of divided and fused loops, for which isl takes long."""
    lows = [low for low, _ in written.sides]
    if written.conditions or not written.is_exact or not all(extent == Lin(1) for _, extent in written.sides):
        return False
    moving = dict.fromkeys(leaf for low in lows for leaf in low.leaves() if not is_fixed(leaf))
    loops = [leaf.owner.parent_op() if isinstance(leaf.owner, Block) else None for leaf in moving]
    known = [loop for loop in loops if isinstance(loop, ForOp | LaunchThreadOp)]
    if len(known) < len(loops) or [loop.variable for loop in known] != list(moving):
        return False
    box = box_of_values(analyzer, iteration_domain(analyzer, known), lows)
    return box is not None and all(
        analyzer.is_provably("ge", low, first) and analyzer.is_provably("le", low + extent, first + count)
        for each in read
        for (low, extent), (first, count) in zip(each.sides, box, strict=True)
    )


def _union(names: IslNames, points: Sequence[str], parts: Sequence[Sequence[str]]) -> isl.Set:
    total = isl.Set.empty(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=list(points)))
    for conditions in parts:
        total = total.union(names.set(points, conditions))
    return total


def _read_conditions(
    names: IslNames, box: AccessBox, points: Sequence[str], shape: Sequence[IndexRange] | None
) -> list[str]:
    """Conditions that hold at least for the read elements."""
    conditions: list[str] = []
    for n, (low, extent) in enumerate(box.sides):
        try:
            conditions.append(f"{names.text(low)} <= {points[n]} < {names.text(low + extent)}")
        except NotAffineSum:
            if shape is not None:
                conditions.append(f"{names.text(shape[n].low)} <= {points[n]} <= {names.text(shape[n].high)}")
    return conditions + [c for c in map(names.condition, box.conditions) if c is not None]


def _written_conditions(names: IslNames, box: AccessBox, points: Sequence[str], lost: list[str]) -> list[str] | None:
    """Conditions that hold only for written elements; None, with a reason added to `lost`, if they cannot be
    expressed."""
    if not box.is_exact:
        lost.append("what is written depends on conditions that are not affine")
        return None
    try:
        conditions = [f"{names.text(c)} >= 0" for c in box.conditions]
        for n, (low, extent) in enumerate(box.sides):
            conditions.append(f"{names.text(low)} <= {points[n]} < {names.text(low + extent)}")
    except NotAffineSum as error:
        lost.append(f"{error} is not affine")
        return None
    return conditions


def _example(names: IslNames, elements: isl.Set) -> str:
    """`element [3, 5] is not written where i = 0`: the first such element."""
    atoms = {name: atom for atom, name in names.of.items()}
    count = elements.dim(isl.dim_type.param)
    fixed = [atoms[str(elements.get_dim_name(isl.dim_type.param, n))] for n in range(count)]
    points = elements.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    try:
        point = points.lexmin().sample_point()
    except isl.Error:  # the set has no minimum
        point = points.sample_point()
    numbers = [point.get_coordinate_val(isl.dim_type.set, n).to_python() for n in range(points.dim(isl.dim_type.set))]
    where: list[str] = []
    for atom, number in zip(fixed, numbers, strict=False):
        name = source_name(atom) if isinstance(atom, SSAValue) else None
        if name is not None:
            where.append(f"{name} = {number}")
    element = f"element {numbers[count:]} is not written"
    return f"{element} where {', '.join(where)}" if where else element
