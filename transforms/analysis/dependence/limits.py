"""How much isl may do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl

# Basic operations of isl: a second or two. What takes more is not worth the wait.
_MOST = 10_000_000


@contextmanager
def limited() -> Generator[None]:
    """Inside, isl does no more than a bounded amount of work; isl.Error beyond it."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(_MOST)
    context.reset_operations()
    try:
        yield
    finally:
        context.set_max_operations(0)
