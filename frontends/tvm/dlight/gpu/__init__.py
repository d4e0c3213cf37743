"""The rules for GPUs under TVM's names."""

from __future__ import annotations

from typing import Any

from .....core.walking import find_ops
from .....dialects.tir import BlockOp, FuncOp
from .....schedule.gpu.schedules import schedule_gpu
from .....schedule.rules.results import DefaultSchedules, FunctionSchedule
from ...absent import report_absent
from ...ir.module import PrimFunc
from ..base.schedule_rule import DefaultScheduleRule

__getattr__ = report_absent("tvm.dlight.gpu")


class GPUScheduleRule(DefaultScheduleRule):
    """A rule for GPUs."""

    def is_target_available(self, target: Any) -> bool:
        """Whether the target is a GPU."""
        return "gpu" in target.keys

    def default_schedules(self, func: PrimFunc) -> DefaultSchedules:
        return schedule_gpu(func)


def _reductions(func: FuncOp) -> int:
    """The number of reductions of a function."""
    return sum(block.init is not None for block in find_ops(func, BlockOp))


def _reads_a_vector(block: BlockOp) -> bool:
    """Whether a reduction reads two regions, one of which depends on some of its axes only."""
    reads = [each for each in block.accesses if each.kind.data == "reads"]
    axes = set(block.body.block.args)
    used = [{value for value in each.mins if value in axes} for each in reads]
    return block.init is not None and len(reads) == 2 and any(0 < len(each) < len(axes) for each in used)


class Matmul(GPUScheduleRule):
    """Products of matrices and convolutions, in tiles in shared memory and registers."""

    kinds = frozenset({"gemm", "convolution"})


MatmulTensorization = MatmulTensorizationMMA = MatmulTensorizationWMMA = MatmulInt8Tensorization = Matmul
"""The rules of products by matrix units, which `Matmul` chooses itself where the types and the GPU have them."""


class GEMV(GPUScheduleRule):
    """Products of a matrix and a vector, a row by the lanes of a warp. The elements of the matrix may be computed, from
    integers of few bits for instance."""

    kinds = frozenset({"gemv"})

    def fits(self, func: FuncOp, schedule: FunctionSchedule) -> bool:
        reduced = {each.block for each in schedule.applied if each.rule == "reduction"}
        return super().fits(func, schedule) or any(
            block.block_name.data in reduced and _reads_a_vector(block) for block in find_ops(func, BlockOp)
        )


class LowBatchGEMV(GEMV):
    """Products of a matrix and few vectors, scheduled as those of one vector."""

    def __init__(self, bucket: int = 4):
        self.bucket = bucket


class Reduction(GPUScheduleRule):
    """Functions with exactly one reduction, products excluded."""

    kinds = frozenset({"reduction", "reduction by blocks"})

    def fits(self, func: FuncOp, schedule: FunctionSchedule) -> bool:
        return super().fits(func, schedule) and _reductions(func) == 1


class GeneralReduction(GPUScheduleRule):
    """Functions with several reductions along the same rows: a softmax, a normalization."""

    kinds = frozenset({"normalization", "reduction", "reduction by blocks"})


class RMSNorm(GPUScheduleRule):
    """Normalizations by a root of a mean."""

    kinds = frozenset({"normalization"})

    def fits(self, func: FuncOp, schedule: FunctionSchedule) -> bool:
        return super().fits(func, schedule) and any(_is_rsqrt(op.name) for op in func.walk())


def _is_rsqrt(name: str) -> bool:
    return name in ("math.rsqrt", "math.sqrt")


class Transpose(GPUScheduleRule):
    """Transposes, in tiles in shared memory."""

    kinds = frozenset({"transpose"})


class Fallback(GPUScheduleRule):
    """Every function."""

    def fits(self, func: FuncOp, schedule: FunctionSchedule) -> bool:
        return True


__all__ = [
    "GEMV", "Fallback", "GPUScheduleRule", "GeneralReduction", "LowBatchGEMV", "Matmul", "RMSNorm", "Reduction",
    "Transpose",
]  # fmt: skip
