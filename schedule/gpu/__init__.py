"""Default schedules for GPUs: rules, one module each, that are tried in order on the blocks of a function."""

from .results import Applied, Declined
from .schedules import RULES, FunctionSchedule, GpuSchedules, schedule_functions, schedule_gpu

__all__ = [
    "RULES",
    "Applied",
    "Declined",
    "FunctionSchedule",
    "GpuSchedules",
    "schedule_functions",
    "schedule_gpu",
]
