"""Default schedules for processors: rules, one module each, that are tried in order on the blocks of a function."""

from .schedules import RULES, schedule_cpu, schedule_functions

__all__ = ["RULES", "schedule_cpu", "schedule_functions"]
