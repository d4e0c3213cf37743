"""The pass `apply-schedule`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...core.errors import PassError
from ...schedule import Schedule, Trace
from ...schedule.trace import traces_in_module


@dataclass(frozen=True)
class ApplySchedulePass(ModulePass):
    """Applies the schedules in a module to its functions, in order, and erases the schedules.

    check: whether each primitive is checked against dependences; false for traces that are known to be legal.
    seed: the seed of random choices without a decision in the trace; by default a new seed in each run.

    Before
        tir.func @main("A" %A : memref<16xf32>) {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.block "B" (spatial "vi" %vi : i32 in [0 +: 16] = %i) {
              ...
            }
          }
        }
        schedule.trace {
          %B = schedule.get_block "B"
          %i = schedule.get_loops %B : !schedule.loop
          schedule.parallel %i
        }

    After
        tir.func @main("A" %A : memref<16xf32>) {
          tir.for parallel "i" %i : i32 in [0 +: 16] {
            tir.block "B" (spatial "vi" %vi : i32 in [0 +: 16] = %i) {
              ...
            }
          }
        }

    Must hold before: the module contains every block and loop that a trace names; each primitive is legal.

    Gone after: `schedule.trace`.
    """

    name = "apply-schedule"

    check: bool = True
    seed: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        traces = traces_in_module(op)
        if not traces:
            return
        for trace in traces:
            trace.detach()
        schedule = Schedule(op, seed=self.seed, enable_check=self.check)
        try:
            for trace in traces:
                schedule.replay(Trace(trace))
        except PassError:
            for trace in traces:  # the functions are unchanged
                op.body.block.add_op(trace)
            raise
        for old in list(op.body.block.ops):
            op.body.block.erase_op(old, safe_erase=False)
        for new in list(schedule.mod.op.body.block.ops):
            new.detach()
            op.body.block.add_op(new)
