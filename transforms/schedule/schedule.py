"""`Schedule`: transformations of a program, recorded as they are applied."""

from __future__ import annotations

from .annotations import AnnotationPrimitives
from .axes import AxisPrimitives
from .block_layout import BlockLayoutPrimitives
from .blockize import BlockizePrimitives
from .cache import CachePrimitives
from .compute_at import ComputeAtPrimitives
from .inline import InlinePrimitives
from .kinds import KindPrimitives
from .layout import LayoutPrimitives
from .loops import LoopPrimitives
from .pad_einsum import PadEinsumPrimitives
from .padding import PaddingPrimitives
from .queries import Queries
from .reductions import ReductionPrimitives
from .reindex import ReindexPrimitives
from .reverse_inline import ReverseInlinePrimitives
from .sampling import Sampling
from .session import Session


class Schedule(
    Session,
    Queries,
    Sampling,
    LoopPrimitives,
    ReductionPrimitives,
    BlockizePrimitives,
    KindPrimitives,
    AxisPrimitives,
    AnnotationPrimitives,
    InlinePrimitives,
    ReverseInlinePrimitives,
    PaddingPrimitives,
    PadEinsumPrimitives,
    ComputeAtPrimitives,
    CachePrimitives,
    ReindexPrimitives,
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
