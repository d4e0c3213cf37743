"""Remarks about default schedules: the rules that scheduled the blocks of a function, and those that declined."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...core.remarks import PassRemarks, Place
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, FuncOp
from ...schedule.rules.results import FunctionSchedule

Places: TypeAlias = dict[tuple[str, str], Place]
"""The places of blocks, by the names of the function and the block; those of functions, by the name and ""."""


def places_of(module: ModuleOp) -> Places:
    """The places of the functions of a module and of their blocks."""
    places: Places = {}
    for func in module.body.block.ops:
        if isinstance(func, FuncOp):
            name = func.sym_name.data
            places[name, ""] = Place.of(func)
            places |= {(name, op.block_name.data): Place.of(op) for op in find_ops(func, BlockOp)}
    return places


def report_schedule(remarks: PassRemarks, schedule: FunctionSchedule, places: Places, others_are: str) -> None:
    """Reports the rules that scheduled the blocks of a function, and those that declined.

    others_are: the relation of other blocks to a scheduled block, "in one kernel".
    """
    function = places[schedule.function, ""]
    for declined in schedule.declined:
        remarks.missed(
            places.get((schedule.function, declined.block), function),
            lambda: f"block {declined.block}: not by the rule {declined.rule}: {declined.reason}",
        )
    for applied in schedule.applied:
        others = f", with {', '.join(applied.with_blocks)} {others_are}" if applied.with_blocks else ""
        text = f": {applied.text}" if applied.text else ""
        remarks.applied(
            places.get((schedule.function, applied.block), function),
            lambda: f"block {applied.block}: by the rule {applied.rule}{others}{text}",
        )
