"""`legalize-half-floats`."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, ModuleOp, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

# Moves, selects and changes of sign are not here: they are exact on the bits. Neither are extf and truncf, which are
# what is left to do.
_IN_F32: tuple[type[Operation], ...] = (
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp,
    arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp,
    arith.CmpfOp, arith.FPToSIOp, arith.FPToUIOp, arith.SIToFPOp, arith.UIToFPOp,
    math.AcosOp, math.AcoshOp, math.AsinOp, math.AsinhOp, math.Atan2Op, math.AtanOp, math.AtanhOp, math.CbrtOp,
    math.CeilOp, math.CosOp, math.CoshOp, math.ErfOp, math.Exp2Op, math.ExpM1Op, math.ExpOp, math.FloorOp,
    math.FPowIOp, math.Log10Op, math.Log1pOp, math.Log2Op, math.LogOp, math.PowFOp, math.RoundEvenOp, math.RoundOp,
    math.RsqrtOp, math.SinOp, math.SinhOp, math.SqrtOp, math.TanOp, math.TanhOp, math.TruncOp,
    vector.ReductionOp,
)  # fmt: skip
_IN_F64: tuple[type[Operation], ...] = (math.FmaOp, vector.FMAOp)

_WIDE: dict[type[Operation], Attribute] = {
    **dict.fromkeys(_IN_F32, Float32Type()),
    **dict.fromkeys(_IN_F64, Float64Type()),
}


class LegalizeHalfFloatsPass(ModulePass):
    """Compute in f32 what is written on f16 or bf16, and round after each operation.

    The result is the correctly rounded one for `+ - * /`, square root, comparisons, minimum and maximum, and rounding
    to integers: f32 has more than twice the bits. A fused multiply-add needs more and is computed in f64, which is
    exact for f16; for bf16 an addend below 2**-37 of the product may be lost in a tie. An integer becomes a half float
    by way of f32, so one of more than 24 bits may round twice. A reduction rounds once, at its end.

    Before
        %c = arith.addf %a, %b : f16

    After
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.addf %0, %1 : f32
        %c = arith.truncf %2 : f32 to f16

    Must hold before: nothing.

    Gone after: every operation of arith, math and vector on f16 or bf16 except constants, select, negf, absf, copysign,
    extf, truncf, bitcasts, and what only moves elements.
    """

    name = "legalize-half-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in [inner for inner in op.walk() if type(inner) in _WIDE]:
            if any(_is_half(value.type) for value in (*inner.operands, *inner.results)):
                _widen(inner, _WIDE[type(inner)])


def _is_half(type: Attribute) -> bool:
    element = cast(Attribute, type.element_type) if isinstance(type, VectorType) else type
    return isinstance(element, Float16Type | BFloat16Type)


def _widened(type: Attribute, wide: Attribute) -> Attribute:
    return VectorType(wide, type.shape, type.scalable_dims) if isinstance(type, VectorType) else wide


def _widen(op: Operation, wide: Attribute) -> None:
    block = op.parent
    assert block is not None

    def insert(new: Operation) -> Operation:
        new.location = op.location
        block.insert_op_before(new, op)
        return new

    def extend(value: SSAValue) -> SSAValue:
        if not _is_half(value.type):
            return value
        return insert(arith.ExtFOp(value, _widened(value.type, wide))).results[0]

    types = [_widened(result.type, wide) if _is_half(result.type) else result.type for result in op.results]
    new = insert(
        op.create(
            operands=[extend(operand) for operand in op.operands],
            result_types=types,
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
    )
    for old, result in zip(op.results, new.results, strict=True):
        if old.type != result.type:
            result = insert(arith.TruncFOp(result, old.type)).results[0]
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()
