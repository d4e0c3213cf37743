"""Changes of the layout of a tensor: `Stage.transform_layout`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir.affine import AffineExpr, AffineMap

from ...analysis.index import Analyzer, Lin
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap
from ...expressions.axes import IterVar, Range
from ...expressions.errors import TeError
from ...expressions.expr import IntImm, PrimExpr, Var
from ...schedule.primitives.layout import new_layout
from ...schedule.rewriting.index_maps import separated_index_map


@dataclass(frozen=True)
class Relayout:
    """A new layout of the tensors of a stage. index_map: the new indices in terms of the old ones.  axis_separators:
    the positions that divide the new dimensions into groups, None without any.  axes: the loops over the elements in
    the new layout.
    """

    index_map: AffineMap
    axis_separators: list[int] | None
    axes: tuple[IterVar, ...]
    where: str

    def of_block(self, num_axes: int) -> AffineMap:
        """The map of the axes of a block, of which those after the indices stay as they are."""
        rest = [AffineExpr.dimension(n) for n in range(self.index_map.num_dims, num_axes)]
        return AffineMap(num_axes, 0, (*self.index_map.results, *rest))


def relayout_of(
    mapping: Callable[..., Any], shape: Sequence[PrimExpr], dtypes: Sequence[str], name: str, where: str
) -> Relayout:
    """The layout that a function of indices defines for a shape.

    mapping: returns the new indices, and `te.AXIS_SEPARATOR` between groups of dimensions.  dtypes: the types of the
    indices.  TeError for a symbolic shape, a function that is no index map of this rank or maps two indices to the same
    one, and a layout with more elements than the shape.
    """
    if not all(isinstance(extent, IntImm) for extent in shape):
        raise TeError(f"transform_layout of stage {name}: shape {list(shape)}, expected numbers")
    extents = [Lin(extent.value) for extent in shape if isinstance(extent, IntImm)]
    types = [IntegerType(int(dtype.removeprefix("int"))) for dtype in dtypes]
    analyzer = Analyzer()
    try:
        bound, separators = separated_index_map(mapping, len(extents))
        if bound.values:
            raise ScheduleError("index map: it uses numbers of a trace, expected indices alone")
        layout = new_layout(analyzer, BoundMap(bound.map, ()), extents, types)
    except ScheduleError as error:
        raise TeError(f"transform_layout of stage {name}: {error}") from error
    if layout.why_padded is not None:
        raise TeError(f"transform_layout of stage {name}: {layout.why_padded}, expected a layout without padding")
    axes = [
        IterVar(
            Range(IntImm(dtypes[0], 0), IntImm(dtypes[0], _number(analyzer, extent))),
            Var(f"axis{n}", dtypes[0]),
            "spatial",
        )
        for n, extent in enumerate(layout.new)
    ]
    return Relayout(bound.map, separators or None, tuple(axes), where)


def _number(analyzer: Analyzer, extent: Lin) -> int:
    value = analyzer.constant(extent)
    assert value is not None  # of a shape of numbers
    return value
