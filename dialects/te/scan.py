"""Scans: tensors computed row by row, each row from earlier rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, StringAttr, TensorType
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
from xdsl.traits import Pure

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
from .compute import ComputeOp, YieldOp


@irdl_op_definition
class ScanOp(TirOp):
    """Tensors whose first axis is time: the first rows are the rows of `inits`, and the body yields each later row.

    The body runs for each later time in order. Its arguments are the time and the tensors, whose rows of earlier times
    it may read; each `te.compute` in the body is computed once per time. If the tensors have fewer rows than `inits`,
    they consist of the first rows of `inits`.

    op_name: the name of the operation, to which the loop over time belongs.  axis_name: the name of the loop over time.
    tag: the kind of operator.  annotations: of the loop.  inits: the first rows.  dims: the dynamic extents (`?`) of
    the types of the results, in order.

    Constraints
        (C1) equal numbers of results, inits and yielded values, one or more; the body ends in a te.yield without a
        condition.
        (C2) the body takes the time, an integer, and a tensor of the type of each result.
        (C3) one dim for each `?` in the types of the results, of the type of the time.
        (C4) results have a first axis, of the same extent; inits have the same number of rows, at least 1 and at most
        the extent.
        (C5) an init has the type of its result except for the first extent.
        (C6) the body yields distinct results of te.compute ops in the body, each of the type of a row.
        (C7) the body contains te.compute ops only.

    Example
        %S = te.scan "S" time "t" init %I : tensor<1x4xf32> (%t : i32, %s : tensor<8x4xf32>) {
          %U = te.compute "U" (spatial "i" %i : i32 in [0 +: 4]) : tensor<4xf32> {
            %one = arith.constant 1 : i32
            %before = arith.subi %t, %one : i32
            %0 = te.read %s[%before, %i] : tensor<8x4xf32>
            %1 = te.read %X[%t, %i] : tensor<8x4xf32>
            %2 = arith.addf %0, %1 : f32
            te.yield %2 : f32
          }
          te.yield %U : tensor<4xf32>
        }

    Source: `te.scan` (ScanOp)
    """

    name = "te.scan"

    op_name = prop_def(StringAttr)
    axis_name = prop_def(StringAttr)
    tag = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    inits = var_operand_def(TensorType)
    dims = var_operand_def(IntegerType)
    tensors = var_result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        name: str,
        axis_name: str,
        inits: Sequence[SSAValue],
        dims: Sequence[SSAValue],
        body: Region,
        *,
        tag: str = "",
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
    ):
        """body: takes the time and the tensors, whose types are the types of the results."""
        set_name_hint(body.block.args[0], axis_name)
        super().__init__(
            operands=[inits, dims],
            properties={
                "op_name": StringAttr(name),
                "axis_name": StringAttr(axis_name),
                "tag": StringAttr(tag) if tag else None,
                "annotations": annotations_attr(annotations),
            },
            result_types=[[argument.type for argument in body.block.args[1:]]],
            regions=[body],
        )
        for result in self.tensors:
            set_name_hint(result, name)

    @property
    def time(self) -> BlockArgument:
        """The block argument that denotes the index of the current row."""
        return self.body.block.args[0]

    @property
    def states(self) -> Sequence[BlockArgument]:
        """The block arguments of the body that denote the tensors."""
        return self.body.block.args[1:]

    @property
    def updates(self) -> Sequence[SSAValue]:
        """The rows that the body computes."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last.values

    @property
    def mixed_shapes(self) -> list[list[Mixed]]:
        """The extents of each result."""
        return mixed_shapes(self.tensors, self.dims)

    def verify_(self) -> None:
        last = self.body.block.last_op
        require(isinstance(last, YieldOp) and last.condition is None, "(C1) the body does not end in a plain te.yield")
        assert isinstance(last, YieldOp)
        count = len(self.tensors)
        require(count > 0, "(C1) no result")
        for what, values in (("inits", self.inits), ("yielded values", last.values)):
            require(len(values) == count, f"(C1) {len(values)} {what} for {count} results")
        taken, results = [arg.type for arg in self.body.block.args], [result.type for result in self.tensors]
        fits = bool(taken) and isinstance(taken[0], IntegerType) and taken[1:] == results
        require(fits, f"(C2) the body takes {', '.join(map(str, taken)) or 'nothing'}")
        self._verify_shapes()
        self._verify_body(last)

    def _verify_shapes(self) -> None:
        types = [tensor_type_of(result) for result in self.tensors]
        holes = sum(type.get_shape().count(DYNAMIC) for type in types)
        require(holes == len(self.dims), f"(C3) {len(self.dims)} dims for {holes} open extents")
        for dim in self.dims:
            require(dim.type == self.time.type, f"(C3) a dim of type {dim.type}, expected {self.time.type}")
        require(all(type.get_num_dims() for type in types), "(C4) a result without dimensions")
        ends = [shape[0] for shape in self.mixed_shapes]
        require(all(end == ends[0] for end in ends), "(C4) results have different extents of time")
        for init, type in zip(self.inits, types, strict=True):
            start, shape = tensor_type_of(init), list(type.get_shape())
            agrees = start == TensorType(type.element_type, [*start.get_shape()[:1], *shape[1:]])
            require(agrees and start.get_num_dims() > 0, f"(C5) an init of type {start} for a result of type {type}")
        rows = [tensor_type_of(init).get_shape()[0] for init in self.inits]
        require(all(n == rows[0] for n in rows), "(C4) inits have different numbers of rows")
        most = ends[0] if isinstance(ends[0], int) else rows[0]
        require(rows[0] == DYNAMIC or 1 <= rows[0] <= most, f"(C4) inits of {rows[0]} rows, expected 1 to {ends[0]}")

    def _verify_body(self, last: YieldOp) -> None:
        require(len(set(last.values)) == len(last.values), "(C6) a value is yielded twice")
        for value, result in zip(last.values, self.tensors, strict=True):
            type = tensor_type_of(result)
            row = TensorType(type.element_type, list(type.get_shape())[1:])
            require(value.type == row, f"(C6) the body yields {value.type}, expected {row}")
            inside = isinstance(value.owner, ComputeOp) and value.owner.parent is self.body.block
            require(inside, "(C6) the body yields what no te.compute in it gives")
        for op in self.body.block.ops:
            require(op is last or isinstance(op, ComputeOp), f"(C7) {op.name} in the body")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.op_name)
        printer.print_string(" time ")
        printer.print_string_literal(self.axis_name.data)
        printer.print_string(" init ")
        printer.print_list(self.inits, lambda init: print_typed(printer, init))
        print_dims(printer, self.dims)
        print_tag_and_annotations(printer, self, self.tag, self.annotations)
        printer.print_string(" ")
        print_arguments(printer, self.body.block)
        print_body(printer, self.body, terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        parser.parse_keyword("time")
        axis_name = parser.parse_str_literal()
        parser.parse_keyword("init")
        inits = parser.parse_comma_separated_list(Parser.Delimiter.NONE, lambda: parse_typed(parser))
        dims = parse_dims(parser)
        tag, annotations, attributes = parse_tag_and_annotations(parser)
        arguments = parse_arguments(parser)
        if not arguments:
            parser.raise_error("expected the time and the tensors")
        op = cls(name, axis_name, inits, dims, parse_body(parser, arguments), tag=tag, annotations=annotations)
        op.attributes = attributes
        return op
