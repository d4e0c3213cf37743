"""The pass `legalize-small-floats`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...core.dtypes import float_format, is_small_float, with_element_type

# Moves and selects are absent: they are exact on the bits. So are extf and truncf, which remain after the pass.
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
# Exact on the bits of formats that have a separate sign bit.
_OF_SIGNS: tuple[type[Operation], ...] = (arith.NegfOp, math.AbsFOp, math.CopySignOp)
_IN_F64: tuple[type[Operation], ...] = (math.FmaOp, vector.FMAOp)

_WIDE: dict[type[Operation], Attribute] = {
    **dict.fromkeys((*_IN_F32, *_OF_SIGNS), Float32Type()),
    **dict.fromkeys(_IN_F64, Float64Type()),
}


class LegalizeSmallFloatsPass(ModulePass):
    """Widens operations on floats of at most 16 bits (f16, bf16, f8E4M3FN, ...) to f32, and rounds each result.

    The result is correctly rounded for `+ - * /`, square root, comparisons, minimum and maximum, and rounding to
    integers: f32 has more than twice the bits. A fused multiply-add needs more and is computed in f64, which is exact
    for all types but bf16, where an addend below 2**-37 of the product may be lost in a tie. An integer becomes a small
    float by way of f32, so an integer of more than 24 bits may round twice. A reduction rounds once, at its end.

    Before
        %c = arith.addf %a, %b : f16

    After
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.addf %0, %1 : f32
        %c = arith.truncf %2 : f32 to f16

    Must hold before: nothing.

    Gone after: every operation of arith, math and vector on such floats except constants, select, extf, truncf,
    bitcasts, operations that only move elements, and negf, absf and copysign of formats with a separate sign bit.
    """

    name = "legalize-small-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(filter(computes_on_small_floats, op.walk())):
            _widen(inner, _WIDE[type(inner)])


def computes_on_small_floats(op: Operation) -> bool:
    """Whether an op computes on floats of at most 16 bits other than on their bits."""
    return type(op) in _WIDE and any(map(is_small_float, _types(op))) and not _is_exact_on_bits(op)


def _types(op: Operation) -> list[Attribute]:
    return [value.type for value in (*op.operands, *op.results)]


def _is_exact_on_bits(op: Operation) -> bool:
    known = float_format(op.results[0].type)
    return type(op) in _OF_SIGNS and known is not None and known.has_negative_zero


def _widen(op: Operation, wide: Attribute) -> None:
    block = op.parent
    assert block is not None

    def insert(new: Operation) -> Operation:
        new.location = op.location
        block.insert_op_before(new, op)
        return new

    def extend(value: SSAValue) -> SSAValue:
        if not is_small_float(value.type):
            return value
        return insert(arith.ExtFOp(value, with_element_type(value.type, wide))).results[0]

    types = [with_element_type(type, wide) if is_small_float(type) else type for type in op.result_types]
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
