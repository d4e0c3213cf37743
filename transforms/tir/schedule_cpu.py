"""The pass `tir-schedule-cpu`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.unscheduled import is_graph_kernel, may_overlap, reason_to_keep, unscheduled_functions
from ...core.cpu import CpuModel
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, FuncOp
from ...schedule.cpu.schedules import PREPARATIONS, RULES
from ...schedule.rules.results import FunctionSchedule
from ..upstream.contract_floats import contract_reductions
from .default_schedules import Places, places_of, report_schedule
from .disjoint_versions import add_disjoint_versions, remove_disjoint_versions
from .similar_schedules import schedule_similar_functions

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

    A function whose buffers may overlap, without `tir.noalias`, gets a version with the schedule, which it calls where
    no buffer overlaps a buffer that it writes; else it executes the loops of the program.

    cpu: the processor, a name and facts (`CpuModel.from_text`): its registers determine the sizes of vectors and tiles.
    contract: whether the products of the sums that it schedules are not rounded before they are added, where the
    processor has the instruction (`contract-floats{reductions=true}`).

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
    contract: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if _remarks.are_collected:
            _report_kept(op, places_of(op))
        cpu = CpuModel.from_text(self.cpu)
        versions = add_disjoint_versions(op, list(filter(may_overlap, unscheduled_functions(op))))
        places = places_of(op) if _remarks.are_collected else {}
        schedules = schedule_similar_functions(op, cpu)
        remove_disjoint_versions(op, [name for name in versions if not schedules[name].applied])
        for schedule in schedules.values() if _remarks.are_collected else ():
            report_schedule(_remarks, _of_interest(schedule), places, "in the same loops")
        for func in op.body.block.ops if self.contract and cpu.fma else ():
            if isinstance(func, FuncOp) and func.sym_name.data in schedules:
                contract_reductions(func)


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
