"""The pass `tir-schedule-gpu`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...schedule.gpu import schedule_functions


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
        schedule_functions(op)
