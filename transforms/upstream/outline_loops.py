"""The pass `outline-loops`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import DISJOINT, NOINLINE
from .allocations import is_in_registers, root_of, users_of
from .outlining import OutlinedBody, new_function_name

_remarks = PassRemarks("outline-loops")

_LOOPS = (scf.ForOp, scf.ParallelOp, scf.WhileOp)
_REASON = "they share buffers in registers, values that cannot be computed again, or memory of their own"


@dataclass(frozen=True)
class OutlineLoopsPass(ModulePass):
    """Moves loops of functions with many loops to private functions, which are compiled apart from each other.

    The time that LLVM takes for a function grows with the square of the number of its loops. Consecutive statements
    with about `loops` loops become a function; their operands become its parameters, constants are copied. Statements
    that share a stack buffer with constant indices stay in one function, for its elements are in registers. Parameters
    are known not to overlap (`stepwell.noalias`) where the operands are different allocations, or parameters of a
    function with this attribute.

    loops: the number of loops of a function that is not divided.

    Before
        func.func @f(%A: memref<8xf32>) {
          scf.for %i = %c0 to %c8 step %c1 {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          scf.for %i = %c0 to %c8 step %c1 {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          ...
          func.return
        }

    After
        func.func @f(%A: memref<8xf32>) {
          func.call @f.loops(%A) : (memref<8xf32>) -> ()
          ...
          func.return
        }

        func.func private @f.loops(%A: memref<8xf32> {stepwell.noalias}) attributes {stepwell.noinline} {
          scf.for %i = %c0 to %c8 step %c1 {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          scf.for %i = %c0 to %c8 step %c1 {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          func.return
        }

    Must hold before: functions have one block.

    Gone after: nothing.
    """

    name = "outline-loops"

    loops: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {each.sym_name.data for each in op.body.block.ops if isinstance(each, func.FuncOp)}
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and len(function.body.blocks) == 1:
                _Outliner(self.loops, function, names).block(function.body.block)
                if _remarks.are_collected and (count := _loop_count(function)) > self.loops:
                    _remarks.missed(function, lambda count=count: f"{count} loops stay: {_REASON}")


class _Outliner:
    """The division of a function. most: the number of loops of a part.  names: of the functions of the module."""

    def __init__(self, most: int, function: func.FuncOp, names: set[str]):
        self._most = most
        self._function = function
        self._names = names
        self._last: Operation = function
        self._registers = {op for op in find_ops(function, memref.AllocaOp) if is_in_registers(op)}

    def block(self, block: Block) -> None:
        """Outlines statements of a block and of the blocks in it, while it has too many loops."""
        if sum(map(_loop_count, block.ops)) <= self._most:
            return
        for op in block.ops:
            if _loop_count(op) > self._most:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
        for part in self._parts(block):
            self._outline(part)

    def _parts(self, block: Block) -> list[list[Operation]]:
        """Consecutive ops that become functions, with about `most` loops each, and at least a quarter."""
        parts: list[list[Operation]] = []
        part: list[Operation] = []
        loops = 0

        def end_part() -> None:
            nonlocal part, loops
            if 4 * loops >= self._most:
                parts.append(part)
            part, loops = [], 0

        for group in self._inseparable(list(block.ops)):
            movable = all(self._is_movable(op, block) for op in group)
            if not movable or loops >= self._most:
                end_part()
            if movable:
                part += group
                loops += sum(map(_loop_count, group))
        end_part()
        return parts

    def _inseparable(self, ops: Sequence[Operation]) -> list[list[Operation]]:
        """Consecutive ops in groups: all uses of a stack buffer that is in registers, or of a value that cannot be
        computed again, are in one group with its op."""
        position = {inner: n for n, op in enumerate(ops) for inner in op.walk()}
        groups: list[list[Operation]] = []
        end = -1
        for n, op in enumerate(ops):
            if n > end:
                groups.append([])
            groups[-1].append(op)
            uses = _all_users(op) if self._stays_with_uses(op) else ()
            end = max([end, n, *(position[use] for use in uses if use in position)])
        return groups

    def _stays_with_uses(self, op: Operation) -> bool:
        if isinstance(op, memref.AllocaOp):
            return op in self._registers
        return bool(op.results) and not _is_copyable(op) and not isinstance(op, memref.AllocOp)

    def _is_movable(self, op: Operation, block: Block) -> bool:
        """Whether an op of a block may be executed in another function: one that does not leave the function or own
        memory, and that uses no buffer in registers of another block."""
        if op.has_trait(IsTerminator) or (isinstance(op, memref.AllocaOp) and op.dynamic_sizes):
            return False
        for inner in op.walk():
            if isinstance(inner, memref.AllocOp | memref.DeallocOp | func.ReturnOp):
                return False
            for operand in inner.operands:
                alloc = root.owner if (root := root_of(operand)) else None
                if (
                    isinstance(alloc, memref.AllocaOp)
                    and alloc in self._registers
                    and alloc.parent is not block
                    and not op.is_ancestor(alloc)
                ):
                    return False
        return True

    def _outline(self, part: list[Operation]) -> None:
        """Replaces ops by the call of a new function. Stack buffers and disjoint parts of memory that later ops use
        stay before the call; so do ops without effects that later ops use, which are copied."""
        used = _used_later(part)
        if not all(isinstance(op, memref.AllocaOp) or _is_copyable(op) for op in used):
            return
        copies = [op for op in used if not isinstance(op, memref.AllocaOp) and DISJOINT not in op.attributes]
        staying = set(used)
        moved = [op for op in part if op not in staying]
        body = OutlinedBody([*copies, *moved])
        call = func.CallOp(self._name(), body.arguments, [])
        call.location = part[0].location
        _remarks.applied(part[0], lambda: f"{sum(map(_loop_count, moved))} loops become {call.callee.string_value()}")
        Rewriter.insert_op(call, InsertPoint.before(part[0]))
        for op in used:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(call))
        for op in copies:
            body.add(op.clone(body.values))
        for op in moved:
            op.detach()
            body.add(op)
        function = body.function(call, self._function)
        function.attributes[NOINLINE] = UnitAttr()
        Rewriter.insert_op(function, InsertPoint.after(self._last))
        self._last = function

    def _name(self) -> str:
        return new_function_name(f"{self._function.sym_name.data}.loops", self._names)


def _loop_count(op: Operation) -> int:
    return sum(1 for _ in find_ops(op, *_LOOPS))


def _is_copyable(op: Operation) -> bool:
    """Whether an op may be executed again, at the start of a function, for the same result."""
    return is_side_effect_free(op) and not isinstance(op, memref.AllocOp | memref.AllocaOp) and not op.regions


def _used_later(part: Sequence[Operation]) -> list[Operation]:
    """The ops that other ops than those of `part` use, and the ops that compute their operands, in order."""
    inside = {inner for op in part for inner in op.walk()}
    used: set[Operation] = set()
    for op in reversed(part):
        if any(use.operation not in inside or use.operation in used for each in op.results for use in each.uses):
            used.add(op)
    return [op for op in part if op in used]


def _all_users(op: Operation) -> Iterator[Operation]:
    """The ops that use the results of an op or views of them."""
    return (user for result in op.results for user in users_of(result))
