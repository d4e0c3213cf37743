"""Expression ops that arith, math and vector lack, and the tables that map TIR operators to ops.

Scalars and vectors are SSA values. Signless integers are signed; `ui8 .. ui64` are unsigned and exist on this landing
only. Ops on vectors work lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...core.comparisons import predicate_of
from ...core.diagnostics import did_you_mean
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype, vector_type
from ...core.llvm_intrinsics import LLVM_INTRINSICS, LlvmIntrinsic
from ...core.xdsl_compat import set_name_hint
from .base import (
    HandleType,
    HasTirCanonicalizationPatterns,
    TirOp,
    parse_body,
    parse_discardable,
    print_body,
    print_discardable,
    print_quoted,
    require,
)
from .control import YieldOp
from .directives import ElementType, SameType, YieldingBody


def _verify_dtype(type: Attribute, tag: str, expected: str = "a scalar or vector type") -> DType:
    """The data type of a scalar or vector type; VerifyException for any other type."""
    try:
        return dtype_of(type)
    except ValueError:
        raise VerifyException(f"{tag} type {type}, expected {expected}") from None


@irdl_op_definition
class ConstOp(TirOp):
    """A constant that arith.constant cannot represent: an unsigned integer, or a string.

    Constraints
        (C1) an unsigned integer of its own type, or a string of type !tir.handle.

    Example
        %0 = tir.const 3 : ui8
        %1 = tir.const "shared" : !tir.handle

    Source: `T.uint8(3)` (IntImm), `"shared"` as an argument (StringImm)
    """

    name = "tir.const"

    value = prop_def(Attribute)
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, value: int | str, type: Attribute | None = None):
        if isinstance(value, str):
            attr, type = StringAttr(value), HandleType()
        else:
            if not isinstance(type, IntegerType):
                raise VerifyException(f"(C1) {value} of type {type}, expected an unsigned integer type")
            attr = IntegerAttr(value, type)
        super().__init__(properties={"value": attr}, result_types=[type])

    def verify_(self) -> None:
        match self.value, self.result.type:
            case IntegerAttr(type=type), result:
                require(type == result and dtype_of(result).kind == "uint", "(C1) expected an unsigned integer")
            case StringAttr(), HandleType():
                pass
            case _:
                require(False, lambda: f"(C1) {self.value} of type {self.result.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if isinstance(self.value, IntegerAttr):
            printer.print_string(str(self.value.value.data))
        else:
            printer.print_attribute(self.value)
        print_discardable(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        text = parser.parse_optional_str_literal()
        number = parser.parse_integer() if text is None else 0
        attributes = parse_discardable(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(number if text is None else text, type)
        op.attributes = attributes
        return op


class _BinaryOp(TirOp):
    """Base class of operations on two operands of the same type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure(), HasTirCanonicalizationPatterns())
    custom_directives = (SameType,)
    assembly_format = (
        "$lhs `,` $rhs attr-dict-with-keyword `:` type($result) "
        "custom<SameType>(type($lhs), ref(type($result))) custom<SameType>(type($rhs), ref(type($result)))"
    )

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def _verify_types(self, floats: bool) -> None:
        require(self.lhs.type == self.rhs.type == self.result.type, "(C1) operands and result have different types")
        expected = "a float type" if floats else "a signed integer type"
        dtype = _verify_dtype(self.lhs.type, "(C2)", expected)
        require(
            dtype.is_float if floats else dtype.kind == "int", lambda: f"(C2) type {self.lhs.type}, expected {expected}"
        )


@irdl_op_definition
class FloormodOp(_BinaryOp):
    """`lhs - floor(lhs / rhs) * rhs` on signed integers: the result has the sign of rhs.

    Constraints
        (C1) operands and result have the same type.
        (C2) the type is a signed integer type, or a vector of signed integers.

    Example
        %r = tir.floormod %a, %b : i32

    Source: `a % b`, `T.floormod` (FloorMod)
    """

    name = "tir.floormod"

    def verify_(self) -> None:
        self._verify_types(floats=False)


@irdl_op_definition
class MinOp(_BinaryOp):
    """`lhs if lhs < rhs else rhs` on floats: rhs if either operand is NaN, and if both are zeros of either sign.

    Constraints
        (C1) operands and result have the same type.
        (C2) the type is a float type, or a vector of floats.

    Example
        %m = tir.min %a, %b : f32

    Source: `T.min` on floats (Min)
    """

    name = "tir.min"

    def verify_(self) -> None:
        self._verify_types(floats=True)


@irdl_op_definition
class MaxOp(_BinaryOp):
    """`lhs if lhs > rhs else rhs` on floats: rhs if either operand is NaN, and if both are zeros of either sign.

    Constraints
        (C1) operands and result have the same type.
        (C2) the type is a float type, or a vector of floats.

    Example
        %m = tir.max %a, %b : f32

    Source: `T.max` on floats (Max)
    """

    name = "tir.max"

    def verify_(self) -> None:
        self._verify_types(floats=True)


@irdl_op_definition
class CastOp(TirOp):
    """Convert a value to another type as in C, lane by lane.

    Integers wrap, or are extended according to the signedness of their source type; a float is truncated towards zero
    to an integer (docs/semantics.md defines the result out of range); a conversion to bool compares with zero.

    Constraints
        (C1) scalar or vector types with the same number of lanes.

    Example
        %y = tir.cast %x : i8 -> f32

    Source: `T.Cast("float32", x)` (Cast)
    """

    name = "tir.cast"

    value = operand_def()
    result = result_def()

    traits = traits_def(Pure(), HasTirCanonicalizationPatterns())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, type: Attribute):
        super().__init__(operands=[value], result_types=[type])

    def verify_(self) -> None:
        have, want = (_verify_dtype(type, "(C1)").lanes for type in (self.value.type, self.result.type))
        require(have == want, lambda: f"(C1) {have} lanes to {want} lanes")


@irdl_op_definition
class ReinterpretOp(TirOp):
    """The bits of a value reinterpreted as another type.

    Constraints
        (C1) both types have the same number of bits (a handle has 64); if a lane of either type has less than 8 bits,
        lanes of both types have the same number of bits.

    Example
        %y = tir.reinterpret %x : f32 -> i32

    Source: `T.reinterpret("int32", x)`
    """

    name = "tir.reinterpret"

    value = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, type: Attribute):
        super().__init__(operands=[value], result_types=[type])

    def verify_(self) -> None:
        def bits(type: Attribute) -> tuple[int, int]:
            if isinstance(type, HandleType):
                return 64, 1
            dtype = _verify_dtype(type, "(C1)")
            return dtype.bits, dtype.lanes

        (have, n), (want, m) = bits(self.value.type), bits(self.result.type)
        require(have * n == want * m, lambda: f"(C1) {have * n} bits as {want * m} bits")
        require(have == want or min(have, want) >= 8, lambda: f"(C1) {n} times {have} bits as {m} times {want}")


@irdl_op_definition
class RampOp(TirOp):
    """The vector `base, base + stride, base + 2 * stride, ...`.

    Constraints
        (C1) base and stride have the element type of the result, an integer.

    Example
        %v = tir.ramp %b, %s : vector<4xi32>

    Source: `T.Ramp(b, s, 4)`, `b:b + 4` as an index (Ramp)
    """

    name = "tir.ramp"

    base = operand_def(IntegerType)
    stride = operand_def(IntegerType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    custom_directives = (ElementType,)
    assembly_format = (
        "$base `,` $stride attr-dict-with-keyword `:` type($result) "
        "custom<ElementType>(type($base), ref(type($result))) custom<ElementType>(type($stride), ref(type($result)))"
    )

    def __init__(self, base: SSAValue, stride: SSAValue, lanes: int):
        super().__init__(operands=[base, stride], result_types=[vector_type(base.type, lanes)])

    @property
    def lanes(self) -> int:
        return self.result.type.get_shape()[0]

    def verify_(self) -> None:
        element = self.result.type.element_type
        require(self.base.type == self.stride.type == element, lambda: f"(C1) base and stride must be {element}")


@irdl_op_definition
class ShuffleOp(TirOp):
    """Select lanes of the concatenation of vectors or scalars.

    indices: the lane of the concatenation for each lane of the result; a single index yields a scalar.

    Constraints
        (C1) operands and result have the same element type.
        (C2) one index for each lane of the result, non-negative and less than the total number of lanes of the
        operands.

    Example
        %v = tir.shuffle %a, %b [0, 2, 1, 3] : vector<2xf32>, vector<2xf32> -> vector<4xf32>

    Source: `T.Shuffle([a, b], [0, 2, 1, 3])` (Shuffle)
    """

    name = "tir.shuffle"

    indices = prop_def(DenseArrayBase.constr(i64))
    vectors = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$vectors $indices attr-dict-with-keyword `:` type($vectors) `->` type($result)"

    def __init__(self, vectors: Sequence[SSAValue], indices: Sequence[int]):
        dtype = dtype_of(vectors[0].type)
        super().__init__(
            operands=[vectors],
            properties={"indices": DenseArrayBase.from_list(i64, indices)},
            result_types=[mlir_type(dtype.with_lanes(len(indices)))],
        )

    @property
    def lane_indices(self) -> tuple[int, ...]:
        return tuple(int(i) for i in self.indices.get_values())

    def verify_(self) -> None:
        result = _verify_dtype(self.result.type, "(C1)")
        dtypes = [_verify_dtype(v.type, "(C1)") for v in self.vectors]
        require(all(d.scalar == result.scalar for d in dtypes), "(C1) element types differ")
        total = sum(d.lanes for d in dtypes)
        require(
            len(self.lane_indices) == result.lanes,
            lambda: f"(C2) {len(self.lane_indices)} indices for {result.lanes} lanes",
        )
        require(all(0 <= i < total for i in self.lane_indices), lambda: f"(C2) an index is not in [0, {total})")


@irdl_op_definition
class LetOp(TirOp):
    """A value under the name of a variable of the source program.

    Constraints
        (C1) the result has the type of the value.

    Example
        %x = tir.let "x" %w : f32

    Source: `x: T.float32 = w`, `x = w`, `T.LetStmt`, `T.Let` (LetStmt, Let)
    """

    name = "tir.let"

    var_name = prop_def(StringAttr)
    value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, name: str, value: SSAValue):
        super().__init__(operands=[value], properties={"var_name": StringAttr(name)}, result_types=[value.type])
        set_name_hint(self.result, name)

    def verify_(self) -> None:
        require(self.value.type == self.result.type, "(C1) the value has another type than the name")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.var_name)
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        print_discardable(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, operand = parser.parse_str_literal(), parser.parse_unresolved_operand()
        attributes = parse_discardable(parser)
        parser.parse_punctuation(":")
        op = cls(name, parser.resolve_operand(operand, parser.parse_type()))
        op.attributes = attributes
        return op


@irdl_op_definition
class IfThenElseOp(TirOp):
    """The value of the first region if the condition holds, else of the second; only the selected region is executed.

    Also represents `a and b` and `a or b` if the evaluation of b must be conditional on a.

    Constraints
        (C1) both regions yield the type of the result.

    Example
        %v = tir.if_then_else %c {
          %x = tir.load %A[%i] : memref<8xf32>
          tir.yield %x : f32
        } else {
          tir.yield %zero : f32
        } : f32

    Source: `T.if_then_else(c, x, y)`
    """

    name = "tir.if_then_else"

    condition = operand_def(IntegerType(1))
    then = region_def("single_block")
    orelse = region_def("single_block")
    result = result_def()

    traits = traits_def(RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())
    custom_directives = (YieldingBody,)
    assembly_format = (
        "$condition attr-dict-with-keyword custom<YieldingBody>($then) `else` custom<YieldingBody>($orelse) "
        "`:` type($result)"
    )

    def __init__(self, condition: SSAValue, type: Attribute, then: Region | None = None, orelse: Region | None = None):
        super().__init__(
            operands=[condition],
            regions=[then or Region(Block()), orelse or Region(Block())],
            result_types=[type],
        )

    def verify_(self) -> None:
        for region in self.regions:
            last = region.block.last_op
            got = last.value.type if isinstance(last, YieldOp) else None
            require(got == self.result.type, lambda: f"(C1) yields {got}, expected {self.result.type}")


@irdl_op_definition
class CommReducerOp(TirOp):
    """A commutative combiner of two values, and its identity element: the node of a `reduce_scope` attribute.

    Constraints
        (C1) the region combines two values of the identity's type, and yields one of this type.

    Example
        %r = tir.comm_reducer %zero (%x: f32, %y: f32) {
          %z = arith.addf %x, %y : f32
          tir.yield %z : f32
        }

    Source: `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])` (CommReducer)
    """

    name = "tir.comm_reducer"

    identity = operand_def()
    combiner = region_def("single_block")
    result = result_def(HandleType)

    traits = traits_def(Pure())

    def __init__(self, identity: SSAValue, combiner: Region):
        super().__init__(operands=[identity], regions=[combiner], result_types=[HandleType()])

    def verify_(self) -> None:
        last, type = self.combiner.block.last_op, self.identity.type
        yields = [last.value.type] if isinstance(last, YieldOp) else []
        types = [*self.combiner.block.arg_types, *yields]
        require(types == [type, type, type], lambda: f"(C1) expected a combiner of two values of type {type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.identity)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.combiner.block.args, printer.print_block_argument)
        print_discardable(printer, self)
        print_body(printer, self.combiner, terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        identity = parser.parse_unresolved_operand()
        arguments = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_argument)
        attributes = parse_discardable(parser)
        if not arguments:
            parser.raise_error("(C1) expected a combiner of two values")
        op = cls(parser.resolve_operand(identity, arguments[0].type), parse_body(parser, arguments))
        op.attributes = attributes
        return op


INTRINSICS: dict[str, tuple[int, str]] = {
    "exp10": (1, "same"),
    "sigmoid": (1, "same"),
    "hypot": (2, "same"),
    "ldexp": (2, "same"),
    "nextafter": (2, "same"),
    "fmod": (2, "same"),
    "isnan": (1, "bool"),
    "isinf": (1, "bool"),
    "isfinite": (1, "bool"),
    "isnullptr": (1, "bool"),
    "likely": (1, "same"),
    "q_multiply_shift": (4, "same"),
}
"""The pure intrinsics of `tir.intrinsic`: the number of operands, and whether the result has the type of the first
operand or is a bool."""


@irdl_op_definition
class IntrinsicOp(TirOp):
    """A pure function on values that arith and math lack.

    Constraints
        (C1) the intrinsic is in `INTRINSICS` and has the number of operands listed there.
        (C2) the result has the type of the first operand, or is a bool, as listed there.

    Example
        %y = tir.intrinsic "sigmoid"(%x) : f32 -> f32

    Source: `T.sigmoid(x)`, ... (Call of a builtin with effect kPure)
    """

    name = "tir.intrinsic"

    intrinsic = prop_def(StringAttr)
    args = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$intrinsic `(` $args `)` attr-dict `:` type($args) `->` type($result)"

    def __init__(self, intrinsic: str, args: Sequence[SSAValue]):
        super().__init__(
            operands=[args],
            properties={"intrinsic": StringAttr(intrinsic)},
            result_types=[intrinsic_type(intrinsic, args[0].type)],
        )

    def verify_(self) -> None:
        name = self.intrinsic.data
        require(name in INTRINSICS, lambda: f"(C1) unknown intrinsic {name!r}")
        arity = INTRINSICS[name][0]
        require(len(self.args) == arity, lambda: f"(C1) {len(self.args)} operands for {name}, expected {arity}")
        for arg in self.args:
            if not isinstance(arg.type, HandleType):
                _verify_dtype(arg.type, "(C2)", "a scalar, vector or handle type")
        expected = intrinsic_type(name, self.args[0].type)
        require(self.result.type == expected, lambda: f"(C2) result of type {self.result.type}, expected {expected}")


@irdl_op_definition
class CallLlvmOp(TirOp):
    """Call an intrinsic of LLVM, which computes a vector by an instruction of the processor.

    intrinsic: a name of `LLVM_INTRINSICS`.

    Constraints
        (C1) the intrinsic is in `LLVM_INTRINSICS`, and has as many operands.
        (C2) each operand has as many bits as listed there; the result has the type listed there.

    Example
        %d = tir.call_llvm "llvm.x86.avx512.vpdpbusd.128"(%c, %a, %b)
            : vector<4xi32>, vector<16xui8>, vector<16xi8> -> vector<4xi32>

    Source: `T.call_llvm_pure_intrin("int32x4", "llvm.x86.avx512.vpdpbusd.128", c, a, b)` (Call of a builtin with effect
    kPure)
    """

    name = "tir.call_llvm"

    intrinsic = prop_def(StringAttr)
    args = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$intrinsic `(` $args `)` attr-dict `:` type($args) `->` type($result)"

    def __init__(self, intrinsic: str, args: Sequence[SSAValue]):
        result = mlir_type(parse_dtype(LLVM_INTRINSICS[intrinsic].result))
        super().__init__(operands=[args], properties={"intrinsic": StringAttr(intrinsic)}, result_types=[result])

    @property
    def definition(self) -> LlvmIntrinsic:
        return LLVM_INTRINSICS[self.intrinsic.data]

    def verify_(self) -> None:
        name = self.intrinsic.data
        require(
            name in LLVM_INTRINSICS,
            lambda: f"(C1) unknown intrinsic of LLVM {name!r}{did_you_mean(name, LLVM_INTRINSICS)}",
        )
        expected = self.definition.operands
        require(
            len(self.args) == len(expected),
            lambda: f"(C1) {len(self.args)} operands for {name}, expected {len(expected)}",
        )
        for n, (arg, kind) in enumerate(zip(self.args, map(parse_dtype, expected), strict=True)):
            given = _verify_dtype(arg.type, "(C2)")
            bits = given.bits * given.lanes
            require(bits == kind.bits * kind.lanes, lambda: f"(C2) operand {n} of {name} is {given}, expected {kind}")
        result = mlir_type(parse_dtype(self.definition.result))
        require(self.result.type == result, lambda: f"(C2) result of type {self.result.type}, expected {result}")


def intrinsic_type(intrinsic: str, type: Attribute) -> Attribute:
    """The result type of an intrinsic whose first operand has type `type`."""
    if INTRINSICS[intrinsic][1] == "same":
        return type
    lanes = 1 if isinstance(type, HandleType) else dtype_of(type).lanes
    return mlir_type(DType("bool", 1, lanes))


# The ops of operators

INT_BINARY: dict[str, tuple[type[Operation], type[Operation]]] = {
    "add": (arith.AddiOp, arith.AddiOp),
    "sub": (arith.SubiOp, arith.SubiOp),
    "mul": (arith.MuliOp, arith.MuliOp),
    "truncdiv": (arith.DivSIOp, arith.DivUIOp),
    "truncmod": (arith.RemSIOp, arith.RemUIOp),
    "floordiv": (arith.FloorDivSIOp, arith.DivUIOp),
    "floormod": (FloormodOp, arith.RemUIOp),
    "min": (arith.MinSIOp, arith.MinUIOp),
    "max": (arith.MaxSIOp, arith.MaxUIOp),
    "and": (arith.AndIOp, arith.AndIOp),
    "or": (arith.OrIOp, arith.OrIOp),
    "xor": (arith.XOrIOp, arith.XOrIOp),
    "shl": (arith.ShLIOp, arith.ShLIOp),
    "shr": (arith.ShRSIOp, arith.ShRUIOp),
}
"""Integer operators: the op on signed and on unsigned operands. `and`, `or`, `xor` are bitwise, on bools logical."""

FLOAT_BINARY: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "min": MinOp,
    "max": MaxOp,
    "pow": math.PowFOp,
    "atan2": math.Atan2Op,
    "copysign": math.CopySignOp,
}
"""Float operators on two operands."""

BINARY_NAMES: dict[type[Operation], str] = {
    **{op: name for name, op in FLOAT_BINARY.items()},
    **{op: name for name, (op, _) in INT_BINARY.items()},
    arith.DivUIOp: "floordiv",
    arith.RemUIOp: "floormod",
    arith.MinUIOp: "min",
    arith.MaxUIOp: "max",
    arith.ShRUIOp: "shr",
}
"""The operator name of each binary op. Unsigned divisions are named `floordiv` and `floormod`."""

FLOAT_UNARY: dict[str, type[Operation]] = {
    "abs": math.AbsFOp,
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    "nearbyint": math.RoundEvenOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}
"""Float functions of one operand."""

INT_UNARY: dict[str, type[Operation]] = {
    "abs": math.AbsIOp,
    "popcount": math.CtPopOp,
    "clz": math.CountLeadingZerosOp,
}
"""Integer functions of one operand."""

UNARY_NAMES: dict[type[Operation], str] = {
    **{op: name for name, op in FLOAT_UNARY.items()},
    **{op: name for name, op in INT_UNARY.items()},
    arith.NegfOp: "neg",
    math.CbrtOp: "cbrt",
    math.ExpM1Op: "expm1",
}
"""The function name of each unary op."""

_CMPI = {
    "eq": ("eq", "eq"),
    "ne": ("ne", "ne"),
    "lt": ("slt", "ult"),
    "le": ("sle", "ule"),
    "gt": ("sgt", "ugt"),
    "ge": ("sge", "uge"),
}
_CMPF = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}

COMPARISONS: tuple[str, ...] = tuple(_CMPF)
"""The names of the comparison operators."""


Comparison: TypeAlias = arith.CmpiOp | arith.CmpfOp
"""The comparison ops."""


def comparison(name: str, lhs: SSAValue, rhs: SSAValue) -> Comparison:
    """A comparison of two values of the same type; NaN is unequal to, and neither less nor greater than, any value."""
    dtype = dtype_of(lhs.type)
    if dtype.is_float:
        return arith.CmpfOp(lhs, rhs, _CMPF[name])
    return arith.CmpiOp(lhs, rhs, _CMPI[name][0 if dtype.kind == "int" else 1])


def comparison_name(op: Comparison) -> str | None:
    """The operator name (`eq`, `lt`, ...) of a comparison op, or None for a predicate without a TIR operator."""
    predicate = predicate_of(op)
    if isinstance(op, arith.CmpfOp):
        return next((name for name, known in _CMPF.items() if known == predicate), None)
    return next(name for name, known in _CMPI.items() if predicate in known)
