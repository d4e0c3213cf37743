"""The pass `legalize-small-integers`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, VectorType, i32
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.type import get_element_type_or_self

from ...core.comparisons import SIGNED_PREDICATES, predicate_of
from ...core.diagnostics import where
from ...core.dtypes import with_element_type
from ...core.errors import UnsupportedError

_WIDE = i32.width.data

# Operands are zero-extended: the low bits of the result do not depend on the extension, or the operands are unsigned.
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
_COMPUTING = frozenset((*_UNSIGNED, *_SIGNED, *_OTHER, *_REFUSED))
_SIGNED_KINDS = (Kind.MINSI, Kind.MAXSI, Kind.ADD, Kind.MUL)


class LegalizeSmallIntegersPass(ModulePass):
    """Widens operations on integers of 2 to 7 bits (i2, i4) to i32, and truncates each result.

    Before
        %c = arith.divsi %a, %b : i4

    After
        %0 = arith.extsi %a : i4 to i32
        %1 = arith.extsi %b : i4 to i32
        %2 = arith.divsi %0, %1 : i32
        %c = arith.trunci %2 : i32 to i4

    Must hold before: nothing. Raises UnsupportedError for extended sums and products of such integers, which also
    return the upper bits.

    Gone after: every operation of arith, math and vector on such integers except constants, select, extsi, extui,
    trunci, bitcasts and operations that only move elements.
    """

    name = "legalize-small-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(filter(computes_on_small_integers, op.walk())):
            if isinstance(inner, _REFUSED):
                raise UnsupportedError(f"{where(inner)}{inner.name} of {inner.operands[0].type}, expected i8 or more")
            _widen(inner)


def computes_on_small_integers(op: Operation) -> bool:
    """Whether an op computes on integers of 2 to 7 bits."""
    return type(op) in _COMPUTING and any(is_sub_byte_integer(value.type) for value in (*op.operands, *op.results))


def is_sub_byte_integer(type: Attribute) -> bool:
    """Whether a type is an integer of 2 to 7 bits (no bool), or a vector of such integers."""
    element = get_element_type_or_self(type)
    return isinstance(element, IntegerType) and 1 < element.width.data < 8


def _width(type: Attribute) -> int:
    element = get_element_type_or_self(type)
    assert isinstance(element, IntegerType)
    return element.width.data


def _is_signed(op: Operation, operand: int) -> bool:
    match op:
        case arith.CmpiOp():
            return predicate_of(op) in SIGNED_PREDICATES
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

    def extend(index: int, value: SSAValue) -> SSAValue:
        if not is_sub_byte_integer(value.type):
            return value
        cast = arith.ExtSIOp if _is_signed(op, index) else arith.ExtUIOp
        return insert(cast(value, with_element_type(value.type, i32)))  # pyright: ignore[reportArgumentType]

    (result,) = op.results
    small = is_sub_byte_integer(result.type)
    operands = [extend(index, value) for index, value in enumerate(op.operands)]
    properties = {name: value for name, value in op.properties.items() if name != "overflowFlags"}
    new = op.create(
        operands=operands,
        result_types=[with_element_type(result.type, i32) if small else result.type],
        properties=properties,
        attributes=op.attributes.copy(),
    )
    if small:
        value = _adjust(op, new, insert)
        value = insert(arith.TruncIOp(value, result.type))  # pyright: ignore[reportArgumentType]
    else:
        value = insert(new)
    value.name_hint = result.name_hint
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _adjust(op: Operation, new: Operation, insert: Callable[[Operation], SSAValue]) -> SSAValue:
    """Emits `new`, the operation in i32, and corrections where its result differs from the result in the small type."""
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
