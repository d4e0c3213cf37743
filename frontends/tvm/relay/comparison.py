"""Comparisons of expressions and types under the names of v0.6: `tvm.relay.analysis.alpha_equal`, `graph_equal`."""

from __future__ import annotations

from typing import Any

from ..ir.comparison import assert_structural_equal, structural_equal
from ..ir.comparison import structural_hash as structural_hash


def alpha_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions, types or modules are equal up to the names of the variables that they bind."""
    return structural_equal(lhs, rhs)


def assert_alpha_equal(lhs: Any, rhs: Any) -> None:
    """Raises ValueError with the first difference unless `alpha_equal`."""
    assert_structural_equal(lhs, rhs)


def graph_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions compute the same: free variables correspond to each other in the order of their use."""
    return structural_equal(lhs, rhs, map_free_vars=True)


def assert_graph_equal(lhs: Any, rhs: Any) -> None:
    """Raises ValueError with the first difference unless `graph_equal`."""
    assert_structural_equal(lhs, rhs, map_free_vars=True)


__all__ = ["alpha_equal", "assert_alpha_equal", "assert_graph_equal", "graph_equal", "structural_hash"]
