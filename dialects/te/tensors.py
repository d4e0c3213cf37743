"""Input tensors, and loads of elements of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, Pure

from ...core.xdsl_compat import set_name_hint
from ..tir.base import (
    DYNAMIC,
    Mixed,
    TirOp,
    join_mixed,
    parse_discardable,
    parse_indices,
    print_discardable,
    print_indices,
    print_quoted,
    require,
    split_mixed,
)
from ..tir.directives import ElementType, Indices
from .base import mixed_tensor_type, tensor_type_of


@irdl_op_definition
class PlaceholderOp(TirOp):
    """An input tensor, provided by the caller.

    dims: the dynamic extents (`?`) of the type, in order.

    Constraints
        (C1) one dim for each `?` of the type.

    Example
        %A = te.placeholder "A" [%n, 8] : tensor<?x8xf32>

    Source: `te.placeholder`
    """

    name = "te.placeholder"

    tensor_name = prop_def(StringAttr)
    dims = var_operand_def(IntegerType)
    result = result_def(TensorType)

    # An allocation and not Pure: CSE must not merge two inputs.
    traits = traits_def(MemoryAllocEffect())

    def __init__(self, name: str, element: Attribute, shape: Sequence[Mixed]):
        super().__init__(
            operands=[[d for d in shape if not isinstance(d, int)]],
            properties={"tensor_name": StringAttr(name)},
            result_types=[mixed_tensor_type(element, shape)],
        )
        set_name_hint(self.result, name)

    @property
    def mixed_shape(self) -> list[Mixed]:
        shape = DenseArrayBase.from_list(i64, tensor_type_of(self.result).get_shape())
        return join_mixed(shape, self.dims)

    def verify_(self) -> None:
        holes = tensor_type_of(self.result).get_shape().count(DYNAMIC)
        require(holes == len(self.dims), f"(C1) {len(self.dims)} dims for {holes} open extents")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.tensor_name)
        printer.print_string(" ")
        print_indices(printer, self.mixed_shape)
        print_discardable(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, shape = parser.parse_str_literal(), parse_indices(parser)
        attributes = parse_discardable(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, TensorType) or type != mixed_tensor_type(type.element_type, shape):
            parser.raise_error(f"expected a tensor type with the shape {split_mixed(shape)[0]}, got {type}")
        op = cls(name, type.element_type, shape)
        op.attributes = attributes
        return op


@irdl_op_definition
class ReadOp(TirOp):
    """Reads an element of a tensor.

    Constraints
        (C1) one integer index for each dimension.
        (C2) the result has the element type of the tensor.

    Example
        %0 = te.read %A[%i, %k] : tensor<8x4xf32>

    Source: `A[i, k]` (ProducerLoad)
    """

    name = "te.read"

    tensor = operand_def(TensorType)
    indices = var_operand_def(IntegerType)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (ElementType, Indices)
    assembly_format = (
        "$tensor `` custom<Indices>($indices, type($indices)) attr-dict-with-keyword `:` type($tensor) "
        "custom<ElementType>(type($result), ref(type($tensor)))"
    )

    def __init__(self, tensor: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[tensor, indices], result_types=[tensor_type_of(tensor).element_type])

    def verify_(self) -> None:
        type = tensor_type_of(self.tensor)
        require(len(self.indices) == type.get_num_dims(), f"(C1) {len(self.indices)} indices into {type}")
        require(self.result.type == type.element_type, f"(C2) result of type {self.result.type}")
