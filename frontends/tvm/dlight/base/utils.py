"""Facts about targets, for rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....expressions.expr import IntImm
from ...target.target import Target


def get_max_threads_per_block(target: Target) -> int:
    """The greatest number of threads of a block."""
    return int(target.max_num_threads)


def get_max_shared_memory_per_block(target: Target) -> int:
    """The size of the shared memory of a block in bytes."""
    return int(target.attrs.get("max_shared_memory_per_block", 48 * 1024))


def suggest_threads_per_block(
    target: Target, loops: Sequence[Any], max_threads_for_dynamic_loop: int = 32
) -> list[int]:
    """The number of threads of each loop of a nest: powers of two, more for outer loops.

    loops: of the program, `sch.get(loop)`.  max_threads_for_dynamic_loop: the number for loops of unknown extent.
    """
    left = 256 if target.kind.name == "cuda" else 64
    left = min(left, get_max_threads_per_block(target))
    threads: list[int] = []
    for loop in loops:
        extent = loop.extent
        most = extent.value if isinstance(extent, IntImm) else max_threads_for_dynamic_loop
        count = 1
        while count * 2 <= min(most, left):
            count *= 2
        threads.append(count)
        left //= count
    return threads


__all__ = ["get_max_shared_memory_per_block", "get_max_threads_per_block", "suggest_threads_per_block"]
