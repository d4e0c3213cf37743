"""Correspondence of the loops of a block to those of a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, SSAValue

from .....analysis.index import Lin
from .....analysis.scopes import all_blocks, loops_around
from .....analysis.work import static_extent
from .....core.dtypes import dtype_of
from .....core.errors import OptionError
from .....dialects.tir import BlockOp
from .....dialects.tir.base import memref_type
from .....schedule.intrinsics import tensor_intrin
from .....schedule.rules.kernel import AffineAccess, Kernel


def inner_loops(block: BlockOp, name: str) -> list[tuple[int, int]] | None:
    """The loops of a block that a tensor intrinsic computes a part of: (index of the loop, extent of the part), in the
    order of the loops of the intrinsic. None if there are none.

    The reads and writes of both correspond in order, and have the same data types; the last indices of an access of the
    block are loops where those of the intrinsic are. Whether the statements are the same, `tensorize` checks.
    OptionError for an unknown intrinsic.
    """
    described = _block_of_intrinsic(name)
    pairs = _pairs(_accesses(block), _accesses(described))
    if pairs is None:
        return None
    axes: dict[SSAValue, SSAValue] = {}
    for of_block, of_intrinsic in pairs:
        for index, inner in zip(of_block.indices[::-1], of_intrinsic.indices[::-1], strict=False):
            axis, part = _last_axis(index), _last_axis(inner)
            if part is not None and (axis is None or axes.setdefault(part, axis) is not axis):
                return None
    return _parts(block, described, axes)


def _block_of_intrinsic(name: str) -> BlockOp:
    """The innermost block of the description of an intrinsic."""
    blocks = all_blocks(tensor_intrin(name).description)
    if not blocks:
        raise OptionError(f"tensor intrinsic {name!r}: expected a block in its description")
    return blocks[-1]


def _accesses(block: BlockOp) -> tuple[list[AffineAccess], list[AffineAccess]]:
    kernel = Kernel(None, block)  # pyright: ignore[reportArgumentType]
    written = {access.buffer for access in kernel.writes}
    return [read for read in kernel.reads if read.buffer not in written], kernel.writes


def _pairs(
    a: tuple[list[AffineAccess], list[AffineAccess]], b: tuple[list[AffineAccess], list[AffineAccess]]
) -> list[tuple[AffineAccess, AffineAccess]] | None:
    """The reads and writes of two blocks, in order. None if their numbers, ranks or data types do not fit."""
    if [len(each) for each in a] != [len(each) for each in b]:
        return None
    pairs = [pair for first, second in zip(a, b, strict=True) for pair in zip(first, second, strict=True)]
    fits = all(_dtype(x) == _dtype(y) and len(x.indices) >= len(y.indices) for x, y in pairs)
    return pairs if fits else None


def _dtype(access: AffineAccess) -> str:
    return dtype_of(memref_type(access.buffer).element_type).name


def _last_axis(index: Lin) -> SSAValue | None:
    """The axis of the block that an index counts in steps of 1, None without exactly one."""
    axes = [value for value, factor in index.terms.items() if isinstance(value, BlockArgument) and factor == 1]
    return axes[0] if len(axes) == 1 else None


def _parts(block: BlockOp, described: BlockOp, axes: dict[SSAValue, SSAValue]) -> list[tuple[int, int]] | None:
    """The loop of the block and the extent for each loop of the intrinsic, None if an extent does not divide."""
    loops: list[SSAValue] = [loop.variable for loop in loops_around(block)]
    bound = dict(zip(block.variables, block.axes, strict=True))
    parts: list[tuple[int, int]] = []
    for loop in loops_around(described):
        found = [
            v for v, axis in zip(described.variables, described.axes, strict=True) if axis.binding is loop.variable
        ]
        axis = bound.get(axes.get(found[0])) if len(found) == 1 else None  # pyright: ignore[reportArgumentType]
        extent = static_extent(loop)
        if axis is None or axis.binding not in loops or not _divides(extent, axis.extent):
            return None
        parts.append((loops.index(axis.binding), extent or 1))
    is_unique = len({n for n, _ in parts}) == len(parts)
    return parts if parts and is_unique and _kinds_fit(block, described, axes) else None


def _divides(part: int | None, whole: object) -> bool:
    return part is not None and isinstance(whole, int) and whole % part == 0


def _kinds_fit(block: BlockOp, described: BlockOp, axes: dict[SSAValue, SSAValue]) -> bool:
    """Whether axes that correspond to each other are of the same kind."""
    kinds: Sequence[dict[SSAValue, str]] = [
        {v: axis.kind for v, axis in zip(each.variables, each.axes, strict=True)} for each in (described, block)
    ]
    return all(kinds[0][a] == kinds[1].get(b) for a, b in axes.items())
