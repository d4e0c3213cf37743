"""The pass `hoist-allocations`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike
from xdsl.transforms.loop_invariant_code_motion import move_loop_invariant_code

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from .allocations import description_of, release_of

_remarks = PassRemarks("hoist-allocations")


class HoistAllocationsPass(ModulePass):
    """Moves heap allocations of dynamic size out of loops that do not change the size.

    The size is 0 where the loop has no iterations, so that the program allocates no memory that it did not allocate.
    Ops that compute the size are moved too, if they can be executed without the loop.

    Before
        scf.for %i = %c0 to %m step %c1 {
          %A = memref.alloc(%n) : memref<?xf32>
          "use"(%A) : (memref<?xf32>) -> ()
          memref.dealloc %A : memref<?xf32>
        }

    After
        %0 = arith.cmpi slt, %c0, %m : index
        %1 = arith.constant 0 : index
        %2 = arith.select %0, %n, %1 : index
        %A = memref.alloc(%2) : memref<?xf32>
        scf.for %i = %c0 to %m step %c1 {
          "use"(%A) : (memref<?xf32>) -> ()
        }
        memref.dealloc %A : memref<?xf32>

    Must hold before: no iteration of `scf.parallel` runs beside another (`outline-parallel-loops`).

    Gone after: nothing.
    """

    name = "hoist-allocations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for alloc in [each for each in find_ops(op, memref.AllocOp) if each.dynamic_sizes]:
            while (release := release_of(alloc)) is not None and _leave_loop(alloc, release):
                pass


def _leave_loop(alloc: memref.AllocOp, release: memref.DeallocOp) -> bool:
    """Moves an allocation and its release out of the loop around them; False if that is impossible."""
    loop = alloc.parent_op()
    if not isinstance(loop, scf.ForOp | scf.ParallelOp):
        if isinstance(loop, scf.IfOp | scf.WhileOp) and _is_in_loop(loop):
            _keep(alloc, "it is in a branch or a while loop")
        return False
    if isinstance(loop, scf.ForOp):
        move_loop_invariant_code(loop)
    if any(loop.is_ancestor(size.owner) for size in alloc.dynamic_sizes):
        _keep(alloc, "the loop computes its size")
        return False
    _remarks.applied(alloc, lambda: f"{description_of(alloc)} is allocated once, outside of the loop{_name(loop)}")
    bounds = (
        [(loop.lb, loop.ub)]
        if isinstance(loop, scf.ForOp)
        else list(zip(loop.lowerBound, loop.upperBound, strict=True))
    )
    sizes = _sizes_if_entered(loop, bounds, alloc.dynamic_sizes)
    for n, size in enumerate(sizes):
        alloc.operands[n] = size
    for op, point in ((alloc, InsertPoint.before(loop)), (release, InsertPoint.after(loop))):
        op.detach()
        Rewriter.insert_op(op, point)
    return True


def _keep(alloc: memref.AllocOp, reason: str) -> None:
    _remarks.missed(alloc, lambda: f"{description_of(alloc)} is allocated in each iteration: {reason}")


def _is_in_loop(op: Operation) -> bool:
    """Whether an op is a loop or is in one."""
    around: Operation | None = op
    while around is not None and not isinstance(around, scf.ForOp | scf.ParallelOp | scf.WhileOp):
        around = around.parent_op()
    return around is not None


def _name(loop: scf.ForOp | scf.ParallelOp) -> str:
    """The name of the variable of a loop after a space, if it has one."""
    hint = loop.body.block.args[0].name_hint
    return f" {hint}" if hint else ""


def _sizes_if_entered(
    loop: Operation, bounds: Sequence[tuple[SSAValue, SSAValue]], sizes: Sequence[SSAValue]
) -> list[SSAValue]:
    """The sizes if a loop has an iteration, else 0."""

    def insert(op: Operation) -> SSAValue:
        op.location = loop.location
        Rewriter.insert_op(op, InsertPoint.before(loop))
        return op.results[0]

    result = list(sizes)
    for low, high in bounds:
        if not _is_less(low, high):
            holds, zero = insert(arith.CmpiOp(low, high, "slt")), insert(arith.ConstantOp(IntegerAttr(0, IndexType())))
            result = [insert(arith.SelectOp(holds, size, zero)) for size in result]
    return result


def _is_less(low: SSAValue, high: SSAValue) -> bool:
    """Whether both numbers are constants in ascending order."""
    match [ConstantLike.get_constant_value(value) for value in (low, high)]:
        case [IntegerAttr() as a, IntegerAttr() as b]:
            return a.value.data < b.value.data
        case _:
            return False
