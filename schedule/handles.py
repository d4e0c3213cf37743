"""What a user of `Schedule` holds: names for blocks, loops and numbers, valid in the schedule and in its copies."""

from __future__ import annotations

from typing import TypeAlias


class Handle:
    """Stands for a part of the program, or a number, that an instruction of a trace gave."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class BlockRV(Handle):
    """A block. `schedule.get(rv)` is the `tir.block` op itself; for "root" it is the function."""

    __slots__ = ()


class LoopRV(Handle):
    """A loop. `schedule.get(rv)` is the `tir.for` op itself."""

    __slots__ = ()


class ExprRV(Handle):
    """A number that was drawn, or computed from such. `schedule.get(rv)` is it."""

    __slots__ = ()


RV: TypeAlias = BlockRV | LoopRV | ExprRV
"""Any of them, as TVM calls them: random variables."""

BlockLike: TypeAlias = BlockRV | str
"""A block, or the name of one."""
