"""The pass `contract-floats`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks, Place

_remarks = PassRemarks("contract-floats")


@dataclass(frozen=True)
class ContractFloatsPass(ModulePass):
    """Contracts a sum of a product and another number to `math.fma`, one instruction that rounds once.

    Results change: one rounding replaces two, so a result is nearer to the exact one. No pipeline runs the pass unless
    its user requests it (`-fast-math-contract=1` of a target). Only f32 and f64 are contracted, the types for which
    processors have the instruction; where both operands of the sum are products, the first product is contracted.

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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        contractions = Counter[Place]()
        for inner in list(op.walk()):
            if isinstance(inner, arith.AddfOp | arith.SubfOp):
                place = Place.of(inner) if _remarks.are_collected else Place()
                contractions[place] += _contract(inner)
        for place, count in contractions.items():
            if count:
                _remarks.applied(place, partial(_count_text, count))


def _count_text(count: int) -> str:
    return "1 sum of a product rounds once" if count == 1 else f"{count} sums of products round once"


def _contract(op: arith.AddfOp | arith.SubfOp) -> bool:
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


def _keep(op: arith.AddfOp | arith.SubfOp, reason: str) -> None:
    """Reports a sum that rounds twice, if it is a sum of a product."""
    if any(isinstance(operand.owner, arith.MulfOp) for operand in op.operands):
        _remarks.missed(op, lambda: f"a sum of a product rounds twice: {reason}")


def _is_used_once(value: SSAValue) -> bool:
    """Whether a value is a product with exactly one use."""
    return isinstance(value.owner, arith.MulfOp) and len(list(value.uses)) == 1
