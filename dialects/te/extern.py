"""Tensors computed by calls of external functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator

from ...core.xdsl_compat import set_name_hint
from ..tir.base import (
    DYNAMIC,
    Mixed,
    TirOp,
    annotations_attr,
    parse_body,
    parse_typed,
    print_body,
    print_quoted,
    print_typed,
    require,
)
from .base import (
    mixed_shapes,
    parse_arguments,
    parse_dims,
    parse_tag_and_annotations,
    print_arguments,
    print_dims,
    print_tag_and_annotations,
    tensor_type_of,
)


@irdl_op_definition
class ExternOp(TirOp):
    """Tensors written by statements of `tir`: calls of external functions.

    The arguments of the body are the buffers of the inputs and of the results. The body may read every element of the
    inputs, and writes every element of the results.

    op_name: the name of the block.  tag: the kind of operator.  annotations: of the block.
    inputs: the tensors to read.  dims: the dynamic extents (`?`) of the types of the results, in order.

    Constraints
        (C1) one or more results; the body takes a buffer for each input, and then for each result.
        (C2) one dim for each `?` in the types of the results.
        (C3) buffers have the shape and the element type of their tensor, and no layout.
        (C4) the body contains no op of te.

    Example
        %B = te.extern "B" in %A : tensor<8xf32> (%a : memref<8xf32>, %b : memref<8xf32>) {
          tir.call_packed "sort"(%a, %b) : memref<8xf32>, memref<8xf32>
        }

    Source: `te.extern` (ExternOp)
    """

    name = "te.extern"

    op_name = prop_def(StringAttr)
    tag = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    inputs = var_operand_def(TensorType)
    dims = var_operand_def(IntegerType)
    tensors = var_result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        name: str,
        inputs: Sequence[SSAValue],
        dims: Sequence[SSAValue],
        body: Region,
        *,
        tag: str = "",
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
    ):
        """body: takes the buffers of the inputs and of the results."""
        types = [cast("MemRefType[Attribute]", argument.type) for argument in body.block.args[len(inputs) :]]
        super().__init__(
            operands=[inputs, dims],
            properties={
                "op_name": StringAttr(name),
                "tag": StringAttr(tag) if tag else None,
                "annotations": annotations_attr(annotations),
            },
            result_types=[[TensorType(type.element_type, type.get_shape()) for type in types]],
            regions=[body],
        )
        for result in self.tensors:
            set_name_hint(result, name)

    @property
    def buffers(self) -> Sequence[BlockArgument]:
        """The block arguments of the body: the buffers of the inputs, then of the results."""
        return self.body.block.args

    @property
    def mixed_shapes(self) -> list[list[Mixed]]:
        """The extents of each result."""
        return mixed_shapes(self.tensors, self.dims)

    def verify_(self) -> None:
        tensors = [*self.inputs, *self.tensors]
        require(len(self.tensors) > 0, "(C1) no result")
        require(len(self.buffers) == len(tensors), f"(C1) {len(self.buffers)} buffers for {len(tensors)} tensors")
        holes = sum(tensor_type_of(tensor).get_shape().count(DYNAMIC) for tensor in self.tensors)
        require(holes == len(self.dims), f"(C2) {len(self.dims)} dims for {holes} open extents")
        for buffer, tensor in zip(self.buffers, tensors, strict=True):
            type = tensor_type_of(tensor)
            expected = MemRefType(type.element_type, type.get_shape())
            require(buffer.type == expected, f"(C3) a buffer of type {buffer.type}, expected {expected}")
        for op in self.body.walk():
            require(op.dialect_name() != "te", f"(C4) {op.name} in the body")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.op_name)
        if self.inputs:
            printer.print_string(" in ")
            printer.print_list(self.inputs, lambda value: print_typed(printer, value))
        print_dims(printer, self.dims)
        print_tag_and_annotations(printer, self, self.tag, self.annotations)
        printer.print_string(" ")
        print_arguments(printer, self.body.block)
        print_body(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, inputs = parser.parse_str_literal(), list[SSAValue]()
        if parser.parse_optional_keyword("in"):
            inputs = parser.parse_comma_separated_list(Parser.Delimiter.NONE, lambda: parse_typed(parser))
        dims = parse_dims(parser)
        tag, annotations, attributes = parse_tag_and_annotations(parser)
        arguments = parse_arguments(parser)
        for argument in arguments:
            if not isinstance(argument.type, MemRefType):
                parser.raise_error(f"expected buffers, got {argument.type}")
        op = cls(name, inputs, dims, parse_body(parser, arguments), tag=tag, annotations=annotations)
        op.attributes = attributes
        return op
