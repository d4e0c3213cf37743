"""The types of handles, the base class of the primitives, and their common text form.

A primitive prints its operands and main properties in the order of its class's `SYNTAX`, then the other properties that
differ from their default, then the types of its results if their number is variable:

    %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
    %i_0, %i_1 = schedule.split %i, [?, 8]
    schedule.compute_at %B, %i_0 {preserve_unit_loops = true}
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, OptOperandDef, VarOperandDef, VarResultDef, irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect

from ..tir.base import Mixed, join_mixed, require, split_mixed

INFERRED = -1
"""The marker in a list of factors for the factor that is inferred from the others and the extent."""


@irdl_attr_definition
class BlockType(ParametrizedAttribute, TypeAttribute):
    """A handle of a block of the program: `!schedule.block`."""

    name = "schedule.block"


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A handle of a loop of the program: `!schedule.loop`."""

    name = "schedule.loop"


@irdl_attr_definition
class SizeType(ParametrizedAttribute, TypeAttribute):
    """A handle of a size of the program, which is known when the function is called: `!schedule.size`."""

    name = "schedule.size"


block, loop, size = BlockType(), LoopType(), SizeType()


@dataclass(frozen=True)
class BoundMap:
    """An affine map with a value for each of its symbols.

    values: values of a trace; when a primitive is applied, numbers and integer values of the program.
    """

    map: AffineMap
    values: tuple[Any, ...] = ()


_SEGMENTS = "operandSegmentSizes"


class ScheduleOp(IRDLOperation, ABC):
    """The base class of all ops in a trace.

    Its operands and properties have the names of the keyword arguments of the `Schedule` method of the same name.
    """

    SYNTAX: ClassVar[tuple[str, ...]] = ()
    """The fields to print first, in order; a mixed list of constants and values has the name of its property."""
    DEFAULTS: ClassVar[dict[str, Attribute]] = {}
    """The default values of properties, which are not printed."""
    RESULT: ClassVar[Attribute] = block
    """The type of the results."""
    MIXED: ClassVar[dict[str, str]] = {}
    """Mixed lists: the property with the constants, and the operands for its DYNAMIC elements."""
    EITHER: ClassVar[dict[str, str]] = {}
    """Arguments that are either a property or an operand of another name."""
    MAPS: ClassVar[tuple[str, ...]] = ()
    """Properties that may be affine maps, which are `BoundMap`s as arguments. The symbols of each of them are bound to
    the operands `parameters`, in order."""

    @classmethod
    def create_from(cls, results: Sequence[Attribute] = (), /, **arguments: Any) -> Self:
        """Build the op from operands and properties by name. Python values become attributes; None is omitted.

        results: the types of the results; required if their number is variable.
        """
        definition = cls.get_irdl_definition()
        operands: list[Any] = []
        properties: dict[str, Attribute | None] = {**cls.DEFAULTS}
        for static, dynamic in cls.MIXED.items():
            numbers, arguments[dynamic] = split_mixed(arguments[static])
            arguments[static] = numbers
        for static, dynamic in cls.EITHER.items():
            is_value = isinstance(arguments[static], SSAValue)
            arguments[dynamic] = arguments.pop(static) if is_value else None
        if cls.MAPS:
            arguments |= _split_maps({name: arguments.get(name) for name in cls.MAPS})
        for name, operand in definition.operands:
            value = arguments.pop(name)
            operands.append(list(value) if _is_list(operand) else value)
        for name in definition.properties:
            if (value := arguments.pop(name, None)) is not None:
                properties[name] = to_attribute(value)
        if arguments:
            raise TypeError(f"{cls.name} has no {', '.join(arguments)}")
        types: list[Any] = [list(results)] if _is_variadic(cls) else [cls.RESULT for _ in definition.results]
        return cls.build(operands=operands, properties=properties, result_types=types)

    @property
    def is_query(self) -> bool:
        """Whether the op only queries or samples, so that it is dead if its results are unused."""
        return self.has_trait(MemoryReadEffect)

    @property
    def is_variadic(self) -> bool:
        """Whether the number of results is variable."""
        return _is_variadic(type(self))

    def operands_of(self, name: str) -> list[SSAValue]:
        """The operands of a variadic operand by its name."""
        return list(getattr(self, name))

    def verify_maps(self, constraint: str) -> None:
        """Raises VerifyException, with the number of a constraint, unless each map has a symbol for each parameter."""
        count = len(self.operands_of("parameters"))
        for name in self.MAPS:
            if isinstance(attribute := self.properties.get(name), AffineMapAttr):
                symbols = attribute.data.num_symbols
                require(symbols == count, f"{constraint} {name} has {symbols} symbols for {count} parameters")

    def with_decision(self, decision: int | list[int]) -> Self:
        """Set the decision of a random choice; returns the op."""
        self.properties["decision"] = to_attribute(decision)
        return self

    def arguments(self) -> dict[str, Any]:
        """The operands and properties by name, as Python values: handles as SSA values, lists as lists."""
        definition = self.get_irdl_definition()
        arguments: dict[str, Any] = {}
        hidden = {*self.MIXED.values(), *self.EITHER.values(), *(["parameters"] if self.MAPS else [])}
        for name, operand in definition.operands:
            if name not in hidden:
                value = getattr(self, name)
                arguments[name] = list(value) if _is_list(operand) else value
        for name in definition.properties:
            if name == _SEGMENTS:
                continue
            if name in self.MIXED:
                numbers = cast("DenseArrayBase[IntegerType]", self.properties[name])
                arguments[name] = join_mixed(numbers, getattr(self, self.MIXED[name]))
            elif name in self.EITHER and name not in self.properties:
                arguments[name] = getattr(self, self.EITHER[name])
            elif name in self.MAPS and isinstance(attribute := self.properties.get(name), AffineMapAttr):
                arguments[name] = BoundMap(attribute.data, tuple(self.operands_of("parameters")))
            else:
                arguments[name] = to_python(self.properties.get(name))
        order = [*self.SYNTAX, *(n for n in arguments if n not in self.SYNTAX)]
        return {name: arguments[name] for name in order}

    # Text

    def print(self, printer: Printer) -> None:
        shown: set[str] = set()
        for i, name in enumerate(self.SYNTAX):
            printer.print_string(", " if i else " ")
            self._print_field(printer, name)
            shown |= {name}
        rest = {
            key: self.properties[key]
            for key in self.get_irdl_definition().properties
            if key in self.properties and key not in shown and key != _SEGMENTS
        }
        rest = {key: value for key, value in rest.items() if value != self.DEFAULTS.get(key)}
        printer.print_op_attributes({**self.attributes, **rest})
        if _is_variadic(type(self)) and self.results:
            printer.print_string(" : ")
            printer.print_list(self.result_types, printer.print_attribute)

    def _print_field(self, printer: Printer, name: str) -> None:
        definition = dict(self.get_irdl_definition().operands)
        if name in self.MIXED:
            values = self.arguments()[name]
            printer.print_string("[")
            printer.print_list(values, lambda v: _print_number(printer, v))
            printer.print_string("]")
        elif name in self.properties:
            _print_property(printer, self.properties[name])
            if self.MAPS[:1] == (name,) and (parameters := self.operands_of("parameters")):
                with printer.in_square_brackets():
                    printer.print_list(parameters, printer.print_ssa_value)
        elif _is_list(definition.get(name)):
            printer.print_string("[")
            printer.print_list(getattr(self, name), printer.print_ssa_value)
            printer.print_string("]")
        else:
            printer.print_ssa_value(getattr(self, self.EITHER.get(name, name)))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        definition = dict(cls.get_irdl_definition().operands)
        operands: dict[str, Any] = dict.fromkeys(cls.EITHER.values())
        properties: dict[str, Attribute] = dict(cls.DEFAULTS)
        for i, name in enumerate(cls.SYNTAX):
            if i:
                parser.parse_punctuation(",")
            if name in cls.MIXED:
                numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_number(parser))
                properties[name], operands[cls.MIXED[name]] = split_mixed(numbers)
            elif name in cls.EITHER and (number := parser.parse_optional_unresolved_operand()) is not None:
                operands[cls.EITHER[name]] = parser.resolve_operand(number, i64)
            elif name not in definition:
                properties[name] = parser.parse_attribute() if name in cls.EITHER else _parse_property(parser)
                if cls.MAPS[:1] == (name,):
                    operands["parameters"] = (
                        parser.parse_optional_comma_separated_list(
                            parser.Delimiter.SQUARE, lambda: _parse_handle(parser)
                        )
                        or []
                    )
            elif _is_list(definition[name]):
                operands[name] = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: _parse_handle(parser)
                )
            else:
                operands[name] = _parse_handle(parser)
        attributes = parser.parse_optional_attr_dict()
        known = cls.get_irdl_definition().properties
        properties |= {key: value for key, value in attributes.items() if key in known}
        types: list[Any] = [cls.RESULT for _ in cls.get_irdl_definition().results]
        if _is_variadic(cls):
            has_results = parser.parse_optional_punctuation(":") is not None
            types = [parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type) if has_results else []]
        return cls.build(
            operands=[operands[name] for name in definition],
            properties=properties,
            attributes={key: value for key, value in attributes.items() if key not in known},
            result_types=types,
        )


def _split_maps(maps: dict[str, Any]) -> dict[str, Any]:
    """The affine maps among some arguments as attributes, and the values of their symbols as `parameters`."""
    bound = [value for value in maps.values() if isinstance(value, BoundMap)]
    attributes = {name: AffineMapAttr(v.map) if isinstance(v, BoundMap) else v for name, v in maps.items()}
    return attributes | {"parameters": bound[0].values if bound else ()}


def _parse_handle(parser: Parser) -> SSAValue:
    """Parse a handle of the type of its definition, which precedes it."""
    operand = parser.parse_unresolved_operand()
    known = parser.ssa_values.get(operand.operand_name, ())
    return parser.resolve_operand(operand, known[operand.index].type if operand.index < len(known) else block)


def _is_list(operand: Any) -> bool:
    """Whether an operand is variadic; an optional operand is not."""
    return isinstance(operand, VarOperandDef) and not isinstance(operand, OptOperandDef)


def _is_variadic(cls: type[ScheduleOp]) -> bool:
    return any(isinstance(d, VarResultDef) for _, d in cls.get_irdl_definition().results)


def _print_number(printer: Printer, value: Mixed) -> None:
    if isinstance(value, int):
        printer.print_string("?" if value == INFERRED else str(value))
    else:
        printer.print_ssa_value(value)


def _parse_number(parser: Parser) -> Mixed:
    if parser.parse_optional_punctuation("?"):
        return INFERRED
    number = parser.parse_optional_integer(allow_boolean=False)
    return parser.resolve_operand(parser.parse_unresolved_operand(), i64) if number is None else number


def _print_property(printer: Printer, attribute: Attribute) -> None:
    """Print numbers and lists of numbers without their type, which is i64 or f64."""
    match attribute:
        case IntegerAttr() if attribute.type == i64:
            printer.print_string(str(attribute.value.data))
        case DenseArrayBase() | ArrayAttr():
            printer.print_string(str(to_python(attribute)))
        case _:
            printer.print_attribute(attribute)


def _parse_property(parser: Parser) -> Attribute:
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    if numbers is None:
        numbers = parser.parse_optional_number()
    return parser.parse_attribute() if numbers is None else to_attribute(numbers)


# Python values and attributes

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""The value of an argument that is not a handle."""


def to_attribute(value: Any) -> Attribute:
    """The attribute of a Python value: numbers become i64 or f64, lists of integers dense arrays; else TypeError."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            if all(isinstance(v, int) and not isinstance(v, bool) for v in items):
                return DenseArrayBase.from_list(i64, items)
            return ArrayAttr([to_attribute(v) for v in items])
        case _:
            raise TypeError(f"expected a number, a string or a list of them, got {value!r}")


def to_python(attribute: Attribute | None) -> Any:
    """The Python value from which an attribute was built; the attribute itself if there is none."""
    match attribute:
        case None:
            return None
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if attribute.type == IntegerType(1) else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case ArrayAttr():
            return [to_python(a) for a in cast("Iterable[Attribute]", attribute.data)]
        case _:
            return attribute
