"""The rules for processors under TVM's names."""

from __future__ import annotations

from typing import Any

from .....schedule.cpu.schedules import schedule_cpu
from ...absent import report_absent
from ...ir.module import PrimFunc
from ..base.schedule_rule import ScheduleRule

__getattr__ = report_absent("tvm.dlight.cpu")


class CPUScheduleRule(ScheduleRule):
    """A rule for processors: the default schedule of a function, if it is of the kind of the rule."""

    kinds: frozenset[str] = frozenset()
    """The rules of default schedules, of which one has scheduled a block of the function."""

    def is_target_available(self, target: Any) -> bool:
        """Whether the target is a processor."""
        return target.kind.name == "llvm"

    def apply(self, func: Any, target: Any, tunable: bool) -> Any:
        """The default schedule of a function as a `PrimFunc`, None for a function of another kind."""
        if not isinstance(func, PrimFunc):
            return None
        result = schedule_cpu(func)
        applied = {each.rule for schedule in result.functions.values() for each in schedule.applied}
        return PrimFunc(result.mod.op, func.constants) if applied & self.kinds else None


class GEMV(CPUScheduleRule):
    """Products of matrices and vectors."""

    kinds = frozenset({"contraction", "packed product"})


class Reduction(CPUScheduleRule):
    """Reductions that are no products."""

    kinds = frozenset({"columns", "partial sums", "rows"})


__all__ = ["GEMV", "CPUScheduleRule", "Reduction"]
