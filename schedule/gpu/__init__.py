"""Default schedules for GPUs: rules, one module each, that are tried in order on the blocks of a function."""

from .schedules import RULES, schedule_functions, schedule_gpu

__all__ = ["RULES", "schedule_functions", "schedule_gpu"]
