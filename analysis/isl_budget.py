"""The limits on the work of isl: in basic operations, about a million a second."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from . import isl

DEPENDENCES = 1_200_000
"""The budget for the flow of values: longer analyses are not worth the wait."""
DEAD_EXECUTIONS = 600_000
"""The budget for a second comparison of flows, without dead executions."""
REGIONS = 50_000
"""The budget for a region."""
MAPS = 2_000_000
"""The budget for a map of loops to axes: some divisions by large numbers would take minutes."""


@contextmanager
def isl_operation_limit(operations: int) -> Generator[None]:
    """Limits isl to `operations` of its basic operations in the body; else isl.Error."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(operations)
    context.reset_operations()
    try:
        yield
    finally:
        context.set_max_operations(0)
