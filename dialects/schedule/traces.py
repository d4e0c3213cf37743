"""The op that contains the primitives of a schedule."""

from __future__ import annotations

from xdsl.ir import Block, Region
from xdsl.irdl import irdl_op_definition, region_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator

from ..tir.base import TirOp, require
from ..tir.directives import Body
from .base import ScheduleOp


@irdl_op_definition
class TraceOp(TirOp):
    """A schedule: primitives in the order in which they are applied to the enclosing module.

    `apply-schedule` applies the trace and erases it.

    Constraints
        (C1) only primitives.

    Example
        schedule.trace {
          %C = schedule.get_block "C"
          %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
          schedule.reorder [%j, %i]
        }

    Source: `sch.trace` (Trace)
    """

    name = "schedule.trace"

    body = region_def("single_block")

    traits = traits_def(NoTerminator(), IsolatedFromAbove())
    custom_directives = (Body,)
    assembly_format = "attr-dict-with-keyword custom<Body>($body)"

    def __init__(self, body: Region | None = None):
        super().__init__(regions=[Region(Block()) if body is None else body])

    def verify_(self) -> None:
        for op in self.body.block.ops:
            require(isinstance(op, ScheduleOp), f"(C1) {op.name} in a trace")
