"""Values without computation: tuples, shapes, numbers, texts, and checks of their types at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, TensorType, TupleType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ...dialects.tir.base import TirOp, require
from ..relay import OperatorOp
from .types import (
    ObjectType,
    PartialTensorType,
    PrimType,
    ShapeType,
    known_rank,
    known_shape,
    may_match,
    number_of,
    shape,
    tuple_type,
    verify_type,
)


@irdl_op_definition
class TupleOp(TirOp):
    """A tuple of values.

    Constraints
        (C1) the result is the tuple of the types of the values.

    Example
        %2 = relax.tuple(%0, %1) : (tensor<8xf32>, tensor<4xf32>) -> tuple<tensor<8xf32>, tensor<4xf32>>

    Source: `(x, y)`, `R.tuple(x, y)`
    """

    name = "relax.tuple"

    values = var_operand_def(Attribute)
    output = result_def(TupleType)

    traits = traits_def(Pure())
    assembly_format = "`(` $values `)` attr-dict-with-keyword `:` functional-type($values, $output)"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values], result_types=[tuple_type([value.type for value in values])])

    @property
    def operator(self) -> OperatorOp | None:
        """The operator whose results the values are, None for other values."""
        owner = self.values[0].owner if self.values else None
        return owner if isinstance(owner, OperatorOp) and list(self.values) == list(owner.outputs) else None

    def verify_(self) -> None:
        expected = tuple_type([value.type for value in self.values])
        require(self.output.type == expected, f"(C1) result of type {self.output.type}, expected {expected}")


@irdl_op_definition
class TupleGetOp(TirOp):
    """A field of a tuple.

    Constraints
        (C1) the tuple has a field with this index, of the type of the result.

    Example
        %1 = relax.tuple_get %0[1] : tuple<tensor<8xf32>, tensor<4xf32>> -> tensor<4xf32>

    Source: `t[1]` (TupleGetItem)
    """

    name = "relax.tuple_get"

    value = operand_def(TupleType)
    index = prop_def(IntegerAttr[I64])
    output = result_def(Attribute)

    traits = traits_def(Pure())
    assembly_format = "$value `[` $index `]` attr-dict-with-keyword `:` type($value) `->` type($output)"

    def __init__(self, value: SSAValue, index: int):
        """index: of a field. IndexError for an index that the tuple does not have."""
        type = cast(TupleType, value.type)
        super().__init__(
            operands=[value], properties={"index": IntegerAttr(index, i64)}, result_types=[type.types.data[index]]
        )

    def verify_(self) -> None:
        types, index = cast(TupleType, self.value.type).types.data, self.index.value.data
        require(0 <= index < len(types), f"(C1) field {index} of a tuple of {len(types)}")
        require(self.output.type == types[index], f"(C1) result of type {self.output.type}, expected {types[index]}")


@irdl_op_definition
class ShapeOp(TirOp):
    """A shape, whose sizes are those of its type.

    Constraints
        (C1) the type states all sizes.

    Example
        %0 = relax.shape : !relax.shape<["n", 4]>

    Source: `R.shape([n, 4])` (ShapeExpr)
    """

    name = "relax.shape"

    output = result_def(ShapeType)

    traits = traits_def(Pure())
    assembly_format = "attr-dict-with-keyword `:` type($output)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        require(known_shape(self.output.type) is not None, f"(C1) type {self.output.type}, expected one with sizes")


@irdl_op_definition
class PrimValueOp(TirOp):
    """A number, which its type states.

    Constraints
        (C1) the type states the value.

    Example
        %0 = relax.prim_value : !relax.prim<i64, "n">

    Source: `R.prim_value(n)` (PrimValue)
    """

    name = "relax.prim_value"

    output = result_def(PrimType)

    traits = traits_def(Pure())
    assembly_format = "attr-dict-with-keyword `:` type($output)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        type = self.output.type
        require(number_of(type) is not None, f"(C1) type {type}, expected one with a value")


@irdl_op_definition
class StringOp(TirOp):
    """A text, an argument of packed functions.

    Example
        %0 = relax.string "float32"

    Source: `R.str("float32")` (StringImm)
    """

    name = "relax.string"

    text = prop_def(StringAttr)
    output = result_def(ObjectType)

    traits = traits_def(Pure())
    assembly_format = "$text attr-dict-with-keyword"

    def __init__(self, text: str):
        super().__init__(properties={"text": StringAttr(text)}, result_types=[ObjectType()])


@irdl_op_definition
class ShapeOfOp(TirOp):
    """The shape of a tensor.

    Constraints
        (C1) the operand is a tensor.
        (C2) the result states the sizes of the tensor as far as its type does.

    Example
        %0 = relax.shape_of %x : tensor<?x4xf32, #relay.sizes<"n">> -> !relax.shape<["n", 4]>

    Source: `R.shape_of(x)`
    """

    name = "relax.shape_of"

    value = operand_def(Attribute)
    output = result_def(ShapeType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict-with-keyword `:` type($value) `->` type($output)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[_shape_type(value.type)])

    def verify_(self) -> None:
        type = self.value.type
        require(isinstance(type, TensorType | PartialTensorType), f"(C1) operand of type {type}, expected a tensor")
        expected = _shape_type(type)
        require(self.output.type == expected, f"(C2) result of type {self.output.type}, expected {expected}")


def _shape_type(type: Attribute) -> ShapeType:
    return shape(known_shape(type), known_rank(type))


@irdl_op_definition
class MatchCastOp(TirOp):
    """A value, checked at run time to be of a type; sizes of the type that have not been known are bound to its sizes.

    Constraints
        (C1) the result has a type of values, which the operand may have.

    Example
        %1 = relax.match_cast %0 : !relax.object -> tensor<?x4xf32, #relay.sizes<"n">>

    Source: `y = R.match_cast(x, R.Tensor((n, 4), "float32"))`
    """

    name = "relax.match_cast"

    value = operand_def(Attribute)
    output = result_def(Attribute)

    assembly_format = "$value attr-dict-with-keyword `:` type($value) `->` type($output)"

    def __init__(self, value: SSAValue, type: Attribute):
        super().__init__(operands=[value], result_types=[type])

    def verify_(self) -> None:
        verify_type(self.output.type, "(C1)")
        require(
            may_match(self.output.type, self.value.type),
            f"(C1) {self.value.type} is never {self.output.type}",
        )
