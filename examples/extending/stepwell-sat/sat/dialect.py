"""The `sat` dialect: saturating arithmetic on signed integers, and vectors of them."""

from collections.abc import Sequence

from xdsl import irdl
from xdsl.dialects.builtin import I8, I16, I32, I64, IntegerAttr, VectorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.core.dtypes import dtype_of, int_range
from stepwell.dialects.tir import constant_value

INTEGER = irdl.irdl_to_attr_constraint(I8 | I16 | I32)
NUMBERS = irdl.VarConstraint("T", INTEGER | VectorType.constr(INTEGER))


@irdl.irdl_op_definition
class AddOp(irdl.IRDLOperation, HasFolderInterface):
    """lhs + rhs, or the nearest number of the type: `%c = sat.add %a, %b : i8`."""

    name = "sat.add"
    lhs = irdl.operand_def(NUMBERS)
    rhs = irdl.operand_def(NUMBERS)
    result = irdl.result_def(NUMBERS)
    traits = irdl.traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.lhs] if constant_value(self.rhs) == 0 else None


@irdl.irdl_op_definition
class ClampOp(irdl.IRDLOperation, HasCanonicalizationPatternsInterface):
    """The number in [low, high] that is nearest to value: `%y = sat.clamp %x in [-3, 5] : i8`.

    Constraints
        (C1) low <= high, and both are numbers of the type.
    """

    name = "sat.clamp"
    value = irdl.operand_def(NUMBERS)
    low = irdl.prop_def(IntegerAttr[I64])
    high = irdl.prop_def(IntegerAttr[I64])
    result = irdl.result_def(NUMBERS)
    traits = irdl.traits_def(Pure())
    assembly_format = "$value `in` `[` $low `,` $high `]` attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, low: int, high: int):
        properties = {"low": IntegerAttr(low, 64), "high": IntegerAttr(high, 64)}
        super().__init__(operands=[value], properties=properties, result_types=[value.type])

    def verify_(self) -> None:
        least, most = int_range(dtype_of(self.result.type).scalar)
        low, high = self.low.value.data, self.high.value.data
        if not least <= low <= high <= most:
            raise VerifyException(f"(C1) expected {least} <= low <= high <= {most}, got {low} and {high}")

    def clamp(self, number: int) -> int:
        return min(max(number, self.low.value.data), self.high.value.data)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (MergeClamps(),)


class MergeClamps(RewritePattern):
    """clamp(clamp(x, a, b), c, d)  ->  clamp(x, min(max(a, c), d), max(min(b, d), c))."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ClampOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.value.owner, ClampOp):
            low, high = (op.clamp(bound.value.data) for bound in (inner.low, inner.high))
            rewriter.replace(op, ClampOp(inner.value, low, high))


Sat = Dialect("sat", [AddOp, ClampOp])
