"""Legality of transformations: comparison of the value flow between instances of blocks before and after, by isl.

    flow = value_flow(scope)                      # before
    ...                                           # change the program
    violation = compare_flows(flow, value_flow(scope))

docs/legality.md explains the model.
"""

from .carried import carried_dependence, has_self_conflicts, reads_its_writes
from .compare import CyclicCopyError, compare_flows
from .flow import Flow, value_flow
from .sources import LIVE_IN, LIVE_OUT
from .statements import Init
from .violation import Violation

__all__ = [
    "LIVE_IN",
    "LIVE_OUT",
    "CyclicCopyError",
    "Flow",
    "Init",
    "Violation",
    "carried_dependence",
    "compare_flows",
    "has_self_conflicts",
    "reads_its_writes",
    "value_flow",
]
