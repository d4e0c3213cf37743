"""`Schedule`: transformations of a program, recorded as they are applied."""

from __future__ import annotations

from .primitives.annotations import AnnotationPrimitives
from .primitives.axes import AxisPrimitives
from .primitives.axis_separators import AxisSeparatorPrimitives
from .primitives.block_layout import BlockLayoutPrimitives
from .primitives.blockize import BlockizePrimitives
from .primitives.cache import CachePrimitives
from .primitives.cache_at import CacheAtPrimitives
from .primitives.cache_index import CacheIndexPrimitives
from .primitives.compute_at import ComputeAtPrimitives
from .primitives.epilogue import EpiloguePrimitives
from .primitives.inline import InlinePrimitives
from .primitives.kinds import KindPrimitives
from .primitives.layout import LayoutPrimitives
from .primitives.loop_partition import LoopPartitionPrimitives
from .primitives.loops import LoopPrimitives
from .primitives.merge import MergePrimitives
from .primitives.pad_einsum import PadEinsumPrimitives
from .primitives.padding import PaddingPrimitives
from .primitives.queries import Queries
from .primitives.reductions import ReductionPrimitives
from .primitives.regions import RegionPrimitives
from .primitives.reindex import ReindexPrimitives
from .primitives.reindex_cache import ReindexCachePrimitives
from .primitives.reverse_inline import ReverseInlinePrimitives
from .primitives.rolling_buffer import RollingBufferPrimitives
from .primitives.sampling import Sampling
from .primitives.tensorize import TensorizePrimitives
from .session import Session


class Schedule(
    Session,
    Queries,
    Sampling,
    LoopPrimitives,
    MergePrimitives,
    LoopPartitionPrimitives,
    ReductionPrimitives,
    BlockizePrimitives,
    TensorizePrimitives,
    KindPrimitives,
    AxisPrimitives,
    AnnotationPrimitives,
    AxisSeparatorPrimitives,
    RegionPrimitives,
    InlinePrimitives,
    ReverseInlinePrimitives,
    EpiloguePrimitives,
    PaddingPrimitives,
    PadEinsumPrimitives,
    ComputeAtPrimitives,
    CachePrimitives,
    CacheAtPrimitives,
    CacheIndexPrimitives,
    ReindexPrimitives,
    ReindexCachePrimitives,
    RollingBufferPrimitives,
    LayoutPrimitives,
    BlockLayoutPrimitives,
):
    """A program under transformation, and the trace of the applied primitives.

        sch = stepwell.Schedule(mod)
        block = sch.get_block("C")
        i, j, k = sch.get_loops(block)
        i_0, i_1 = sch.split(i, factors=[None, 8])
        sch.reorder(i_0, j, k, i_1)
        sch.mod.show()          # the current program; mod is unchanged
        print(sch.trace)        # the applied primitives, as Python

    Names, arguments and defaults of the primitives are TVM's. Each primitive checks that the program still computes the
    same results, by the dependences of block instances, not by templates; a rejected primitive raises `ScheduleError`
    and leaves the program unchanged. docs/primitives.md lists all primitives, with a program before and after each.
    """
