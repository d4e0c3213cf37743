"""Computed tensors: a scalar expression for each element, optionally reduced over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from ...core.xdsl_compat import set_name_hint
from ..tir.base import (
    Mixed,
    TirOp,
    annotations_attr,
    join_mixed,
    parse_body,
    print_body,
    print_quoted,
    require,
    split_mixed,
    string_array,
    verify_mixed,
)
from ..tir.directives import TypedValues
from .base import (
    COMPUTE_AXIS_KINDS,
    Axis,
    mixed_tensor_type,
    only_block,
    parse_arguments,
    parse_axis,
    parse_tag_and_annotations,
    parse_types,
    print_arguments,
    print_axis,
    print_tag_and_annotations,
    print_types,
    tensor_type_of,
)


@irdl_op_definition
class YieldOp(TirOp):
    """Yields the values of a region, one for each computed tensor.

    condition: in the body of a reduction, whether the reduction includes the current point of the reduction axes.

    Example
        te.yield %x : f32
        te.yield %x : f32, %i : i32 where %c
    """

    name = "te.yield"

    values = var_operand_def()
    condition = opt_operand_def(IntegerType(1))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator(), Pure())
    custom_directives = (TypedValues,)
    assembly_format = "custom<TypedValues>($values, type($values)) (`where` $condition^)? attr-dict-with-keyword"

    def __init__(self, values: Sequence[SSAValue], condition: SSAValue | None = None):
        super().__init__(operands=[values, condition])


@irdl_op_definition
class ComputeOp(TirOp):
    """Tensors of one shape, defined element by element.

    Without reduction axes, an element is the value that the body yields for its indices, the spatial axes. With
    reduction axes, `combine` reduces the values that `init` yields and the values that the body yields at each point of
    the reduction axes where its condition holds, in any order: `combine` is associative and commutative.

    op_name: the name of the block that computes the tensors; several results are named `op_name.v0`, ...
    tag: the kind of operator.  annotations: of the block.
    combine: reduces two tuples of values to one; its arguments are the left values, then the right values.
    init: yields the initial values of a reduction; its arguments are the spatial axes.

    Constraints
        (C1) one name, kind, domain and argument for each axis; arguments are integers, dynamic bounds have their type.
        (C2) kinds are spatial or reduce, spatial axes first, and spatial axes start at 0.
        (C3) combine and init are present exactly if the op has reduction axes.
        (C4) body, combine and init yield one value for each result, of its element type; only the body of a reduction
        may have a condition.
        (C5) results have the extents of the spatial axes.
        (C6) combine takes the values of two elements; init takes the spatial axes.

    Example
        %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8], reduce "k" %k : i32 in [0 +: 4]) : tensor<8xf32> {
          %0 = te.read %A[%i, %k] : tensor<8x4xf32>
          te.yield %0 : f32
        } combine (%x : f32, %y : f32) {
          %1 = arith.addf %x, %y : f32
          te.yield %1 : f32
        } init (%j : i32) {
          %2 = arith.constant 0.000000e+00 : f32
          te.yield %2 : f32
        }

    Source: `te.compute`, `te.sum`, `te.comm_reducer` (ComputeOp, Reduce, CommReducer)
    """

    name = "te.compute"

    op_name = prop_def(StringAttr)
    tag = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    axis_names = prop_def(ArrayAttr[StringAttr])
    axis_kinds = prop_def(ArrayAttr[StringAttr])
    static_domains = prop_def(Attribute)  # min and extent of each axis in turn
    domains = var_operand_def(IntegerType)
    tensors = var_result_def(TensorType)
    body = region_def("single_block")
    combine = region_def()
    init = region_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        name: str,
        axes: Sequence[Axis],
        elements: Sequence[Attribute],
        *,
        body: Region | None = None,
        combine: Region | None = None,
        init: Region | None = None,
        tag: str = "",
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
    ):
        static, domains = split_mixed(n for a in axes for n in (a.low, a.extent))
        if body is None:
            body = Region(Block(arg_types=[a.type for a in axes]))
        for axis, variable in zip(axes, body.block.args, strict=True):
            set_name_hint(variable, axis.name)
        shape = [a.extent for a in axes if a.kind == "spatial"]
        super().__init__(
            operands=[domains],
            properties={
                "op_name": StringAttr(name),
                "tag": StringAttr(tag) if tag else None,
                "annotations": annotations_attr(annotations),
                "axis_names": string_array(a.name for a in axes),
                "axis_kinds": string_array(a.kind for a in axes),
                "static_domains": static,
            },
            result_types=[[mixed_tensor_type(element, shape) for element in elements]],
            regions=[body, combine or Region(), init or Region()],
        )
        for result in self.tensors:
            set_name_hint(result, name)

    @property
    def axes(self) -> list[Axis]:
        bounds = iter(join_mixed(self.static_domains, self.domains))  # pyright: ignore[reportArgumentType]
        return [
            Axis(n.data, k.data, next(bounds), next(bounds), variable.type)
            for n, k, variable in zip(self.axis_names.data, self.axis_kinds.data, self.variables, strict=True)
        ]

    @property
    def variables(self) -> Sequence[BlockArgument]:
        """The block arguments of the body that denote the axes."""
        return self.body.block.args

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return sum(kind.data == "spatial" for kind in self.axis_kinds.data)

    @property
    def mixed_shape(self) -> list[Mixed]:
        """The extents of the results."""
        return [axis.extent for axis in self.axes if axis.kind == "spatial"]

    @property
    def is_reduction(self) -> bool:
        return self.rank < len(self.variables)

    def verify_(self) -> None:
        count = len(self.variables)
        for what, n in (
            ("names", len(self.axis_names.data)),
            ("kinds", len(self.axis_kinds.data)),
            ("domain bounds", len(self.static_domains) // 2),  # pyright: ignore[reportArgumentType]
        ):
            require(n == count, f"(C1) {n} {what} for {count} axes")
        verify_mixed("(C1) domains", self.static_domains, self.domains)  # pyright: ignore[reportArgumentType]
        for axis in self.axes:
            require(isinstance(axis.type, IntegerType), f"(C1) axis {axis.name} of type {axis.type}")
            for bound in (axis.low, axis.extent):
                require(
                    isinstance(bound, int) or bound.type == axis.type,
                    f"(C1) a bound of axis {axis.name} has another type than the axis, {axis.type}",
                )
        self._verify_kinds()
        self._verify_regions()

    def _verify_kinds(self) -> None:
        kinds = [kind.data for kind in self.axis_kinds.data]
        require(
            all(kind in COMPUTE_AXIS_KINDS for kind in kinds),
            f"(C2) kinds {kinds}, expected {' or '.join(COMPUTE_AXIS_KINDS)}",
        )
        require(kinds == sorted(kinds, key=COMPUTE_AXIS_KINDS.index), "(C2) a spatial axis behind a reduction axis")
        for axis in self.axes:
            require(axis.kind == "reduce" or axis.low == 0, f"(C2) spatial axis {axis.name} starts at {axis.low}")

    def _verify_regions(self) -> None:
        elements = [tensor_type_of(result).element_type for result in self.tensors]
        require(len(elements) > 0, "(C4) no result")
        for what, region, arguments in (
            ("body", self.body, None),
            ("combine", self.combine, [*elements, *elements]),
            ("init", self.init, [variable.type for variable in self.variables[: self.rank]]),
        ):
            block = only_block(region)
            if what != "body":
                require((block is not None) == self.is_reduction, f"(C3) {what} of what is a reduction or not")
            if block is None:
                continue
            last = block.last_op
            require(isinstance(last, YieldOp), f"(C4) {what} does not end in te.yield")
            assert isinstance(last, YieldOp)
            got = [value.type for value in last.values]
            require(got == elements, f"(C4) {what} yields {_list(got)}, expected {_list(elements)}")
            allowed = what == "body" and self.is_reduction
            require(last.condition is None or allowed, f"(C4) a condition in {what}")
            taken = [argument.type for argument in block.args]
            require(arguments is None or taken == arguments, f"(C6) {what} takes {_list(taken)}")
        for result in self.tensors:
            type = tensor_type_of(result)
            require(type == mixed_tensor_type(type.element_type, self.mixed_shape), f"(C5) result of type {type}")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.op_name)
        printer.print_string(" (")
        pairs = zip(self.axes, self.variables, strict=True)
        printer.print_list(pairs, lambda pair: print_axis(printer, *pair))
        printer.print_string(")")
        print_tag_and_annotations(printer, self, self.tag, self.annotations)
        print_types(printer, [result.type for result in self.tensors])
        print_body(printer, self.body, terminators=True)
        for keyword, region in (("combine", self.combine), ("init", self.init)):
            block = only_block(region)
            if block is not None:
                printer.print_string(f" {keyword} ")
                print_arguments(printer, block)
                print_body(printer, region, terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        axes = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parse_axis(parser))
        tag, annotations, attributes = parse_tag_and_annotations(parser)
        types = parse_types(parser)
        body = parse_body(parser, [variable for _, variable in axes])
        regions: dict[str, Region] = {}
        for keyword in ("combine", "init"):
            if parser.parse_optional_keyword(keyword):
                regions[keyword] = parse_body(parser, parse_arguments(parser))
        elements = [type.element_type for type in types if isinstance(type, TensorType)]
        op = cls(name, [axis for axis, _ in axes], elements, body=body, tag=tag, annotations=annotations, **regions)
        if [result.type for result in op.tensors] != types:
            parser.raise_error(f"results of type {_list(types)}, expected the extents of the spatial axes")
        op.attributes = attributes
        return op


def _list(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"
