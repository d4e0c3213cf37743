"""Limits of the work of an import: a model that exceeds a limit is an error at the node that exceeds it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .errors import ModelError, ModelUnsupportedError

MOST_NODES = 2**17
"""The maximum number of nodes of a model whose functions are inlined and whose loops are unrolled."""
MOST_NESTED = 64
"""The maximum number of functions that call each other."""
MOST_ROUNDS = 1024
"""The maximum trip count of an unrolled loop."""
MOST_FOLDED = 4096
"""The maximum number of elements of a tensor that the importer folds to a constant."""
MOST_CREATED = 2**24
"""The maximum number of elements of a constant that the importer creates."""
MOST_DIMENSIONS = 32
"""The maximum rank of a tensor, which all functions of numpy support."""


class NodeBudget:
    """The number of nodes that may still be inlined or imported."""

    def __init__(self) -> None:
        self.left = MOST_NODES

    def spend(self, count: int = 1) -> None:
        """Counts nodes. Raises ModelUnsupportedError when the budget is spent."""
        self.left -= count
        if self.left < 0:
            raise ModelUnsupportedError(f"inlined functions and unrolled loops, expected {MOST_NODES} nodes at most")


def require_rounds(op_type: str, count: int, least: int = 0) -> None:
    """Raises ModelUnsupportedError for a trip count of a loop that is not unrolled."""
    if not least <= count <= MOST_ROUNDS:
        expected = f"{least} to {MOST_ROUNDS}" if least else f"{MOST_ROUNDS} at most"
        raise ModelUnsupportedError(f"{op_type} of {count} rounds, expected {expected}")


def require_rank(rank: int) -> None:
    """Raises ModelUnsupportedError for a tensor of more dimensions than an array has."""
    if rank > MOST_DIMENSIONS:
        raise ModelUnsupportedError(f"a tensor of {rank} dimensions, expected {MOST_DIMENSIONS} at most")


def require_created(shape: Sequence[int], what: str) -> None:
    """Raises ModelError for a negative extent, ModelUnsupportedError for a constant that is too large to be created."""
    if any(extent < 0 for extent in shape):
        raise ModelError(f"{what}: expected extents of at least 0, got {list(shape)}")
    require_rank(len(shape))
    count = prod(extent for extent in shape if extent)
    if count > MOST_CREATED:
        raise ModelUnsupportedError(f"{what} of {count} elements, expected {MOST_CREATED} at most")
