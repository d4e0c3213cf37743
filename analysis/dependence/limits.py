"""How much isl may do."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..isl_budget import at_most

# Basic operations of isl: about a second. What takes more is not worth the wait.
MOST = 1_200_000


def limited(share: float = 1) -> AbstractContextManager[None]:
    """Inside, isl does no more than a bounded amount of work, or a share of that; isl.Error beyond it."""
    return at_most(int(MOST * share))
