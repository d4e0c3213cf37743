"""Effects of operations on tensors: a result that a later operation overwrites has memory of its own."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

OVERWRITTEN: list[Callable[[SSAValue], bool]] = []
"""Functions that tell whether an operation of some dialect overwrites the memory of a value."""
UNPLACED: list[Callable[[SSAValue], bool]] = []
"""Functions that tell whether the uses of a value alone determine its device, so that equal values may be on others."""


def is_overwritten(op: Operation) -> bool:
    """Whether a later operation overwrites the memory of a result."""
    return any(test(result) for result in op.results for test in OVERWRITTEN)


class ComputesTensors(MemoryEffect):
    """The operation has no effects except for the allocation of a result that is overwritten, or whose device its uses
    determine. Such a result is not merged with an equal one, nor computed once for several calls."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        is_own = is_overwritten(op) or any(test(result) for result in op.results for test in UNPLACED)
        return {EffectInstance(MemoryEffectKind.ALLOC)} if is_own else set()
