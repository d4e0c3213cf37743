"""Facts about the blocks of a kernel, for rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....analysis.scopes import child_blocks
from ....dialects.tir import FuncOp
from ....schedule import Schedule
from ....schedule.handles import BlockRV, LoopRV
from ....schedule.rules.kernel import Kernel, handle_of
from ..absent import report_absent

__getattr__ = report_absent("tvm.dlight.analysis")

_KINDS = {"spatial": "S", "reduce": "R"}
_OTHER = "O"
"""The letter of axes of another kind."""


@dataclass(frozen=True)
class IterInfo:
    """An axis of a block. kind: `S`, `R` or `O`.  var: its name.  dom: its extent, None if it is dynamic.  loop_rv: its
    loop."""

    kind: str
    var: str
    dom: int | None
    loop_rv: LoopRV


@dataclass(frozen=True)
class SBlockInfo:
    """A block, its axes and its loops, in the order of the axes."""

    name: str
    iters: Sequence[IterInfo]
    block_rv: BlockRV
    kernel: Kernel

    def dom(self) -> list[int | None]:
        """The extents of the axes."""
        return [each.dom for each in self.iters]

    def dom_kind(self) -> str:
        """The kinds of the axes, `SSR`."""
        return "".join(each.kind for each in self.iters)

    def is_injective(self) -> bool:
        """Whether all axes are spatial."""
        return set(self.dom_kind()) <= {"S"}

    def is_elementwise(self, sch: Schedule) -> bool:
        """Whether all accesses of an injective block have the same indices. sch: the schedule of the block."""
        accesses = [*self.kernel.reads, *self.kernel.writes]
        return self.is_injective() and len({each.indices for each in accesses}) <= 1

    def is_reduction(self) -> bool:
        """Whether the axes are spatial and reduction axes, with at least one of the latter."""
        kinds = set(self.dom_kind())
        return "R" in kinds and kinds <= {"S", "R"}


BlockInfo = SBlockInfo


def normalize_prim_func(sch: Schedule) -> list[SBlockInfo] | None:
    """The blocks of the only function of a schedule; the loops of each are reordered so that those of spatial axes are
    outside. None if the loops of a block are not nested perfectly, or do not correspond to its axes."""
    functions = [(name, op) for name, op in sch.mod.function_ops.items() if isinstance(op, FuncOp)]
    if len(functions) != 1:
        return None
    ((name, func),) = functions
    infos: list[SBlockInfo] = []
    for block in child_blocks(func):
        kernel = Kernel(handle_of(sch, name, block), block)
        if not kernel.has_plain_loops():
            return None
        infos.append(_info(sch, kernel))
    return infos


def _info(sch: Schedule, kernel: Kernel) -> SBlockInfo:
    loops = sch.get_loops(kernel.rv)
    iters = [_iter(kernel, axis, loops) for axis in kernel.axes if axis in kernel.loop_of]
    order = [each.loop_rv for kind in ("S", _OTHER, "R") for each in iters if each.kind == kind]
    if order != loops and len(order) > 1:
        sch.reorder(*order)
    return SBlockInfo(kernel.name, iters, kernel.rv, kernel)


def _iter(kernel: Kernel, axis: Any, loops: Sequence[LoopRV]) -> IterInfo:
    kind = _KINDS.get(kernel.kinds[axis], _OTHER)
    return IterInfo(kind, axis.name_hint or "", kernel.extents[axis], loops[kernel.loop_of[axis]])


__all__ = ["BlockInfo", "IterInfo", "SBlockInfo", "normalize_prim_func"]
