"""Handles of a `Schedule`: names of blocks, loops, numbers and sizes, valid in the schedule and in its copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir.affine import AffineExpr

from .arithmetic import IndexTerm


class Handle:
    """A reference to a part of the program, or to a number, that an instruction of a trace returned."""

    __slots__ = ("name",)

    def __init__(self, name: str = "_"):
        """name: the name in messages; a handle without one denotes a result of an instruction built by hand."""
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class BlockRV(Handle):
    """A handle of a block. `schedule.get(rv)` is the `tir.block` op itself; for "root" it is the function."""

    __slots__ = ()


class LoopRV(Handle):
    """A handle of a loop. `schedule.get(rv)` is the `tir.for` op itself."""

    __slots__ = ()


class ParameterRV(Handle, IndexTerm):
    """A handle of an integer, which index maps may use: `lambda i: (i // (a * b), i % (a * b))`."""

    __slots__ = ()

    @property
    def expr(self) -> AffineExpr:
        return ParameterExpr(self)


class ExprRV(ParameterRV):
    """A handle of a sampled number. `schedule.get(rv)` is the number."""

    __slots__ = ()


class SizeRV(ParameterRV):
    """A handle of a size of the program, known when the function is called. `schedule.get(rv)` is its `Size`."""

    __slots__ = ()


RV: TypeAlias = BlockRV | LoopRV | ExprRV | SizeRV
"""A handle of any kind; TVM calls them random variables."""

BlockLike: TypeAlias = BlockRV | str
"""A block handle, or the name of a block."""


@dataclass(frozen=True)
class Size:
    """The symbolic size, or the integer parameter, `name` of a function."""

    function: str
    name: str


@dataclass(frozen=True, eq=False)
class ParameterExpr(AffineExpr):
    """A parameter of an index map while the map is traced; a symbol replaces the expression afterwards."""

    handle: ParameterRV

    def is_pure_affine(self) -> bool:
        """Whether the expression is affine: as a symbol is."""
        return True

    def __str__(self) -> str:
        return self.handle.name
