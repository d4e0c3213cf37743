"""The pass `tir-schedule-cpu`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.unscheduled import is_graph_kernel, reason_to_keep
from ...core.cpu import CpuModel
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, FuncOp
from ...schedule.cpu.schedules import PREPARATIONS, RULES, schedule_functions
from ...schedule.rules.results import FunctionSchedule
from .default_schedules import Places, places_of, report_schedule

_remarks = PassRemarks("tir-schedule-cpu")


@dataclass(frozen=True)
class TirScheduleCpuPass(ModulePass):
    """Schedules functions that nobody has scheduled for a processor, by rules: vectors, and tiles of results in
    registers.

    Each block is scheduled by the first rule that does not decline, with primitives of `Schedule`;
    `stepwell.schedule_cpu` does the same and keeps the traces (docs/cpu.md lists the rules, and the functions that stay
    as they are).

    - Sums of products: a spatial axis along which stores are contiguous, and loads contiguous or invariant, is
      vectorized. Another spatial axis, along which the loaded vectors are invariant, is split into tiles; the sums of a
      tile stay in registers during the reduction. A factor without such an axis, whose elements many results use, is
      transposed before, as the weights of `dense`.
    - Other reductions: several vectors of sums along such an axis, or partial sums in lanes along a reduction axis.
    - Operators on elements are vectorized along the axis of the store. Where a load is contiguous along another axis,
      squares of elements are transposed in registers.
    - Blocks that compute the same rows one after the other, as those of softmax and norms, share the loops over rows.
    - A loop over spatial axes around each block is parallel where threads save time, by an estimate of the time of the
      loop from its operations and the bytes that it reads and writes.

    cpu: the processor, a name and facts (`CpuModel.from_text`): its registers determine the sizes of vectors and tiles.

    Before
        for i, j, k in T.grid(66, 32, 48):
            with T.block("C"):
                ...
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    After
        for i_0, j_0 in T.grid(11, 2):
            for i_1_init, j_1_init in T.grid(6, 2):
                for j_2_init in T.vectorized(8):
                    with T.block("C_init"):
                        ...
            for k in range(48):
                for i_1, j_1 in T.grid(6, 2):
                    for j_2 in T.vectorized(8):
                        with T.block("C_update"):
                            ...

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-schedule-cpu"

    cpu: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        places = places_of(op) if _remarks.are_collected else {}
        if _remarks.are_collected:
            _report_kept(op, places)
        for schedule in schedule_functions(op, CpuModel.from_text(self.cpu)).values():
            if _remarks.are_collected:
                report_schedule(_remarks, _of_interest(schedule), places, "in the same loops")


def _of_interest(schedule: FunctionSchedule) -> FunctionSchedule:
    """A schedule without the rules that declined a block which a later rule has scheduled."""
    scheduled = {each.block for each in schedule.applied if each.rule in RULES}
    declined = (each for each in schedule.declined if each.block not in scheduled or each.rule not in RULES)
    return replace(schedule, declined=tuple(each for each in declined if each.rule not in PREPARATIONS))


def _report_kept(module: ModuleOp, places: Places) -> None:
    """Reports the functions that stay as they are."""
    for func in find_ops(module, FuncOp):
        if not is_graph_kernel(func) and next(find_ops(func, BlockOp), None) is not None:
            reason = reason_to_keep(func)
            if reason is not None:
                name = func.sym_name.data
                _remarks.missed(places[name, ""], lambda: f"function {name} stays as it is: {reason}")
