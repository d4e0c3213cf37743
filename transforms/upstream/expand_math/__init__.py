"""The pass `expand-math`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import ModuleOp, UnitAttr, VectorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ....core.dtypes import element_type_of
from ....core.remarks import PassRemarks
from ....dialects.attributes import UNLIKELY
from ....dialects.tir import constant_value
from . import error_function, exponentials, logarithms, powers, rounding, trigonometry
from .numbers import F64, FORMATS, Condition, Facts, Number, Writer

_remarks = PassRemarks("expand-math")

Formula = Callable[..., Number]

_FORMULAS: dict[type[Operation], Formula] = {
    math.ExpOp: exponentials.exp,
    math.Exp2Op: exponentials.exp2,
    math.ExpM1Op: exponentials.expm1,
    math.TanhOp: exponentials.tanh,
    math.SinhOp: exponentials.sinh,
    math.CoshOp: exponentials.cosh,
    math.LogOp: logarithms.log,
    math.Log2Op: logarithms.log2,
    math.Log10Op: logarithms.log10,
    math.Log1pOp: logarithms.log1p,
    math.SinOp: trigonometry.sin,
    math.CosOp: trigonometry.cos,
    math.ErfOp: error_function.erf,
}
"""Formulas in the format of the result."""

_IN_F64: dict[type[Operation], Formula] = {
    math.TanOp: trigonometry.tan,
    math.AtanOp: trigonometry.atan,
    math.Atan2Op: trigonometry.atan2,
    math.AsinOp: trigonometry.asin,
    math.AcosOp: trigonometry.acos,
    math.AsinhOp: logarithms.asinh,
    math.AcoshOp: logarithms.acosh,
    math.AtanhOp: logarithms.atanh,
    math.CbrtOp: powers.cbrt,
    math.PowFOp: powers.power,
}
"""Formulas in f64 for both formats."""

_ALL = _FORMULAS | _IN_F64

_OF_NORMAL: dict[type[Operation], Formula] = {
    math.LogOp: partial(logarithms.log, is_normal=True),
    math.Log2Op: partial(logarithms.log2, is_normal=True),
    math.Log10Op: partial(logarithms.log10, is_normal=True),
}
"""Shorter formulas for vectors whose elements are all positive normal numbers."""

_LIMITED = (math.SinOp, math.CosOp, math.TanOp)
"""Functions whose formulas have a limit."""

_SENSITIVE = (math.SinOp, math.CosOp, math.TanhOp)
"""Functions whose formulas need fused operations for an error of 2 units: without, f32 is computed in f64."""

_SLOW_WITHOUT_FMA = (math.AcoshOp, math.PowFOp)
"""Functions of f64 whose formulas take up to twice the time of the C library without fused operations, on vectors of
the 2 lanes that processors without fused operations have."""


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replaces elementary functions of f32 and f64 by arithmetic, on scalars and on vectors alike.

    fma: whether the processor multiplies and adds with one rounding. Without it, `math.fma` would be a call.
    scales: whether an instruction multiplies vectors of f32 by powers of two, which takes exp and exp2 of f32 a fifth
    less time (`llvm.ldexp`).

    Results differ from the exact ones by at most 2 units in the last place; NaN, infinities, zeros of both signs and
    denormal numbers are those of IEEE 754. sin, cos and tan of scalars remain functions, as do those of vectors with an
    element above 2**16 in f32, 2**28 in f64 or 2**19 without `fma`, by a branch. Without `fma`, acosh and powf of f64
    remain functions, which are then faster. Powers of the constant exponents -1, 0.5, 1, 2, 3 and 4 are products, a
    quotient or a root.

    A number of f32 that is rounded by roundeven, to which a constant integer may be added, and that becomes an integer
    of at most 16 bits, is bounded and rounded by a sum, whose lowest bits are those of the integer: quantized tensors
    are stored so.

    Before
        %y = math.exp2 %x : f32

    After
        (the exponent n, a polynomial p of the fraction)
        %h = arith.mulf %p, %half : f32
        %y = arith.mulf %h, %rest : f32

    Must hold before: nothing.

    Gone after: exp, exp2, expm1, tanh, sinh, cosh, log, log2, log10, log1p, atan, atan2, asin, acos, asinh, acosh,
    atanh, cbrt, powf and erf of f32 and f64.
    """

    name = "expand-math"

    fma: bool = True
    scales: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts = Facts(self.fma, self.scales)
        for inner in list(op.walk()):
            if isinstance(inner, rounding.Conversion) and (rounded := rounding.rounded(inner)) is not None:
                _remarks.applied(inner, partial(_decision, inner, "becomes a sum, which is rounded"))
                rounding.round_by_sum(inner, rounded)
            if type(inner) not in _ALL:
                continue
            obstacle = _obstacle(inner, self.fma)
            if obstacle is None:
                _remarks.applied(inner, partial(_decision, inner, "becomes arithmetic"))
                _expand(inner, facts)
            else:
                _remarks.missed(inner, partial(_decision, inner, f"stays a function: {obstacle}"))


def _decision(op: Operation, decision: str) -> str:
    return f"{op.name} on {op.results[0].type} {decision}"


def _obstacle(op: Operation, fma: bool) -> str | None:
    """The reason why a function is not expanded; None for a function that is."""
    type = op.results[0].type
    if isinstance(op, _LIMITED) and not isinstance(type, VectorType):
        return "formulas are for vectors"
    format = FORMATS.get(element_type_of(type))
    if format is None:
        return f"no formula for {element_type_of(type)}"
    if not fma and format is F64 and isinstance(op, _SLOW_WITHOUT_FMA) and _power_of_exponent(op) is None:
        return "the C library is faster without fused operations"
    return None


def _power_of_exponent(op: Operation) -> Formula | None:
    """The formula of a power whose exponent is a constant that has one; None for other functions."""
    if not isinstance(op, math.PowFOp):
        return None
    exponent = constant_value(op.operands[1])
    power = None if exponent is None else powers.OF_EXPONENT.get(exponent)
    return None if power is None else lambda x, _: power(x)


def _expand(op: Operation, facts: Facts) -> None:
    total = _sum_in_sigmoid(op)
    if total is not None:
        writer = Writer(total, facts)
        _replace(total, exponentials.exp_plus_one(Number(writer, op.operands[0], writer.result)))
        Rewriter.erase_op(op)
        return
    of_exponent = _power_of_exponent(op)
    if of_exponent is not None:
        _compute(op, of_exponent, facts, is_wide=False)
        return
    formula, is_wide = _ALL[type(op)], type(op) in _IN_F64 or (isinstance(op, _SENSITIVE) and not facts.fma)
    if isinstance(op, _LIMITED):
        _, op = _branch(op, facts, _is_above_limit)
    elif type(op) in _OF_NORMAL and isinstance(op.results[0].type, VectorType):
        general, op = _branch(op, facts, logarithms.is_not_normal)
        _compute(general, formula, facts, is_wide)
        formula = _OF_NORMAL[type(op)]
    _compute(op, formula, facts, is_wide)


def _sum_in_sigmoid(op: Operation) -> arith.AddfOp | None:
    """The sum of 1 and an exponential, if it divides 1 and has no other use; None without such a sum."""
    total = _only_user(op) if isinstance(op, math.ExpOp) else None
    if not isinstance(total, arith.AddfOp) or 1.0 not in map(constant_value, total.operands):
        return None
    quotient = _only_user(total)
    is_sigmoid = isinstance(quotient, arith.DivfOp) and constant_value(quotient.lhs) == 1.0
    return total if is_sigmoid else None


def _only_user(op: Operation) -> Operation | None:
    """The only operation that uses the result of an operation, once; None for none or several uses."""
    uses = list(op.results[0].uses)
    return uses[0].operation if len(uses) == 1 else None


def _is_above_limit(x: Number) -> Condition:
    return abs(x) > trigonometry.limit(x.format, x.writer.fma)


def _branch(op: Operation, facts: Facts, condition: Callable[[Number], Condition]) -> tuple[Operation, Operation]:
    """Moves a function of vectors into both regions of a branch, the first for vectors with an element for which the
    condition holds; returns both functions."""
    writer = Writer(op, facts)
    is_any = writer.insert(_reduction(condition(Number(writer, op.operands[0], writer.result)).value))
    functions = op.clone(), op.clone()
    branch = scf.IfOp(is_any, [op.results[0].type], *map(_region_of, functions), attr_dict={UNLIKELY: UnitAttr()})
    branch.location = op.location
    branch.results[0].name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, branch)
    return functions


def _reduction(condition: SSAValue) -> Operation:
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
    return vector.ReductionOp.create(operands=[condition], result_types=[i1], properties={"kind": kind})


def _region_of(op: Operation) -> Region:
    return Region(Block([op, scf.YieldOp(op.results[0])]))


def _compute(op: Operation, formula: Formula, facts: Facts, is_wide: bool) -> None:
    """Replaces a function by a formula. is_wide: whether the formula is in f64 for both formats."""
    writer = Writer(op, facts)
    operands = [Number(writer, operand, writer.result) for operand in op.operands]
    if is_wide:
        operands = [operand.to(F64) for operand in operands]
    _replace(op, formula(*operands).to(writer.result))


def _replace(op: Operation, result: Number) -> None:
    """Replaces an operation by the result of a formula."""
    result.value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(result.value)
    Rewriter.erase_op(op)
