"""Workarounds for xDSL 0.74.0, each with the upstream issue that makes it obsolete."""

from __future__ import annotations

import re
from enum import auto
from typing import Any, ClassVar

from xdsl import builder
from xdsl.dialects import arith, gpu, math
from xdsl.dialects.builtin import AnyFloatConstr, IndexType, IntegerType, VectorType, container_of, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, OpResult, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.irdl.attributes import single_range_constr_coercion
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind
from xdsl.utils.str_enum import StrEnum
from xdsl.utils.type import get_element_type_or_self

from . import xdsl_speed as xdsl_speed

_SUFFIXES = re.compile(r"(_\d+)+$")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_$.-]")


def set_name_hint(value: SSAValue, name: str) -> None:
    """Set the name hint of `value` to a name that round-trips through printing and parsing.

    xDSL strips one trailing `_<digits>` from a hint and numbers collisions itself, so hints `i` and `i_1_0` print as
    two values called `%i_1` (https://github.com/xdslproject/xdsl/issues/571). This function strips every such suffix.
    """
    name = _SUFFIXES.sub("", _ILLEGAL.sub("_", name))
    value.name_hint = name if name and not name[0].isdigit() else None


# Semi-affine maps: xDSL 0.74 refuses products with symbols, and quotients and remainders by them, which the affine maps
# of MLIR may contain (https://github.com/xdslproject/xdsl/issues/1087).


def _accept_symbols(name: str, kind: AffineBinaryOpKind) -> None:
    affine = getattr(AffineExpr, name)

    def semi_affine(self: AffineExpr, other: AffineExpr | int) -> AffineExpr:
        try:
            return affine(self, other)
        except NotImplementedError:
            assert isinstance(other, AffineExpr)
            lhs, rhs = (other, self) if kind is AffineBinaryOpKind.Mul and other.used_dims() else (self, other)
            if rhs.used_dims():
                raise
            return AffineBinaryOpExpr(kind, lhs, rhs)

    setattr(AffineExpr, name, semi_affine)


_accept_symbols("__mul__", AffineBinaryOpKind.Mul)
_accept_symbols("__floordiv__", AffineBinaryOpKind.FloorDiv)
_accept_symbols("__mod__", AffineBinaryOpKind.Mod)
_accept_symbols("ceil_div", AffineBinaryOpKind.CeilDiv)


# arith on vectors: xDSL 0.74 supports casts, comparisons and select on scalars only, MLIR also lane by lane on vectors.
# No issue is open; https://github.com/xdslproject/xdsl/pull/5387 made the same change to the llvm dialect.


def _comparison_type(type: Attribute) -> Attribute:
    """The result type of a comparison of two values of a type: i1, or a vector of i1 with the same lanes."""
    return VectorType(i1, type.get_shape()) if isinstance(type, VectorType) else i1


def _compare_lane_by_lane(cls: type[arith.CmpiOp | arith.CmpfOp]) -> None:
    scalar = cls.__init__

    def init(self: Any, operand1: SSAValue | Operation, *args: Any, **kwargs: Any) -> None:
        scalar(self, operand1, *args, **kwargs)
        if isinstance(type := SSAValue.get(operand1).type, VectorType):
            self.results = SSAValues([OpResult(_comparison_type(type), self, 0)])

    def verify(self: Any) -> None:
        expected = _comparison_type(self.lhs.type)
        if self.result.type != expected:
            raise VerifyException(f"comparing {self.lhs.type} gives {expected}, got {self.result.type}")

    cls.__init__ = init
    cls.verify_ = verify  # pyright: ignore[reportAttributeAccessIssue]


def _width(type: Attribute) -> int:
    element = get_element_type_or_self(type)
    assert isinstance(element, IntegerType)
    return element.width.data


def _resize_lane_by_lane(cls: type[arith.TruncIOp | arith.ExtSIOp | arith.ExtUIOp]) -> None:
    grows = cls is not arith.TruncIOp

    def verify(self: Any) -> None:
        have, want = (_width(v.type) for v in (self.input, self.result))
        if have == want or (have < want) != grows:
            relation = "larger" if grows else "smaller"
            raise VerifyException(f"Destination bit-width must be {relation} than the input bit-width")

    cls.verify_ = verify


def _print_select(self: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list((self.cond, self.lhs, self.rhs), printer.print_ssa_value)
    printer.print_op_attributes(self.attributes)
    printer.print_string(" : ")
    if isinstance(self.cond.type, VectorType):
        printer.print_attribute(self.cond.type)
        printer.print_string(", ")
    printer.print_attribute(self.result.type)


def _parse_select(parser: Parser) -> arith.SelectOp:
    position = parser.pos
    operands = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    if len(operands) != 3 or len(types) > 2:
        parser.raise_error("expected three operands, and one type or two", position)
    condition, value = (i1, *types)[-2:]
    op = arith.SelectOp(*parser.resolve_operands(operands, [condition, value, value], position))
    op.attributes.update(attributes)
    return op


def _allow_vectors() -> None:
    bools, integers, floats = (container_of(t) for t in (EqAttrConstraint(i1), BaseAttr(IntegerType), AnyFloatConstr))
    constraints: dict[type[IRDLOperation], tuple[AttrConstraint, AttrConstraint]] = {
        arith.TruncIOp: (integers, integers),
        arith.ExtSIOp: (integers, integers),
        arith.ExtUIOp: (integers, integers),
        arith.FPToSIOp: (floats, integers),
        arith.FPToUIOp: (floats, integers),
        arith.SIToFPOp: (integers, floats),
        arith.UIToFPOp: (integers, floats),
    }
    for cls, (operand, result) in constraints.items():
        definition = cls.get_irdl_definition()
        definition.operands[0][1].constr = single_range_constr_coercion(operand)
        definition.results[0][1].constr = single_range_constr_coercion(result)
    for cls in (arith.TruncIOp, arith.ExtSIOp, arith.ExtUIOp):
        _resize_lane_by_lane(cls)
    for cls in (arith.CmpiOp, arith.CmpfOp):
        cls.get_irdl_definition().results[0][1].constr = single_range_constr_coercion(bools)
        _compare_lane_by_lane(cls)
    # The `tir` landing also uses these ops on unsigned integers, as it does those of arith.
    any_sign = VarConstraint("T", container_of(BaseAttr(IntegerType) | BaseAttr(IndexType)))
    for cls in (math.AbsIOp, math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp):
        definition = cls.get_irdl_definition()
        definition.operands[0][1].constr = single_range_constr_coercion(any_sign)
        definition.results[0][1].constr = single_range_constr_coercion(any_sign)
    arith.SelectOp.get_irdl_definition().operands[0][1].constr = single_range_constr_coercion(bools)
    arith.SelectOp.print = _print_select
    arith.SelectOp.parse = staticmethod(_parse_select)  # pyright: ignore[reportAttributeAccessIssue]


_allow_vectors()


# ImplicitBuilder replaces `Operation.__post_init__`, for all threads, while a builder is active. Two active builders in
# two threads insert each op twice, and parsing `scf.for` uses a builder. So we install the replacement once, on import.


def _build_in_threads() -> None:
    builder._override_operation_post_init()  # pyright: ignore[reportPrivateUsage]
    setattr(builder, "_override_operation_post_init", lambda: Operation.__post_init__)


_build_in_threads()


# Strings beyond ASCII: xDSL 0.74 prints them as escaped bytes and reads these as bytes, no string. No issue is open.

_lex_string = MLIRLexer._lex_string_literal  # pyright: ignore[reportPrivateUsage]


def _lex_text(self: MLIRLexer, start_pos: int) -> MLIRToken:
    """A string literal; of bytes only if they are no UTF-8."""
    token = _lex_string(self, start_pos)
    if token.kind is MLIRTokenKind.BYTES_LIT:
        try:
            MLIRTokenKind.STRING_LIT.get_string_literal_value(token.span)
        except UnicodeDecodeError:
            return token
        return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
    return token


MLIRLexer._lex_string_literal = _lex_text  # pyright: ignore[reportPrivateUsage]


# gpu.shuffle is missing in xDSL 0.74. No issue is open.


class ShuffleMode(StrEnum):
    """The addressing mode of a shuffle: the source lane is an index, or relative to the index of the reading lane."""

    Xor = auto()
    Up = auto()
    Down = auto()
    Idx = auto()


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """The mode of a `gpu.shuffle`."""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class GpuShuffleOp(IRDLOperation):
    """An exchange of values between the lanes of a subgroup (MLIR's `gpu.shuffle`).

    value: the value that the lane provides.  offset: the index of the source lane, or the distance or mask relative to
    the index of this lane.  width: the number of lanes that exchange values among themselves.  shuffled: the value of
    the source lane.  valid: whether the source lane is active and within the width.

    Example
        %1, %2 = gpu.shuffle down %0, %offset, %width : f32
    """

    name = "gpu.shuffle"

    _T: ClassVar = VarConstraint("T", AnyFloatConstr | BaseAttr(IntegerType))

    mode = prop_def(ShuffleModeAttr)
    value = operand_def(_T)
    offset = operand_def(EqAttrConstraint(i32))
    width = operand_def(EqAttrConstraint(i32))
    shuffled = result_def(_T)
    valid = result_def(EqAttrConstraint(i1))

    assembly_format = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            properties={"mode": ShuffleModeAttr(ShuffleMode(mode))},
            result_types=[value.type, i1],
        )


gpu.GPU._operations.append(GpuShuffleOp)  # pyright: ignore[reportPrivateUsage]
gpu.GPU._attributes.append(ShuffleModeAttr)  # pyright: ignore[reportPrivateUsage]
