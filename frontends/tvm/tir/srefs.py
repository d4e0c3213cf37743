"""Blocks and loops of a schedule as nodes: `tvm.tir.schedule.StmtSRef`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ....analysis.scopes import ancestors, function_around
from ....core.errors import ScheduleError
from ....dialects.tir import BlockOp, ForOp, FuncOp
from ..nodes.blocks import Block
from ..nodes.functor import post_order_visit
from ..nodes.reading import NodeReader
from ..nodes.stmt import For, Stmt


@dataclass(frozen=True)
class StmtSRef:
    """The place of a block or loop. underneath: its op; of a root block without annotations its function."""

    underneath: Operation

    @property
    def stmt(self) -> Stmt:
        """The node, as of `Schedule.get`."""
        return node_of(self.underneath)

    def same_as(self, other: object) -> bool:
        """Whether both are the same place."""
        return self == other

    @property
    def parent(self) -> StmtSRef | None:
        """The place of the innermost loop or block around it, None for a root."""
        if isinstance(self.underneath, FuncOp):
            return None
        around = next(op for op in ancestors(self.underneath) if isinstance(op, BlockOp | ForOp | FuncOp))
        is_root = isinstance(around, FuncOp) and isinstance(self.underneath, BlockOp) and not self.underneath.axes
        return None if is_root else StmtSRef(around)


def node_of(op: Operation) -> Stmt:
    """The node of a block or loop of a program; of a function its root block. ScheduleError for another op."""
    func = function_around(op)
    assert func is not None
    found: list[Stmt] = []

    def visit(node: object) -> None:
        if isinstance(node, Block | For) and node.underneath is op:
            found.append(node)

    post_order_visit(NodeReader(func).body(), visit)
    if not found:
        raise ScheduleError(f"{op.name}: expected a block or a loop")
    return found[0]
