"""The pass `contract-floats`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer
from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks, Place
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, LoadOp, StoreOp

_remarks = PassRemarks("contract-floats")
_Sum: TypeAlias = arith.AddfOp | arith.SubfOp
_SUMS = (arith.AddfOp, arith.SubfOp)


@dataclass(frozen=True)
class ContractFloatsPass(ModulePass):
    """Contracts a sum of a product and another number to `math.fma`, one instruction that rounds once.

    Results change: one rounding replaces two, so a result is nearer to the exact one. Pipelines contract the reductions
    that default schedules reorder, and all sums if their user requests it (`-fast-math-contract=1` of a target). Only
    f32 and f64 are contracted, the types for which processors have the instruction; where both operands of the sum are
    products, the first product is contracted.

    reductions: contract only the updates of reductions: in a block with a reduction axis, the sum of an element and a
    product that is stored to the element.

    Before
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32

    After
        %s = math.fma %a, %b, %c : f32

    Must hold before: nothing; the pass accepts any landing with `arith`. A contracted sum in a block is no longer
    recognized as a reducer.

    Gone after: sums of a product that has no other use.
    """

    name = "contract-floats"

    reductions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _contract_all(_updates(op) if self.reductions else find_ops(op, *_SUMS))


def contract_reductions(op: Operation) -> None:
    """Contracts the updates of the reductions in an operation, as `contract-floats{reductions=true}` does."""
    _contract_all(_updates(op))


def _updates(root: Operation) -> Iterator[_Sum]:
    """The sums of an element and another number that blocks with a reduction axis store to the element."""
    for block in find_ops(root, BlockOp):
        if all(axis.kind != "reduce" for axis in block.axes):
            continue
        for store in block.body.block.ops:
            if isinstance(store, StoreOp) and isinstance(op := store.value.owner, _SUMS) and _is_update(store, op):
                yield op


def _is_update(store: StoreOp, sum: _Sum) -> bool:
    """Whether an operand of a sum is the element to which it is stored."""
    loads = [operand.owner for operand in sum.operands if isinstance(operand.owner, LoadOp)]
    return any(load.buffer is store.buffer and _are_equal(load.indices, store.indices) for load in loads)


def _are_equal(indices: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    analyzer = Analyzer()
    return all(analyzer.lin(a) == analyzer.lin(b) for a, b in zip(indices, others, strict=True))


def _contract_all(sums: Iterable[_Sum]) -> None:
    contractions = Counter[Place]()
    for op in list(sums):
        place = Place.of(op) if _remarks.are_collected else Place()
        contractions[place] += _contract(op)
    for place, count in contractions.items():
        if count:
            _remarks.applied(place, partial(_count_text, count))


def _count_text(count: int) -> str:
    return "1 sum of a product rounds once" if count == 1 else f"{count} sums of products round once"


def _contract(op: _Sum) -> bool:
    """Replaces a sum or difference, and the product that is one of its operands, by one operation; False if the sum
    has no such operand."""
    if dtype_of(op.result.type).bits < 32:
        _keep(op, f"no instruction for {dtype_of(op.result.type)}")
        return False
    product = next((operand.owner for operand in op.operands if _is_used_once(operand)), None)
    if not isinstance(product, arith.MulfOp):
        _keep(op, "the product has other uses")
        return False
    left, right = product.operands
    other = op.lhs if product.result is op.rhs else op.rhs
    if isinstance(op, arith.SubfOp):
        negated = arith.NegfOp(left if other is op.lhs else other)
        negated.location = op.location
        Rewriter.insert_op(negated, InsertPoint.before(op))
        left, other = (negated.result, other) if other is op.lhs else (left, negated.result)
    fused = math.FmaOp(left, right, other)
    fused.location = op.location
    fused.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, fused)
    Rewriter.erase_op(product)
    return True


def _keep(op: _Sum, reason: str) -> None:
    """Reports a sum that rounds twice, if it is a sum of a product."""
    if any(isinstance(operand.owner, arith.MulfOp) for operand in op.operands):
        _remarks.missed(op, lambda: f"a sum of a product rounds twice: {reason}")


def _is_used_once(value: SSAValue) -> bool:
    """Whether a value is a product with exactly one use."""
    return isinstance(value.owner, arith.MulfOp) and len(list(value.uses)) == 1
