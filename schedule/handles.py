"""Handles of a `Schedule`: names of blocks, loops and numbers, valid in the schedule and in its copies."""

from __future__ import annotations

from typing import TypeAlias


class Handle:
    """A reference to a part of the program, or to a number, that an instruction of a trace returned."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class BlockRV(Handle):
    """A handle of a block. `schedule.get(rv)` is the `tir.block` op itself; for "root" it is the function."""

    __slots__ = ()


class LoopRV(Handle):
    """A handle of a loop. `schedule.get(rv)` is the `tir.for` op itself."""

    __slots__ = ()


class ExprRV(Handle):
    """A handle of a sampled number, or of a number computed from sampled ones. `schedule.get(rv)` is the number."""

    __slots__ = ()


RV: TypeAlias = BlockRV | LoopRV | ExprRV
"""A handle of any kind; TVM calls them random variables."""

BlockLike: TypeAlias = BlockRV | str
"""A block handle, or the name of a block."""
