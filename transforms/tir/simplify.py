"""The pass `tir-simplify`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, cost, export, is_index_arithmetic, tree_cost
from ...core.dtypes import DType, dtype_of
from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AssertOp,
    BlockOp,
    ConstOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    IfOp,
    IfThenElseOp,
    LaunchThreadOp,
    LetOp,
    Mixed,
    TirBuilder,
    WhileOp,
    YieldOp,
    constant_value,
)
from ...dialects.tir.fold import fold
from ...dialects.tir.operands import drop_predicate
from ...dialects.tir.static import make_static
from ...dialects.tir.tree import (
    erase_if_dead,
    erase_statement,
    has_effect,
    insert_evaluate,
    is_expression_op,
    move_ops_before,
    treeify,
)

_BOOL = DType("bool", 1)
_CONSTANTS = (arith.ConstantOp, ConstOp)


@dataclass(frozen=True)
class TirSimplifyPass(ModulePass):
    """Simplifies index arithmetic, conditions, and the loops and branches that depend on them, by range analysis.

    Every integer expression is brought into the normal form of `analysis.index`, and rewritten where the normal form is
    cheaper. Known conditions are folded, with the `tir.if`, `tir.if_then_else`, `arith.select`, predicate or
    `tir.assert` that they decide; loops without iterations, statements without effects and operators on constants are
    removed as well. Known bounds become static.

    unit-loops: whether to inline the bodies of loops of one iteration (not of loops bound to threads); schedules need
    such loops.

    Overflow wraps as docs/semantics.md specifies: no simplification assumes its absence. Ops stay next to the single
    statement that uses them.

    Before
        tir.for serial "i" %i : i32 in [0 +: 8] {
          tir.for serial "j" %j : i32 in [0 +: 4] {
            %c4 = arith.constant 4 : i32
            %0 = arith.muli %i, %c4 : i32
            %1 = arith.addi %0, %j : i32
            %2 = arith.constant 4 : i32
            %3 = arith.floordivsi %1, %2 : i32
            tir.store %x, %A[%3] : memref<8xf32>
          }
        }

    After
        tir.for serial "i" %i : i32 in [0 +: 8] {
          tir.for serial "j" %j : i32 in [0 +: 4] {
            tir.store %x, %A[%i] : memref<8xf32>
          }
        }

    Must hold before: nothing; functions of other landings stay as they are.

    Gone after: loops without iterations, branches and predicates with known conditions.
    """

    name = "tir-simplify"

    unit_loops: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in list(find_ops(op, FuncOp)):
            simplify(func, unit_loops=self.unit_loops)


def simplify(func: FuncOp, *, unit_loops: bool = False) -> None:
    """Applies `TirSimplifyPass` to one function, in place."""
    simplifier = _Simplifier(unit_loops)
    simplifier.block(func.body.block)
    _erase_dead(func)
    if simplifier.shares_values:
        treeify(func)


class _Simplifier:
    """A walk over a function in order, which simplifies an expression before the statement that consumes it."""

    def __init__(self, unit_loops: bool):
        self.unit_loops = unit_loops
        self.analyzer = Analyzer(through_lets=False)
        self.shares_values = False
        """Whether a value has uses in several statements."""

    def block(self, block: Block) -> None:
        self.ops(list(block.ops))

    def ops(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if op.parent is not None:  # else erased with another op
                self.op(op)

    def op(self, op: Operation) -> None:
        if type(op) in _CONSTANTS:
            return
        if is_expression_op(op) and self.expression(op):
            return
        self.roots(op)
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
            return
        for region in op.regions:
            self.block(region.block)

    # Expressions

    def expression(self, op: Operation) -> bool:
        """Simplifies an expression op itself; whether no further simplification applies."""
        if len(op.results) != 1:
            return False
        result = op.results[0]
        if isinstance(result.type, IntegerType):
            if result.type.width.data == 1 and self.condition(op, result):
                return True
            if is_index_arithmetic(op) and self.analyzer.lin(result).atom is not result:
                return True  # its consumer rewrites the whole expression
        if isinstance(op, arith.SelectOp) and isinstance(op.cond.type, IntegerType):
            chosen = self.analyzer.decide(op.cond)
            if chosen is not None:
                return self.replace(op, op.lhs if chosen else op.rhs)
        folded = fold(op)
        return folded is not None and self.replace(op, folded)

    def condition(self, op: Operation, result: SSAValue) -> bool:
        """Simplifies an op with a bool result."""
        if has_effect(op):
            return False
        known = self.analyzer.decide(result)
        if known is not None:
            builder = TirBuilder(InsertPoint.before(op), op.location)
            return self.replace(op, builder.const(known, _BOOL))
        if isinstance(op, arith.AndIOp | arith.OrIOp):
            neutral = isinstance(op, arith.AndIOp)
            for operand, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if self.analyzer.decide(operand) is neutral:
                    return self.replace(op, other)
        return False

    def replace(self, op: Operation, value: SSAValue) -> bool:
        op.results[0].replace_all_uses_with(value)
        erase_if_dead(op.results[0])
        return True

    def roots(self, op: Operation) -> None:
        """Simplifies the integer operands of an op that is not index arithmetic itself."""
        for i, value in enumerate(op.operands):
            if isinstance(value, BlockArgument) or type(value.owner) in _CONSTANTS:
                continue
            if isinstance(value.type, IntegerType) and _is_signed(value):
                simple = self.root(value, op)
                if simple is not value:
                    op.operands[i] = simple
                    erase_if_dead(value)

    def root(self, value: SSAValue, consumer: Operation) -> SSAValue:
        """`value`, or an equal value of less cost inserted before `consumer`."""
        lin = self.analyzer.lin(value)
        if lin.atom is value or constant_value(value) is not None:
            return value
        if cost(self.analyzer, lin, value.type) >= tree_cost(value, set(lin.leaves())):
            return value
        return export(self.analyzer, lin, TirBuilder(InsertPoint.before(consumer), consumer.location), value.type)

    # Statements

    def regions(self, op: Operation) -> None:
        """Simplifies the regions of `op` under the conditions that hold inside."""
        for region in op.regions:
            with self.analyzer.assumptions():
                self.analyzer.enter(op, region.block)
                self.block(region.block)

    def loop(self, op: ForOp) -> None:
        make_static(op, self.constant_or_value)
        low, extent, step = op.mixed_bounds
        if op.kind.data != "thread_binding":
            least, most = self.analyzer.bounds(self.analyzer.exact(extent))
            if most <= 0:
                erase_statement(op)
                return
            if self.unit_loops and least == most and isinstance(step, int) and most <= step:
                self.unit_loop(op, low)
                return
        if isinstance(extent, int):
            self.block(op.body.block)
        else:
            self.regions(op)

    def unit_loop(self, op: ForOp, low: Mixed) -> None:
        """Replaces a loop by its single iteration."""
        variable = op.variable
        if variable.first_use is not None:
            builder = TirBuilder(InsertPoint.before(op), op.location)
            value = low if isinstance(low, SSAValue) else builder.const(low, dtype_of(variable.type))
            variable.replace_all_uses_with(value)
            self.shares_values = True
        self.ops(move_ops_before(op.body.block, op))
        erase_statement(op)

    def constant_or_value(self, value: Mixed) -> Mixed:
        """The constant that a value equals, else the value. Loop variables are kept even with one value only."""
        number = None if isinstance(value, BlockArgument) else self.analyzer.number(value)
        return value if number is None else number

    def tir_block(self, op: BlockOp) -> None:
        predicate = op.predicate
        if predicate is not None:
            known = self.analyzer.decide(predicate)
            if known is False:
                erase_statement(op)
                return
            if known:
                drop_predicate(op)
        make_static(op, self.constant_or_value)
        if op.predicate is None:
            self.block(op.body.block)
        else:
            self.regions(op)

    def access(self, op: AccessOp) -> None:
        make_static(op, self.constant_or_value)

    def launch(self, op: LaunchThreadOp) -> None:
        make_static(op, self.constant_or_value)
        extent = op.mixed_extent
        if isinstance(extent, int) and extent <= 0:
            erase_statement(op)
        else:
            self.block(op.body.block)

    def branch(self, op: IfOp) -> None:
        known = self.analyzer.decide(op.condition)
        if known is None:
            self.regions(op)
            return
        self.ops(move_ops_before((op.then if known else op.orelse).block, op))
        erase_statement(op)

    def choice(self, op: IfThenElseOp) -> None:
        known = self.analyzer.decide(op.condition)
        if known is None:
            self.regions(op)
            return
        *inner, last = move_ops_before((op.then if known else op.orelse).block, op)
        assert isinstance(last, YieldOp)
        op.result.replace_all_uses_with(last.value)  # first: a value without uses is erased with its last consumer
        erase_statement(last)
        erase_statement(op)
        self.ops(inner)

    def loop_while(self, op: WhileOp) -> None:
        for region in op.regions:
            self.block(region.block)
        last = op.condition.block.last_op
        assert isinstance(last, YieldOp)
        if self.analyzer.decide(last.value) is False and not any(has_effect(inner) for inner in op.condition.block.ops):
            erase_statement(op)

    def check(self, op: AssertOp) -> None:
        if self.analyzer.decide(op.condition):
            erase_statement(op)


_HANDLERS: dict[type[Operation], Callable[[_Simplifier, Any], None]] = {
    AccessOp: _Simplifier.access,
    AssertOp: _Simplifier.check,
    BlockOp: _Simplifier.tir_block,
    ForOp: _Simplifier.loop,
    IfOp: _Simplifier.branch,
    IfThenElseOp: _Simplifier.choice,
    LaunchThreadOp: _Simplifier.launch,
    WhileOp: _Simplifier.loop_while,
}


def _is_signed(value: SSAValue) -> bool:
    return dtype_of(value.type).kind == "int"


# Dead code


def _erase_dead(func: FuncOp) -> None:
    """Erases expressions without uses, lets of such expressions, and statements without effects."""
    for op in reversed(list(func.walk())):
        if op.parent is None or op is func:
            continue
        if _is_dead(op):
            op.detach()
            op.erase()
        elif is_expression_op(op) and op.results[0].first_use is None:  # has an effect, but no statement
            insert_evaluate(op)


def _is_dead(op: Operation) -> bool:
    if is_expression_op(op):
        return op.results[0].first_use is None and not has_effect(op)
    match op:
        case LetOp():
            return op.result.first_use is None and not _may_have_effect(op.value)
        case EvaluateOp():
            return not _may_have_effect(op.value)
        case ForOp():
            return op.kind.data != "thread_binding" and _is_empty(op.body)
        case IfOp():
            return _is_empty(op.then) and _is_empty(op.orelse)
        case _:
            return False


def _may_have_effect(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and has_effect(value.owner)


def _is_empty(region: Region) -> bool:
    return region.block.first_op is None
