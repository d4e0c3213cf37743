"""Schedules: transformations of `tir` programs that are checked, recorded and replayed.

`Schedule` is what users hold. A family of primitives is a module with a mixin class, whose methods record an op of the
`schedule` dialect, and the functions that apply these ops (`state.applies`).
"""

from .handles import BlockRV, ExprRV, LoopRV, SizeRV
from .schedule import Schedule
from .trace import Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "SizeRV", "Trace"]
