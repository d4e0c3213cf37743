"""The limit on the work of isl in dependence analysis."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..isl_budget import at_most

# Basic operations of isl: about a second. Longer analyses are not worth the wait.
MOST = 1_200_000


def limited(share: float = 1) -> AbstractContextManager[None]:
    """Limits isl to `share` of a fixed amount of work in the body; isl.Error beyond it."""
    return at_most(int(MOST * share))
