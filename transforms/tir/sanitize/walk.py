"""The walk over a function that inserts checks before each statement and expression, in the order of evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....analysis.index import Analyzer
from ....analysis.threads.atomics import atomic_of
from ....core.diagnostics import unsupported_op_error
from ....dialects.tir import (
    DIVISIONS,
    SHIFTS,
    AccessOp,
    AccessPtrOp,
    BlockOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    DeclBufferOp,
    ForOp,
    FuncOp,
    IfOp,
    IfThenElseOp,
    LetOp,
    LoadOp,
    StoreOp,
    WhileOp,
    YieldOp,
)
from ....dialects.tir.tree import has_effect, is_pure_expression, treeify
from .accesses import Accesses
from .arithmetic import check_division, check_overflow, check_shift, values_of_indices
from .checks import Checks
from .memories import Positions
from .shadows import Shadows


def sanitize(func: FuncOp) -> int:
    """Inserts the checks of a function that a processor runs, in place. Returns their number."""
    sanitizer = _Sanitizer(func)
    sanitizer.block(func.body.block)
    treeify(func)
    return sanitizer.checks.count


class _Sanitizer:
    """The state of a walk.

    indices: the integers that feed indices.  ignored: expressions that only declare accesses, which nothing evaluates.
    """

    def __init__(self, func: FuncOp):
        self.indices = values_of_indices(func)
        self.ignored = _unevaluated_ops(func)
        self.shadows = Shadows(func)
        self.checks = Checks(func.sym_name.data, Analyzer())
        self.accesses = Accesses(self.checks, self.shadows)

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self.op(op)

    def op(self, op: Operation) -> None:
        """Inserts the checks of an operation and of its regions."""
        if op in self.shadows.own or op in self.ignored:
            return
        if any(result in self.indices for result in op.results):
            check_overflow(self.checks, op)
        handler = _HANDLERS.get(type(op), _Sanitizer.regions)
        handler(self, op)

    def regions(self, op: Operation, *assumed: SSAValue) -> None:
        """Visits the regions of a statement, under conditions that hold inside."""
        for region in op.regions:
            with self.checks.analyzer.assumptions():
                self.checks.analyzer.enter(op, region.block)
                for condition in assumed:
                    self.checks.analyzer.assume(condition)
                self.block(region.block)

    # Statements

    def loop(self, op: ForOp) -> None:
        step = op.mixed_bounds[2]
        analyzer = self.checks.analyzer
        if isinstance(step, SSAValue) and not analyzer.is_provably("gt", analyzer.exact(step), 0):
            builder = self.checks.builder(op)
            self.checks.require(builder, op, builder.binary("gt", step, 0), "the step of a loop is not positive")
        self.regions(op)

    def tir_block(self, op: BlockOp) -> None:
        """Checks that the axes of a block are in their domains if its predicate holds."""
        builder, branch = self.checks.builder(op), None
        if op.predicate is not None:
            branch = builder.insert(IfOp(op.predicate))
            builder.point = InsertPoint.at_end(branch.then.block)
        conditions: list[SSAValue] = []
        with self.checks.analyzer.assuming(op.predicate):
            for axis in op.axes:
                end = Positions(builder).add(axis.low, axis.extent)
                condition = self.checks.bounds_condition(builder, axis.binding, axis.low, end)
                if condition is not None:
                    text = f"block {op.block_name.data}: axis {axis.name} is outside of its domain"
                    self.checks.require(builder, op, condition, text)
                    conditions.append(condition)
        if branch is not None and not conditions:
            branch.detach()
            branch.erase()
        self.regions(op, *conditions)

    def loop_while(self, op: WhileOp) -> None:
        """Checks the condition of a loop before the loop and at the end of its body."""
        self.copy_checked(op.condition.block, InsertPoint.before(op))
        with self.checks.analyzer.assumptions():
            self.block(op.body.block)
        self.copy_checked(op.condition.block, InsertPoint.at_end(op.body.block))

    def choice(self, op: IfThenElseOp) -> None:
        """Checks the operands of a lazy conditional in a branch before it, on the same condition."""
        branch = IfOp(op.condition)
        self.checks.builder(op).insert(branch)
        before = self.checks.count
        for source, target in zip(op.regions, branch.regions, strict=True):
            with self.checks.analyzer.assumptions():
                self.checks.analyzer.enter(branch, target.block)
                self.copy_checked(source.block, InsertPoint.at_end(target.block))
        if self.checks.count == before:
            branch.detach()
            branch.erase()

    def copy_checked(self, source: Block, point: InsertPoint) -> None:
        """Inserts the checks of the expressions of a block at another point, with copies of these expressions."""
        before, values, scratch = self.checks.count, dict[SSAValue, SSAValue](), Block()
        for op in source.ops:
            if not isinstance(op, YieldOp):
                copy = op.clone(values)
                self._copy_facts(op, copy)
                scratch.add_op(copy)
        self.block(scratch)
        if self.checks.count == before:
            scratch.erase()
            return
        for op in list(scratch.ops):
            if has_effect(op):
                raise unsupported_op_error(op, "tir-sanitize does not support a call among lazily evaluated accesses")
            op.detach()
            Rewriter.insert_op(op, point)

    def _copy_facts(self, op: Operation, copy: Operation) -> None:
        """Records locations and indices of a copy."""
        for old, new in zip(op.walk(), copy.walk(), strict=True):
            new.location = old.location
            self.indices.update(n for o, n in zip(old.results, new.results, strict=True) if o in self.indices)

    # Expressions and calls

    def call(self, op: Operation) -> None:
        self.shadows.after_call(op)

    def extern(self, op: CallExternOp) -> None:
        atomic = atomic_of(op)
        if atomic is None:
            self.call(op)
        else:
            address = atomic.address
            self.accesses.read(self.checks.builder(op), op, address.buffer, list(address.indices))

    def intrinsic(self, op: CallIntrinOp) -> None:
        if op.intrinsic.data != "assume" or op.results:
            self.call(op)
            return
        builder = self.checks.builder(op)
        self.checks.require(builder, op, op.args[0], "the assumed condition is false")
        op.detach()
        op.erase()


def _unevaluated_ops(func: FuncOp) -> set[Operation]:
    """The expressions that nothing evaluates: unused ones without effect, and those of declarations of accesses."""
    unevaluated: set[Operation] = set()
    declarative: set[Operation] = set()
    for op in reversed(list(func.walk())):
        users = [use.operation for result in op.results for use in result.uses]
        is_pure = not op.regions and (isinstance(op, LetOp) or is_pure_expression(op))
        if isinstance(op, AccessOp) or (
            (is_pure or isinstance(op, LoadOp)) and users and declarative.issuperset(users)
        ):
            declarative.add(op)
        if op in declarative or (is_pure and unevaluated.issuperset(users)):
            unevaluated.add(op)
    return unevaluated


def _checks_of(check: Callable[[Checks, Operation], None]) -> Callable[[_Sanitizer, Any], None]:
    return lambda sanitizer, op: check(sanitizer.checks, op)


_HANDLERS: dict[type[Operation], Callable[[_Sanitizer, Any], None]] = {
    **dict.fromkeys(DIVISIONS, _checks_of(check_division)),
    **dict.fromkeys(SHIFTS, _checks_of(check_shift)),
    LoadOp: lambda s, op: s.accesses.load(op),
    StoreOp: lambda s, op: s.accesses.store(op),
    DeclBufferOp: lambda s, op: s.accesses.declaration(op),
    AccessPtrOp: lambda s, op: s.accesses.derived_pointer(op),
    ForOp: _Sanitizer.loop,
    BlockOp: _Sanitizer.tir_block,
    WhileOp: _Sanitizer.loop_while,
    IfThenElseOp: _Sanitizer.choice,
    CallOp: _Sanitizer.call,
    CallPackedOp: _Sanitizer.call,
    CallExternOp: _Sanitizer.extern,
    CallIntrinOp: _Sanitizer.intrinsic,
}
