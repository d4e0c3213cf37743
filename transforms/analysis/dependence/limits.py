"""How much isl may do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl

# Basic operations of isl: about a second. What takes more is not worth the wait.
MOST = 1_200_000


@contextmanager
def limited(share: float = 1) -> Generator[None]:
    """Inside, isl does no more than a bounded amount of work, or a share of that; isl.Error beyond it."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(int(MOST * share))
    context.reset_operations()
    try:
        yield
    finally:
        context.set_max_operations(0)
