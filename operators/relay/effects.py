"""Effects of operations on tensors: a result that a later operation overwrites has memory of its own."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

OVERWRITTEN: list[Callable[[SSAValue], bool]] = []
"""Functions that tell whether an operation of some dialect overwrites the memory of a value."""


class ComputesTensors(MemoryEffect):
    """The operation has no effects except for the allocation of a result that is overwritten. Such a result is not
    merged with an equal one, nor computed once for several calls."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        is_overwritten = any(test(result) for result in op.results for test in OVERWRITTEN)
        return {EffectInstance(MemoryEffectKind.ALLOC)} if is_overwritten else set()
