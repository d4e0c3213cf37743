"""The limit on the work of isl."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl


@contextmanager
def at_most(operations: int) -> Generator[None]:
    """Limits isl to `operations` of its basic operations, about a million a second, in the body; else isl.Error."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(operations)
    context.reset_operations()
    try:
        yield
    finally:
        context.set_max_operations(0)
