"""The pass `te-inline`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects import te
from ...dialects.attributes import INLINE_RULE
from ...dialects.tir import ConstOp, IfThenElseOp, TirBuilder

_remarks = PassRemarks("te-inline")


@dataclass(frozen=True)
class TeInlinePass(ModulePass):
    """Inlines computed tensors into their readers, unless they are reductions or parameters.

    An element with several reads is computed several times. A tensor with uses other than reads of elements (the init
    of a scan, an argument of a call) stays, and a tensor with the annotation `"meta_schedule.inline_rule" = "disable"`.

    recompute: whether elements may be computed more than once. If False, a tensor stays if an element would be, unless
    it consists of constants and elements of other tensors, and no reduction reads it.

    Before
        %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
          %0 = te.read %A[%i] : tensor<8xf32>
          %1 = arith.addf %0, %0 : f32
          te.yield %1 : f32
        }
        %C = te.compute "C" (spatial "j" %j : i32 in [0 +: 8]) : tensor<8xf32> {
          %2 = te.read %B[%j] : tensor<8xf32>
          te.yield %2 : f32
        }

    After
        %C = te.compute "C" (spatial "j" %j : i32 in [0 +: 8]) : tensor<8xf32> {
          %0 = te.read %A[%j] : tensor<8xf32>
          %1 = arith.addf %0, %0 : f32
          te.yield %1 : f32
        }

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "te-inline"

    recompute: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_tensors(op, self.recompute)


def inline_tensors(op: Operation, recompute: bool) -> None:
    """Inlines the tensors of a module or function, as the pass `te-inline` does."""
    # Readers first: each body is cloned once for each of its readers, however long the chain of readers is.
    for compute in reversed(list(find_ops(op, te.ComputeOp))):
        obstacle = _obstacle(compute, recompute)
        name = compute.op_name.data
        if obstacle is None:
            _remarks.applied(compute, lambda: f"tensor {name} is computed where its elements are read")
            _inline(compute)
        elif any(_are_reads(compute)):
            _remarks.missed(compute, lambda: f"tensor {name} stays: {obstacle}")


def _obstacle(op: te.ComputeOp, recompute: bool) -> str | None:
    """Why the elements of a tensor are not computed where they are read; None if they are."""
    annotations = {} if op.annotations is None else op.annotations.data
    if op.is_reduction:
        return "it is a reduction"
    if annotations.get(INLINE_RULE) == StringAttr("disable"):
        return f"its annotation {INLINE_RULE} forbids it"
    if not all(_are_reads(op)):
        return "it has uses other than reads of elements"
    if not (recompute or _is_moved(op) or _is_computed_once(op)):
        return "elements would be computed several times"
    return None


def _are_reads(op: te.ComputeOp) -> list[bool]:
    """For each use of the tensors, whether it reads an element."""
    return [isinstance(use.operation, te.ReadOp) for tensor in op.tensors for use in tensor.uses]


def _is_moved(op: te.ComputeOp) -> bool:
    """Whether all elements are constants or elements of other tensors, and no reduction reads such elements."""
    reads = list(find_ops(op.body, te.ReadOp))
    moves = all(isinstance(inner, te.ReadOp | te.YieldOp) or _is_index(inner) for inner in op.body.walk())
    return moves and not (reads and any(reader.is_reduction for reader, _ in _reads(op)))


def _is_index(op: Operation) -> bool:
    """Whether an op is a constant or an integer computation."""
    if isinstance(op, IfThenElseOp) or isinstance(op.parent_op(), IfThenElseOp):
        return False
    return isinstance(op, ConstantOp | ConstOp) or all(isinstance(type, IntegerType) for type in op.result_types)


def _is_computed_once(op: te.ComputeOp) -> bool:
    """Whether the readers of a tensor together read no more elements than the tensor has."""
    elements, unknown = _count(op.axes)
    total = 0
    for reader, _ in _reads(op):
        count, sizes = _count(reader.axes)
        if sizes != unknown:
            return False
        total += count
    return total <= elements


def _reads(op: te.ComputeOp) -> set[tuple[te.ComputeOp, tuple[SSAValue, ...]]]:
    """The readers of the elements of a tensor, with their indices; equal reads of one body are one entry."""
    readers: set[tuple[te.ComputeOp, tuple[SSAValue, ...]]] = set()
    for tensor in op.tensors:
        for use in tensor.uses:
            read, reader = use.operation, use.operation.parent_op()
            while reader is not None and not isinstance(reader, te.ComputeOp):
                reader = reader.parent_op()
            assert isinstance(read, te.ReadOp)
            assert isinstance(reader, te.ComputeOp)
            readers.add((reader, tuple(read.indices)))
    return readers


def _count(axes: Sequence[te.Axis]) -> tuple[int, Counter[SSAValue]]:
    """The size of an iteration domain: the product of its known extents, and the multiset of its dynamic extents."""
    known = [axis.extent for axis in axes if isinstance(axis.extent, int)]
    return prod(known), Counter(axis.extent for axis in axes if not isinstance(axis.extent, int))


def _inline(op: te.ComputeOp) -> None:
    for n, tensor in enumerate(op.tensors):
        for reads in _same_elements(tensor):
            element = _clone_element(op, n, reads[0])
            for read in reads:
                read.result.replace_all_uses_with(element)
                read.detach()
                read.erase()
    op.detach()
    op.erase()


def _same_elements(tensor: SSAValue) -> list[list[te.ReadOp]]:
    """The reads of a tensor, grouped by block and element, each group in the order of the block."""
    groups: dict[tuple[Block | None, tuple[SSAValue, ...]], list[te.ReadOp]] = {}
    for use in tensor.uses:
        read = use.operation
        assert isinstance(read, te.ReadOp)
        groups.setdefault((read.parent, tuple(read.indices)), []).append(read)
    for (block, _), reads in groups.items():
        if len(reads) > 1:
            assert block is not None
            position = {op: n for n, op in enumerate(block.ops)}
            reads.sort(key=position.__getitem__)
    return list(groups.values())


def _clone_element(op: te.ComputeOp, number: int, read: te.ReadOp) -> SSAValue:
    """Clones the computation of the element that `read` reads before `read`; returns the element."""
    builder = TirBuilder(InsertPoint.before(read), read.location)
    values: dict[SSAValue, SSAValue] = {
        variable: builder.cast(index, dtype_of(variable.type))
        for variable, index in zip(op.variables, read.indices, strict=True)
    }
    last = op.body.block.last_op
    assert isinstance(last, te.YieldOp)
    needed = _dependences(op, last.values[number])
    for inner in op.body.block.ops:
        if inner in needed:
            copy = inner.clone(values)
            for new, old in zip(copy.walk(), inner.walk(), strict=True):
                new.location = old.location
            builder.location = inner.location
            builder.insert(copy)
    return values.get(last.values[number], last.values[number])


def _dependences(op: te.ComputeOp, value: SSAValue) -> set[Operation]:
    """The ops of a body that a value depends on."""
    ops, todo = set[Operation](), [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner.parent is op.body.block and owner not in ops:
            ops.add(owner)
            todo += [operand for inner in owner.walk() for operand in inner.operands]
    return ops
