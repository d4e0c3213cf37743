"""The pass `tir-schedule-gpu`."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...core.remarks import PassRemarks, Place
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, FuncOp
from ...schedule.gpu import FunctionSchedule, schedule_functions

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
        places = _places(op) if _remarks.are_collected else {}
        schedules = schedule_functions(op)
        if _remarks.are_collected:
            for schedule in schedules.values():
                _report(schedule, places)


_Places: TypeAlias = dict[tuple[str, str], Place]
"""The places of blocks, by the names of the function and the block; those of functions, by the name and ""."""


def _places(module: ModuleOp) -> _Places:
    places: _Places = {}
    for func in module.body.block.ops:
        if isinstance(func, FuncOp):
            name = func.sym_name.data
            places[name, ""] = Place.of(func)
            places |= {(name, op.block_name.data): Place.of(op) for op in find_ops(func, BlockOp)}
    return places


def _report(schedule: FunctionSchedule, places: _Places) -> None:
    """Reports the rules that scheduled the blocks of a function, and those that declined."""
    function = places[schedule.function, ""]
    for declined in schedule.declined:
        _remarks.missed(
            places.get((schedule.function, declined.block), function),
            lambda: f"block {declined.block}: not by the rule {declined.rule}: {declined.reason}",
        )
    for applied in schedule.applied:
        others = f", with {', '.join(applied.with_blocks)} in one kernel" if applied.with_blocks else ""
        _remarks.applied(
            places.get((schedule.function, applied.block), function),
            lambda: f"block {applied.block}: by the rule {applied.rule}{others}",
        )
    if schedule.alone:
        _remarks.missed(function, lambda: f"{schedule.alone} statements without a block: one thread computes them")
