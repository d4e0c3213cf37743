"""The rules for processors under TVM's names."""

from __future__ import annotations

from typing import Any

from .....schedule.cpu.schedules import schedule_cpu
from .....schedule.rules.results import DefaultSchedules
from ...absent import report_absent
from ...ir.module import PrimFunc
from ..base.schedule_rule import DefaultScheduleRule

__getattr__ = report_absent("tvm.dlight.cpu")


class CPUScheduleRule(DefaultScheduleRule):
    """A rule for processors."""

    def is_target_available(self, target: Any) -> bool:
        """Whether the target is a processor."""
        return target.kind.name == "llvm"

    def default_schedules(self, func: PrimFunc) -> DefaultSchedules:
        return schedule_cpu(func)


class GEMV(CPUScheduleRule):
    """Products of matrices and vectors."""

    kinds = frozenset({"contraction", "packed product"})


class Reduction(CPUScheduleRule):
    """Reductions that are no products."""

    kinds = frozenset({"columns", "partial sums", "rows"})


__all__ = ["GEMV", "CPUScheduleRule", "Reduction"]
