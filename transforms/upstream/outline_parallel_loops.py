"""The pass `outline-parallel-loops`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import GRAIN, LEAST_PER_THREAD, PARALLEL
from .outlining import OutlinedBody, new_function_name

_remarks = PassRemarks("outline-parallel-loops")


@dataclass(frozen=True)
class OutlineParallelLoopsPass(ModulePass):
    """Moves the bodies of parallel loops to private functions, which the threads of the worker pool call.

    A function executes the iterations from its first parameter to below its second. The call (`stepwell.parallel`) has
    the whole range, and may be executed as calls with parts of the range, at the same time. Memory that an
    iteration allocates becomes memory of the function, one for each thread.

    Parallel loops inside a parallel loop are executed in order, as are loops with at most one iteration.

    Before
        func.func @f(%A: memref<8xf32>) {
          scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          func.return
        }

    After
        func.func @f(%A: memref<8xf32>) {
          func.call @f.parallel(%c0, %c8, %A) {stepwell.parallel} : (index, index, memref<8xf32>) -> ()
          func.return
        }

        func.func private @f.parallel(%first: index, %last: index, %A: memref<8xf32>) {
          scf.for %i = %first to %last step %c1 {
            "use"(%A, %i) : (memref<8xf32>, index) -> ()
          }
          func.return
        }

    Must hold before: functions have one block; `scf.parallel` has one dimension and no results.

    Gone after: scf.parallel.
    """

    name = "outline-parallel-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.body.block.ops if isinstance(each, func.FuncOp)]
        names = {each.sym_name.data for each in functions}
        for function in functions:
            last: Operation = function
            for loop in list(find_ops(function, scf.ParallelOp)):
                if _has_one_iteration(loop):
                    _remarks.missed(loop, lambda loop=loop: f"{_name(loop)} has one iteration")
                    _make_serial(loop)
            for loop in [each for each in find_ops(function, scf.ParallelOp) if not _is_nested(each)]:
                outlined = _outline(loop, function, names)
                Rewriter.insert_op(outlined, InsertPoint.after(last))
                last = outlined


def _is_nested(loop: scf.ParallelOp) -> bool:
    op = loop.parent_op()
    while op is not None and not isinstance(op, scf.ParallelOp):
        op = op.parent_op()
    return op is not None


def _has_one_iteration(loop: scf.ParallelOp) -> bool:
    """Whether a loop has at most one iteration, by constant bounds."""
    bounds = (loop.lowerBound[0], loop.upperBound[0], loop.step[0])
    match [ConstantLike.get_constant_value(value) for value in bounds]:
        case [IntegerAttr() as low, IntegerAttr() as high, IntegerAttr() as step]:
            return high.value.data - low.value.data <= step.value.data
        case _:
            return False


def _make_serial(loop: scf.ParallelOp) -> None:
    """Replaces a parallel loop by a serial one."""
    inner = _serial(loop, loop.lowerBound[0], loop.upperBound[0], loop.step[0])
    Rewriter.insert_op(inner, InsertPoint.before(loop))
    Rewriter.erase_op(loop)


def _serial(loop: scf.ParallelOp, low: SSAValue, high: SSAValue, step: SSAValue) -> scf.ForOp:
    """The serial loop with the body of a parallel loop."""
    region = loop.body
    block = region.block
    assert block.last_op is not None
    Rewriter.replace_op(block.last_op, scf.YieldOp())
    result = scf.ForOp(low, high, step, [], Region(_detach(region)))
    result.location = loop.location
    return result


def _detach(region: Region) -> Block:
    block = region.block
    region.detach_block(block)
    return block


def _outline(loop: scf.ParallelOp, caller: func.FuncOp, names: set[str]) -> func.FuncOp:
    """Replaces a parallel loop by the call of a new function, which is returned."""
    for inner in [op for op in find_ops(loop.body, scf.ParallelOp) if op is not loop]:
        _remarks.missed(inner, lambda inner=inner: f"{_name(inner)} is executed in order: it is in a parallel loop")
        _make_serial(inner)
    first, last = _number_iterations(loop)
    body = OutlinedBody(list(loop.body.block.ops), [IndexType(), IndexType()], loop.body.block.args)
    for parameter, name in zip(body.parameters, ("first", "last"), strict=True):
        parameter.name_hint = name
    call = func.CallOp(new_function_name(f"{caller.sym_name.data}.parallel", names), [first, last, *body.arguments], [])
    call.attributes[PARALLEL] = UnitAttr()
    call.attributes |= {name: loop.attributes[name] for name in (GRAIN, LEAST_PER_THREAD) if name in loop.attributes}
    call.location = loop.location
    _remarks.applied(loop, lambda: f"{_name(loop)} is shared by threads, which call {call.callee.string_value()}")
    Rewriter.insert_op(call, InsertPoint.before(loop))
    body.add(one := arith.ConstantOp(IntegerAttr(1, IndexType())))
    first, last = body.parameters
    body.add(_serial(loop, first, last, one.result))
    Rewriter.erase_op(loop)
    return body.function(call, caller)


def _number_iterations(loop: scf.ParallelOp) -> tuple[SSAValue, SSAValue]:
    """Replaces the variable of a loop by the number of the iteration, unless the step is 1; returns the bounds for a
    step of 1."""

    def insert(op: Operation, point: InsertPoint) -> SSAValue:
        op.location = loop.location
        Rewriter.insert_op(op, point)
        return op.results[0]

    before = InsertPoint.before(loop)
    low, high, step = loop.lowerBound[0], loop.upperBound[0], loop.step[0]
    if ConstantLike.get_constant_value(step) == IntegerAttr(1, IndexType()):
        return low, high
    zero = insert(arith.ConstantOp(IntegerAttr(0, IndexType())), before)
    count = insert(arith.CeilDivSIOp(insert(arith.SubiOp(high, low), before), step), before)
    block = loop.body.block
    variable = block.args[0]
    number = block.insert_arg(IndexType(), 0)
    start = InsertPoint.at_start(block)
    offset = insert(arith.MuliOp(number, step), start)
    assert isinstance(offset.owner, Operation)
    value = insert(arith.AddiOp(offset, low), InsertPoint.after(offset.owner))
    value.name_hint = variable.name_hint
    variable.replace_all_uses_with(value)
    block.erase_arg(variable)
    return zero, count


def _name(loop: scf.ParallelOp) -> str:
    hint = loop.body.block.args[0].name_hint
    return f"loop {hint}" if hint else "the loop"
