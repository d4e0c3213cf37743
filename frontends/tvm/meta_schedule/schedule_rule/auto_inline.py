"""Rules that inline blocks: `AutoInline`, `InlineConstantScalars`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .....analysis.scopes import consumers, producers, reads_of
from .....core.errors import ScheduleError
from .....dialects.tir import BlockOp
from ...tir import SBlockRV, Schedule
from ..blocks import (
    TENSORIZE,
    accesses,
    calls,
    has_condition,
    inner_block,
    is_complete,
    is_in_spatial_function,
    read_order,
    scalar_constant,
    text_annotation,
)
from .schedule_rule import ScheduleRule

INLINE_RULE = "meta_schedule.inline_rule"
"""The annotation of a block with the value "disable" that the rule leaves alone."""


class AutoInline(ScheduleRule):
    """Inlines a block into the blocks that use it, or else into the block that it uses.

    into_producer, into_consumer: whether that is done.  inline_const_tensor: whether blocks that read nothing are
    always inlined into their users.  The rest holds in functions with reductions alone: blocks stay that have a
    condition (disallow_if_then_else), that read an element twice (require_injective) or transposed (require_ordered),
    or that call a function of the names `disallow_op`.
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ):
        self.into_producer = into_producer
        self.into_consumer = into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective = require_injective
        self.require_ordered = require_ordered
        self.disallow_op = frozenset(getattr(each, "name", each) for each in disallow_op or ())

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if op is None or len(accesses(op, write=True)) != 1:
            return [sch]
        is_constant = self.inline_const_tensor and not reads_of(op)
        if is_constant and consumers(op) and _inlines(sch.compute_inline, block):
            return [sch]
        if (not is_in_spatial_function(op) and self._declines(op)) or text_annotation(op, INLINE_RULE) == "disable":
            return [sch]
        if self.into_consumer and consumers(op) and _inlines(sch.compute_inline, block):
            return [sch]
        if self.into_producer and _has_plain_producer(op):
            _inlines(sch.reverse_compute_inline, block)
        return [sch]

    def _declines(self, op: BlockOp) -> bool:
        """Whether a block of a function with reductions stays."""
        if calls(op, self.disallow_op) or (self.disallow_if_then_else and has_condition(op)):
            return True
        (write,) = accesses(op, write=True)
        orders = [read_order(read, write) or (False, False) for read in accesses(op, write=False)]
        return (self.require_injective and not all(injective for injective, _ in orders)) or (
            self.require_ordered and not all(ordered for _, ordered in orders)
        )


def _has_plain_producer(op: BlockOp) -> bool:
    """Whether a block uses one block, which computes each element once and is no tensor intrinsic."""
    blocks = producers(op)
    return len(blocks) == 1 and is_complete(blocks[0]) and text_annotation(blocks[0], TENSORIZE) is None


def _inlines(inline: Callable[[SBlockRV], None], block: SBlockRV) -> bool:
    """Inlines a block if that is legal. Returns whether it is."""
    try:
        inline(block)
    except ScheduleError:
        return False
    return True


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that compute one element from nothing."""

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if op is not None and scalar_constant(op):
            sch.compute_inline(block)
        return [sch]
