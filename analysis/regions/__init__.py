"""Regions: the elements of a buffer that are required, written or covered, and the iterations of a block that access
them.

Everything is a sum over *fixed* values (loops outside, symbols), while the others *move* through their ranges.

    analyzer = Analyzer()
    is_fixed = fixed_inside(loop)
    boxes = [access_box(analyzer, access, loop) for access in reads]
    needed = required_region(analyzer, boxes, is_fixed, shape_sides(analyzer, buffer.mixed_shape))
    axes = axes_region(analyzer, producer, [Demand(written_box(analyzer, write), needed)], is_fixed)
"""

from .boxes import (
    AccessBox,
    IndexRange,
    access_box,
    bindings,
    defined_outside,
    fixed_inside,
    restrict_to_branches,
    shape_sides,
    touched_box,
    written_box,
)
from .coverage import why_not_covered
from .relax import IsFixed
from .required import required_region
from .solve import BoxDemand, axes_region, finishing_region

__all__ = [
    "AccessBox",
    "BoxDemand",
    "IndexRange",
    "IsFixed",
    "access_box",
    "axes_region",
    "bindings",
    "defined_outside",
    "finishing_region",
    "fixed_inside",
    "required_region",
    "restrict_to_branches",
    "shape_sides",
    "touched_box",
    "why_not_covered",
    "written_box",
]
