"""Gaps: insertion points between statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...analysis.scopes import (
    BlockScope,
    child_towards,
    lowest_common_ancestor,
    precedes_in_text,
    root_buffer,
    statements,
)
from ...dialects.tir import BlockOp, FuncOp, InitOp, TirBuilder
from ...dialects.tir.tree import with_expressions
from .nest import builder_before_expressions


@dataclass(frozen=True)
class Gap:
    """An insertion point in a region: before the statement `before`, or at the end of `block` if `before` is None.

    outer: the function, block, loop or branch whose region it is.
    """

    outer: Operation
    block: Block
    before: Operation | None

    def is_fixed(self, value: SSAValue) -> bool:
        """Whether a value is visible at the gap and constant during one run of its region."""
        owner = value.owner if isinstance(value.owner, Block) else value.owner.parent
        block: Block | None = self.block
        while block is not None:
            if block is owner:
                return True
            block = block.parent_block()
        return False

    def insert(self, ops: Iterable[Operation]) -> None:
        """Insert detached ops into the gap."""
        first = None if self.before is None else with_expressions(self.before)[0]
        for op in ops:
            if first is None:
                self.block.add_op(op)
            else:
                self.block.insert_op_before(op, first)

    def insert_all(self, source: Block) -> None:
        """Move all ops of another block into the gap."""
        ops = list(source.ops)
        for op in ops:
            op.detach()
        self.insert(ops)

    def builder(self) -> TirBuilder:
        """A builder that inserts into the gap."""
        return TirBuilder(self.block) if self.before is None else builder_before_expressions(self.before)


def scope_start(scope: FuncOp | BlockOp) -> Gap:
    """The gap before the first statement of a scope, after its declarations."""
    inside = statements(scope.body.block)
    return Gap(scope, scope.body.block, inside[0] if inside else None)


def body_start(scope: FuncOp | BlockOp) -> Gap:
    """The gap before the first statement of a scope that runs in each of its instances: after its init."""
    inside = [op for op in statements(scope.body.block) if not isinstance(op, InitOp)]
    return Gap(scope, scope.body.block, inside[0] if inside else None)


def innermost_common(block: BlockOp, others: Iterable[Operation], around: Sequence[Operation] = ()) -> Operation:
    """The innermost op around `block`, all of `around`, and any one of the others.

    ValueError if there are no others.
    """
    innermost: Operation | None = None
    for other in others:
        outer = lowest_common_ancestor((block, other, *around))
        if innermost is None or innermost.is_ancestor(outer):
            innermost = outer
    if innermost is None:
        raise ValueError("no other op")
    return innermost


def gap_beside(outer: Operation, op: Operation, *, after: bool) -> Gap:
    """The gap before (`after`: after) the statement directly in `outer` that contains `op`."""
    child = child_towards(outer, op)
    block = child.parent
    assert block is not None
    if not after:
        return Gap(outer, block, child)
    following = statements(block)[statements(block).index(child) + 1 :]
    return Gap(outer, block, following[0] if following else None)


def gap_before_first(outer: Operation, writer: Operation, users: Iterable[Operation]) -> Gap:
    """The gap before the first statement directly in `outer` that follows `writer` and contains one of the users; right
    after `writer` without such a statement."""
    child = child_towards(outer, writer)
    others = {child_towards(outer, user) for user in users if outer.is_ancestor(user)}
    following = child.next_op
    while following is not None:
        if following in others:
            return gap_beside(outer, following, after=False)
        following = following.next_op
    return gap_beside(outer, writer, after=True)


def gap_after_writers(writers: Sequence[BlockOp], readers: Sequence[Operation]) -> Gap:
    """The gap after the last of some writers, before the first statement with a reader in the innermost loop around all
    writers and a reader."""
    last = writers[-1]
    return gap_before_first(innermost_common(last, readers, around=writers), last, readers)


def gap_before_next_user(scope: BlockScope, block: BlockOp, buffer: SSAValue, ignored: Sequence[Operation] = ()) -> Gap:
    """The gap after a block, before the next block of its scope that uses a buffer; at the end of the scope if none
    does. ignored: users that do not count."""
    root = root_buffer(buffer)
    users = [*scope.readers.get(root, ()), *scope.writers.get(root, ())]
    following = [user for user in users if user not in ignored and precedes_in_text(block, user)]
    if not following:
        return Gap(scope.op, scope.op.body.block, None)
    return gap_before_first(innermost_common(block, following), block, following)
