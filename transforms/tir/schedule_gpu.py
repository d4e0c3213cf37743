"""The pass `tir-schedule-gpu`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...core.remarks import PassRemarks
from ...schedule.gpu import schedule_functions
from .default_schedules import places_of, report_schedule

_remarks = PassRemarks("tir-schedule-gpu")


class TirScheduleGpuPass(ModulePass):
    """Schedules functions without loops bound to blocks or threads for a GPU, by rules.

    Producers of single elements are inlined. Then each block is scheduled by the first rule that does not decline
    (docs/gpu.md lists the rules), with primitives of `Schedule`; the last rule accepts every block. Statements outside
    of blocks become kernels of one thread. `stepwell.schedule_gpu` does the same and keeps the traces.

    Before
        for i in range(1000):
            with T.block("B"):
                vi = T.axis.spatial(1000, i)
                B[vi] = A[vi] + T.float32(1)

    After
        for i_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_1 in T.thread_binding(256, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(1000, i_0 * 256 + i_1)
                    T.where(i_0 * 256 + i_1 < 1000)
                    B[vi] = A[vi] + T.float32(1)

    Must hold before: nothing.

    Gone after: stores outside of loops bound to blocks or threads.
    """

    name = "tir-schedule-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        places = places_of(op) if _remarks.are_collected else {}
        schedules = schedule_functions(op)
        for schedule in schedules.values() if _remarks.are_collected else ():
            report_schedule(_remarks, schedule, places, "in one kernel")
            if schedule.alone:
                _remarks.missed(
                    places[schedule.function, ""],
                    lambda: f"{schedule.alone} statements without a block: one thread computes them",
                )
