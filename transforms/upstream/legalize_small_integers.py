"""`legalize-small-integers`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, VectorType, i32
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.type import get_element_type_or_self

from ...core.diagnostics import where
from ...core.dtypes import with_element_type
from ...core.errors import UnsupportedError

_WIDE = i32.width.data

# Of operands without a sign: what is in the last bits of the result does not depend on it, or has none.
_UNSIGNED: tuple[type[Operation], ...] = (
    arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRUIOp, arith.DivUIOp, arith.RemUIOp,
    arith.CeilDivUIOp, arith.MinUIOp, arith.MaxUIOp, arith.UIToFPOp, math.CtPopOp,
)  # fmt: skip
_SIGNED: tuple[type[Operation], ...] = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.MinSIOp, arith.MaxSIOp, arith.ShRSIOp, arith.SIToFPOp, arith.IndexCastOp, math.AbsIOp, math.IPowIOp,
    math.FPowIOp,
)  # fmt: skip
_OTHER: tuple[type[Operation], ...] = (
    arith.CmpiOp, arith.FPToSIOp, arith.FPToUIOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp,
    vector.ReductionOp,
)  # fmt: skip
_REFUSED: tuple[type[Operation], ...] = (arith.AddUIExtendedOp, arith.MulSIExtendedOp, arith.MulUIExtendedOp)
_SIGNED_PREDICATES = range(2, 6)  # slt, sle, sgt, sge
_SIGNED_KINDS = (Kind.MINSI, Kind.MAXSI, Kind.ADD, Kind.MUL)


class LegalizeSmallIntegersPass(ModulePass):
    """Compute in i32 what is written on integers of 2 to 7 bits (i2, i4), and keep the last bits of each result.

    Before
        %c = arith.divsi %a, %b : i4

    After
        %0 = arith.extsi %a : i4 to i32
        %1 = arith.extsi %b : i4 to i32
        %2 = arith.divsi %0, %1 : i32
        %c = arith.trunci %2 : i32 to i4

    Must hold before: nothing. UnsupportedError for sums and products of such integers that give their upper bits, too.

    Gone after: every operation of arith, math and vector on such integers except constants, select, extsi, extui,
    trunci, bitcasts and what only moves elements.
    """

    name = "legalize-small-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {*_UNSIGNED, *_SIGNED, *_OTHER, *_REFUSED}
        for inner in [inner for inner in op.walk() if type(inner) in known]:
            if any(is_small_integer(value.type) for value in (*inner.operands, *inner.results)):
                if isinstance(inner, _REFUSED):
                    found = inner.operands[0].type
                    raise UnsupportedError(f"{where(inner)}{inner.name} of {found}, expected i8 or more")
                _widen(inner)


def is_small_integer(type: Attribute) -> bool:
    """Whether a type is an integer of less than 8 bits that is no bool, or a vector of such."""
    element = get_element_type_or_self(type)
    return isinstance(element, IntegerType) and 1 < element.width.data < 8


def _width(type: Attribute) -> int:
    element = get_element_type_or_self(type)
    assert isinstance(element, IntegerType)
    return element.width.data


def _is_signed(op: Operation, operand: int) -> bool:
    match op:
        case arith.CmpiOp():
            return op.predicate.value.data in _SIGNED_PREDICATES
        case vector.ReductionOp():
            return op.kind.data in _SIGNED_KINDS
        case arith.ShRSIOp():
            return operand == 0
        case _:
            return isinstance(op, _SIGNED)


def _widen(op: Operation) -> None:
    block = op.parent
    assert block is not None

    def insert(new: Operation) -> SSAValue:
        new.location = op.location
        block.insert_op_before(new, op)
        return new.results[0]

    def extend(number: int, value: SSAValue) -> SSAValue:
        if not is_small_integer(value.type):
            return value
        cast = arith.ExtSIOp if _is_signed(op, number) else arith.ExtUIOp
        return insert(cast(value, with_element_type(value.type, i32)))  # pyright: ignore[reportArgumentType]

    (result,) = op.results
    small = is_small_integer(result.type)
    operands = [extend(number, value) for number, value in enumerate(op.operands)]
    properties = {name: value for name, value in op.properties.items() if name != "overflowFlags"}
    new = op.create(
        operands=operands,
        result_types=[with_element_type(result.type, i32) if small else result.type],
        properties=properties,
        attributes=op.attributes.copy(),
    )
    if small:
        value = _adjusted(op, new, insert)
        value = insert(arith.TruncIOp(value, result.type))  # pyright: ignore[reportArgumentType]
    else:
        value = insert(new)
    value.name_hint = result.name_hint
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _adjusted(op: Operation, new: Operation, insert: Callable[[Operation], SSAValue]) -> SSAValue:
    """The result of the operation in i32, `new`, where it is another number there than in the small type."""
    width, type = _width(op.results[0].type), new.results[0].type

    def constant(value: int) -> SSAValue:
        if isinstance(type, VectorType):
            return insert(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [value])))
        return insert(arith.ConstantOp(IntegerAttr(value, i32)))

    match op:
        case arith.FPToSIOp():
            value, half = insert(new), 1 << width - 1
            value = insert(arith.MinSIOp(value, constant(half - 1)))
            return insert(arith.MaxSIOp(value, constant(-half)))
        case arith.FPToUIOp():
            return insert(arith.MinUIOp(insert(new), constant((1 << width) - 1)))
        case math.CountLeadingZerosOp():
            return insert(arith.SubiOp(insert(new), constant(_WIDE - width)))
        case math.CountTrailingZerosOp():
            new.operands[0] = insert(arith.OrIOp(new.operands[0], constant(1 << width)))
            return insert(new)
        case _:
            return insert(new)
