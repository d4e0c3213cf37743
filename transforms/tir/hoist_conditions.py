"""The pass `tir-hoist-conditions`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer
from ...analysis.loop_accesses import are_apart
from ...analysis.threads.axes import thread_axis_of
from ...analysis.threads.memories import memory_of
from ...core.remarks import PassRemarks
from ...dialects.attributes import TIR_NOALIAS, is_true
from ...dialects.text import expression_text
from ...dialects.tir import (
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    WhileOp,
    YieldOp,
    is_speculatable,
)
from ...dialects.tir.copying import copy_out
from ...dialects.tir.tree import (
    computing_ops,
    erase_statement,
    has_effect,
    is_expression_op,
)
from .known_branches import KnownBranches, Place
from .preconditions import report_blocks

_remarks = PassRemarks("tir-hoist-conditions")

_MOST = 2
"""The greatest number of conditions that divide one loop: each doubles the number of copies."""


@dataclass(frozen=True)
class TirHoistConditionsPass(ModulePass):
    """Moves branches whose condition a loop does not change out of the loop.

    The condition is evaluated once, before the loop, and each side of the branch has a loop of its own: the body of a
    vectorized loop becomes vectors without masks, and loops inside have no branch for each iteration. Inner loops come
    first, so that a condition leaves as many loops as do not change it.

    A loop that contains only the branch is never copied for a side without statements. A loop with other statements is
    copied for both sides if it is innermost: there the branch is evaluated as often as the statements, while copies of
    a whole loop nest would save few evaluations for many operations. At most two conditions divide such a loop.

    The evaluation before the loop is unobservable: the condition contains no call and no division by a value that may
    be 0. A condition that loads elements leaves a loop only if the loop certainly evaluates it, as the condition of a
    branch of its own body in at least one iteration, and writes no memory that the condition reads. Functions with
    threads stay unchanged: a branch that differs between threads must not contain barriers. Lazy choices
    (`tir.if_then_else`) stay as well; LLVM hoists their conditions.

    max-ops: the maximum number of operations of a function after a loop is copied.

    Before
        tir.for vectorized "j" %j : i32 in [0 +: 8] {
          %0 = arith.cmpi slt, %i, %n : i32
          tir.if %0 {
            ...
          }
        }

    After
        %0 = arith.cmpi slt, %i, %n : i32
        tir.if %0 {
          tir.for vectorized "j" %j : i32 in [0 +: 8] {
            ...
          }
        }

    Must hold before: no tir.block, whose name would no longer be unique (`tir-resolve-blocks`).

    Gone after: nothing.
    """

    name = "tir-hoist-conditions"

    max_ops: int = 4096

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if not isinstance(function, FuncOp):
                continue
            if all(thread_axis_of(inner) is None for inner in function.walk()):
                _Hoisting(function, self.max_ops).block(function.body.block)
                report_blocks(_remarks, function)
            else:
                name = function.sym_name.data
                _remarks.missed(function, lambda: f"function {name} stays as it is: loops are bound to threads")


class _Hoisting:
    """The hoisting in a function. room: the number of operations that copies may still have."""

    def __init__(self, function: FuncOp, max_ops: int):
        self.no_alias = is_true(function.attr(TIR_NOALIAS))
        self.room = max(0, max_ops - sum(1 for _ in function.walk()))

    def block(self, block: Block) -> None:
        """Hoists conditions out of the loops in a block, the innermost first."""
        for op in list(block.ops):
            for region in op.regions:
                self.block(region.block)
            if isinstance(op, ForOp):
                self._loop(op, 0)

    def _loop(self, loop: ForOp, copied: int) -> None:
        """Hoists conditions out of a loop. copied: the number of conditions for which it is a copy already."""
        branch = next((each for each in _branches(loop.body.block) if self._is_invariant(each, loop)), None)
        if branch is None:
            return
        alone = _is_alone(branch, loop)
        if not alone and (copied == _MOST or _contains_loops(loop)):
            return
        added = 0 if alone else sum(1 for _ in loop.walk())
        text = f"`{expression_text(branch.condition)}`"
        if added > self.room:
            limit = f"the copy would add {added} operations, max-ops permits {self.room}"
            _remarks.missed(loop, lambda: f"condition {text} stays in loop {loop.loop_var.data}: {limit}")
            return
        self.room -= added
        copies = f", which is copied for both sides: {added} operations" if added else ""
        _remarks.applied(loop, lambda: f"condition {text} leaves loop {loop.loop_var.data}{copies}")
        for copy in _divide(loop, branch):
            self._loop(copy, copied + (not alone))

    def _is_invariant(self, branch: IfOp, loop: ForOp) -> bool:
        """Whether the condition of a branch may be evaluated once, before a loop around the branch."""
        ops = [op for op in computing_ops(branch.condition) if loop.is_ancestor(op) and not isinstance(op, YieldOp)]
        arguments = [o for op in (branch, *ops) for o in op.operands if isinstance(o, BlockArgument)]
        if any(loop.is_ancestor(argument.owner) for argument in arguments):
            return False
        unsafe = [op for op in ops if not is_speculatable(op)]
        if not unsafe:
            return True
        return (
            all(isinstance(op, LoadOp) and self._is_unchanged(op, loop) for op in unsafe)
            and branch.parent is loop.body.block
            and _runs(loop)
        )

    def _is_unchanged(self, load: LoadOp, loop: ForOp) -> bool:
        """Whether the statements of a loop surely terminate, and write no memory that a load reads."""
        source = memory_of(load.buffer)
        for op in loop.walk():
            if isinstance(op, StoreOp):
                if not are_apart(source, memory_of(op.buffer), self.no_alias):
                    return False
            elif has_effect(op) or not (is_expression_op(op) or isinstance(op, ForOp | IfOp | LetOp | YieldOp)):
                return False
        return True


def _branches(block: Block) -> Iterator[IfOp]:
    """The branches in a block and in their own regions, not in loops inside."""
    for op in block.ops:
        if isinstance(op, IfOp):
            yield op
            for region in op.regions:
                yield from _branches(region.block)


def _is_alone(branch: IfOp, loop: ForOp) -> bool:
    """Whether a loop contains no other statement than a branch."""
    return branch.parent is loop.body.block and all(op is branch or _is_pure(op) for op in loop.body.block.ops)


def _is_pure(op: Operation) -> bool:
    return is_expression_op(op) and not has_effect(op)


def _contains_loops(loop: ForOp) -> bool:
    return any(isinstance(op, ForOp | WhileOp) and op is not loop for op in loop.walk())


def _runs(loop: ForOp) -> bool:
    """Whether a loop has at least one iteration."""
    analyzer = Analyzer()
    with analyzer.inside(loop):
        return analyzer.is_provably("ge", analyzer.exact(loop.mixed_bounds[1]), 1)


def _divide(loop: ForOp, branch: IfOp) -> list[ForOp]:
    """Replaces a loop by a branch with a loop on each side that has statements; returns these loops."""
    builder = TirBuilder(InsertPoint.before(loop), branch.location)
    outer = builder.insert(IfOp(copy_out(branch.condition, loop, builder, {})))
    loops: list[ForOp] = []
    for truth, region in ((True, outer.then), (False, outer.orelse)):
        analyzer = Analyzer()
        with analyzer.assuming(branch.condition, truth):
            KnownBranches(analyzer).copy_loop(loop, Place(region.block))
        loops += (op for op in region.block.ops if isinstance(op, ForOp))
    erase_statement(loop)
    return loops
