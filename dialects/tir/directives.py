"""Directives of format strings: the syntax that several ops share and that xDSL's own directives lack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ContainerType, DenseArrayBase, DictionaryAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OperandVariable,
    ParsingState,
    PrintingState,
    RegionVariable,
    ResultVariable,
    TypeDirective,
    VariadicOperandVariable,
    VariadicResultVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from .base import (
    Mixed,
    TypedOperand,
    indexed_type,
    join_mixed,
    parse_body,
    parse_mixed_operand,
    parse_typed_operand,
    print_body,
    print_index,
    print_indices,
    print_typed,
    split_mixed,
)

# Types that are not part of the text


def _parsed_types(directive: TypeDirective, state: ParsingState) -> Sequence[Attribute]:
    """The types of a variable whose types were parsed before."""
    variable = cast("OperandVariable | ResultVariable", directive.inner)
    is_result = isinstance(variable, ResultVariable | VariadicResultVariable)
    types = (state.result_types if is_result else state.operand_types)[variable.index]
    assert types is not None
    return types


class _InferredType(CustomDirective):
    """Base class of directives without text, which infer a type from types before them."""

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        pass


@irdl_custom_directive
class SameType(_InferredType):
    """The type of another variable."""

    type: TypeDirective
    other: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        del parser  # nothing of the text belongs to the directive
        self.type.set(state, _parsed_types(self.other, state))


@irdl_custom_directive
class ElementType(_InferredType):
    """The element type of a vector or tensor."""

    type: TypeDirective
    container: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        (container,) = _parsed_types(self.container, state)
        if not isinstance(container, ContainerType):
            parser.raise_error(f"expected a vector or tensor type, got {container}")
        self.type.set(state, [cast("ContainerType[Attribute]", container).get_element_type()])


@irdl_custom_directive
class AccessType(_InferredType):
    """The type of an access to a buffer at indices: the element type, or a vector if an index is a vector."""

    type: TypeDirective
    buffer: TypeDirective
    indices: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        del parser  # nothing of the text belongs to the directive
        (buffer,) = _parsed_types(self.buffer, state)
        self.type.set(state, [indexed_type(buffer, _parsed_types(self.indices, state))])


# Operands


@irdl_custom_directive
class Index(CustomDirective):
    """An index with its type unless it is i32: `%i`, `%n : i64`."""

    value: OperandVariable
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        operand, type = parse_typed_operand(parser)
        self.value.set(state, operand)
        self.type.set(state, [type])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_index(printer, self.value.get(op))


def _set(
    values: VariadicOperandVariable, types: TypeDirective, state: ParsingState, operands: Sequence[TypedOperand]
) -> None:
    values.set(state, [operand for operand, _ in operands])
    types.set(state, [type for _, type in operands])


class _Operands(CustomDirective):
    """Base class of directives for variadic operands, which may be the anchor of an optional group."""

    values: VariadicOperandVariable
    types: TypeDirective

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        return self.values.is_present(op)

    def set_empty(self, state: ParsingState) -> None:
        _set(self.values, self.types, state, [])


@irdl_custom_directive
class Indices(_Operands):
    """Indices in brackets: `[%i, %n : i64]`."""

    values: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        operands = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parse_typed_operand(parser))
        _set(self.values, self.types, state, operands)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_indices(printer, self.values.get(op))


@irdl_custom_directive
class TypedValues(_Operands):
    """Values with their types: `%x : f32, %n : i32`."""

    values: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        operands: list[TypedOperand] = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            parser.parse_punctuation(":")
            operands.append((operand, parser.parse_type()))
            if parser.parse_optional_punctuation(",") is None:
                break
        _set(self.values, self.types, state, operands)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if self.is_present(op):
            state.print_whitespace(printer)
            printer.print_list(self.values.get(op), lambda value: print_typed(printer, value))


@irdl_custom_directive
class MixedIndices(CustomDirective):
    """Numbers and indices in brackets: `[8, %n]`."""

    static: AttributeVariable
    values: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        indices = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parse_mixed_operand(parser))
        static, operands = split_mixed(indices)
        self.static.set(state, static)
        _set(self.values, self.types, state, operands)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_indices(printer, _mixed_values(self.static, self.values, op))


def _mixed_values(static: AttributeVariable, values: VariadicOperandVariable, op: IRDLOperation) -> list[Mixed]:
    return join_mixed(cast("DenseArrayBase[IntegerType]", static.get(op)), values.get(op))


@irdl_custom_directive
class Box(CustomDirective):
    """A region of a buffer by minimum and extent per dimension: `[%i, %j +: 3]`."""

    static_mins: AttributeVariable
    mins: VariadicOperandVariable
    min_types: TypeDirective
    static_extents: AttributeVariable
    extents: VariadicOperandVariable
    extent_types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        dims = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_dim(parser))
        static, mins = split_mixed(low for low, _ in dims)
        self.static_mins.set(state, static)
        _set(self.mins, self.min_types, state, mins)
        static, extents = split_mixed(extent for _, extent in dims)
        self.static_extents.set(state, static)
        _set(self.extents, self.extent_types, state, extents)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        mins = _mixed_values(self.static_mins, self.mins, op)
        extents = _mixed_values(self.static_extents, self.extents, op)
        state.print_whitespace(printer)
        with printer.in_square_brackets():
            printer.print_list(zip(mins, extents, strict=True), lambda dim: _print_dim(printer, *dim))


def _parse_dim(parser: Parser) -> tuple[int | TypedOperand, int | TypedOperand]:
    low = parse_mixed_operand(parser)
    if parser.parse_optional_punctuation("+") is None:
        return low, 1
    parser.parse_punctuation(":")
    return low, parse_mixed_operand(parser)


def _print_dim(printer: Printer, low: Mixed, extent: Mixed) -> None:
    print_index(printer, low)
    if extent != 1:
        printer.print_string(" +: ")
        print_index(printer, extent)


# Attributes


@irdl_custom_directive
class Keyword(CustomDirective):
    """A string without quotes: `stack`."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, StringAttr(parser.parse_identifier()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(cast(StringAttr, self.value.get(op)).data)

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.is_present(op)


@irdl_custom_directive
class Dictionary(CustomDirective):
    """A dictionary: `{a = 1}`. As the anchor of an optional group, an empty dictionary is not printed."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, DictionaryAttr(parser.parse_optional_dictionary_attr_dict()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.value.print(printer, state, op)

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        value = self.value.get(op)
        return isinstance(value, DictionaryAttr) and bool(value.data)


# Regions


def _print_body(printer: Printer, state: PrintingState, region: Region, *, terminators: bool) -> None:
    print_body(printer, region, terminators=terminators)
    state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Body(CustomDirective):
    """A block of statements without arguments. As the anchor of an optional group, an empty block is not printed."""

    region: RegionVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.region.set(state, parse_body(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_body(printer, state, self.region.get(op), terminators=False)

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        return bool(self.region.get(op).block.ops)

    def set_empty(self, state: ParsingState) -> None:
        self.region.set(state, Region(Block()))


@irdl_custom_directive
class YieldingBody(CustomDirective):
    """A block of statements without arguments that ends in a terminator."""

    region: RegionVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.region.set(state, parse_body(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_body(printer, state, self.region.get(op), terminators=True)
