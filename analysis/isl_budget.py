"""How much isl may do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl


@contextmanager
def at_most(operations: int) -> Generator[None]:
    """Inside, isl does no more than so many of its basic operations, about a million a second; isl.Error beyond it."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(operations)
    context.reset_operations()
    try:
        yield
    finally:
        context.set_max_operations(0)
