"""Tensor types, axes and syntax shared by the ops of `te`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..tir.base import (
    DYNAMIC,
    Mixed,
    join_mixed,
    parse_discardable,
    parse_optional_dict,
    parse_range,
    parse_values,
    print_discardable,
    print_indices,
    print_optional_dict,
    print_range,
    print_typed,
)

COMPUTE_AXIS_KINDS = ("spatial", "reduce")


@dataclass(frozen=True)
class Axis:
    """An axis of a computed tensor: its name, kind (spatial or reduce), and domain `[low, low + extent)`."""

    name: str
    kind: str
    low: Mixed
    extent: Mixed
    type: Attribute


def mixed_tensor_type(element: Attribute, shape: Sequence[Mixed]) -> TensorType[Attribute]:
    """The tensor type of an element type and a shape; values in `shape` become `?`."""
    return TensorType(element, [d if isinstance(d, int) else DYNAMIC for d in shape])


def tensor_type_of(value: SSAValue) -> TensorType[Attribute]:
    """The type of `value` as a tensor type, which the constraints of the ops guarantee."""
    return cast("TensorType[Attribute]", value.type)


def mixed_shapes(tensors: Sequence[SSAValue], dims: Sequence[SSAValue]) -> list[list[Mixed]]:
    """The extents of each tensor. dims: the dynamic extents of all tensors, in order."""
    rest, shapes = list(dims), list[list[Mixed]]()
    for tensor in tensors:
        static = tensor_type_of(tensor).get_shape()
        count = static.count(DYNAMIC)
        shapes.append(join_mixed(DenseArrayBase.from_list(i64, static), rest[:count]))
        del rest[:count]
    return shapes


def print_axis(printer: Printer, axis: Axis, variable: SSAValue) -> None:
    """Prints `spatial "i" %i : i32 in [0 +: 8]`."""
    printer.print_string(f"{axis.kind} ")
    printer.print_string_literal(axis.name)
    printer.print_string(" ")
    print_typed(printer, variable)
    printer.print_string(" in ")
    print_range(printer, axis.low, axis.extent)


def parse_axis(parser: Parser) -> tuple[Axis, Parser.Argument]:
    kind, name = parser.parse_identifier(), parser.parse_str_literal()
    variable = parser.parse_argument()
    parser.parse_keyword("in")
    low, extent = parse_range(parser, variable.type)
    return Axis(name, kind, low, extent, variable.type), variable


def print_arguments(printer: Printer, block: Block) -> None:
    """Prints `(%a : f32, %b : f32)`."""
    printer.print_string("(")
    printer.print_list(block.args, printer.print_block_argument)
    printer.print_string(")")


def parse_arguments(parser: Parser) -> list[Parser.Argument]:
    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_argument)


def print_types(printer: Printer, types: Sequence[Attribute]) -> None:
    """Prints ` : tensor<8xf32>, tensor<8xi32>`."""
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


def parse_types(parser: Parser) -> list[Attribute]:
    parser.parse_punctuation(":")
    return parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)


def print_tag_and_annotations(
    printer: Printer, op: Operation, tag: StringAttr | None, annotations: DictionaryAttr | None
) -> None:
    """Prints ` tag "elemwise" annotations {...} attributes {...}`, without the missing parts."""
    if tag is not None:
        printer.print_string(" tag ")
        printer.print_string_literal(tag.data)
    print_optional_dict(printer, "annotations", annotations)
    print_discardable(printer, op)


def parse_tag_and_annotations(parser: Parser) -> tuple[str, DictionaryAttr | None, dict[str, Attribute]]:
    tag = parser.parse_str_literal() if parser.parse_optional_keyword("tag") else ""
    return tag, parse_optional_dict(parser, "annotations"), parse_discardable(parser)


def print_dims(printer: Printer, dims: Sequence[SSAValue]) -> None:
    """Prints the dynamic extents ` dims [%n, %m]`; prints nothing if `dims` is empty."""
    if dims:
        printer.print_string(" dims ")
        print_indices(printer, dims)


def parse_dims(parser: Parser) -> list[SSAValue]:
    return parse_values(parser) if parser.parse_optional_keyword("dims") else []


def only_block(region: Region) -> Block | None:
    """The single block of a region, or None for an empty region."""
    return region.blocks[0] if region.blocks else None
