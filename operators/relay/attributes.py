"""Values of operator attributes: in Python, as attributes of ops, and as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, NoneAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

if TYPE_CHECKING:
    from collections.abc import Callable

_SPECIAL = {"inf": math.inf, "neg_inf": -math.inf, "nan": math.nan}
"""Keywords for the floats without a literal."""


def as_attribute(value: Any) -> Attribute:
    """The MLIR attribute of a Python value: 64-bit integers, 64-bit floats, arrays for sequences."""
    match value:
        case None:
            return NoneAttr()
        case bool():
            return IntegerAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            return ArrayAttr([as_attribute(each) for each in value])


def as_python(attribute: Attribute) -> Any:
    """The Python value of an MLIR attribute. VerifyException for an unsupported kind of attribute."""
    match attribute:
        case NoneAttr():
            return None
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if attribute.type == i1 else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return tuple(as_python(each) for each in attribute.data)
        case _:
            raise VerifyException(f"{attribute} is no value of an attribute")


def print_attribute_value(printer: Printer, value: Any) -> None:
    """Prints a value: `true`, `3`, `0.5`, `"NCHW"`, `[1, 1]`."""
    match value:
        case None:
            printer.print_string("none")
        case bool():
            printer.print_string("true" if value else "false")
        case str():
            printer.print_string_literal(value)
        case float() if not math.isfinite(value):
            printer.print_string(next(name for name, number in _SPECIAL.items() if repr(number) == repr(value)))
        case int() | float():
            printer.print_string(_digits(value))
        case _:
            with printer.in_square_brackets():
                printer.print_list(value, lambda each: print_attribute_value(printer, each))


def _digits(value: float) -> str:
    """The text of a number that parses as the same number: MLIR's floats need a point, which `1e-05` lacks."""
    text = repr(value)
    return text if isinstance(value, int) or "." in text else text.replace("e", ".0e")


def parse_attribute_value(parser: AttrParser) -> Any:
    """Parses a value in the syntax of `print_attribute_value`."""
    if parser.parse_optional_keyword("none"):
        return None
    for parse in _parsers(parser):
        if (value := parse()) is not None:
            return value
    items = parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parse_attribute_value(parser))
    if items is None:
        parser.raise_error("expected a bool, a number, a string or a list of them")
    return tuple(items)


def _parsers(parser: AttrParser) -> list[Callable[[], Any]]:
    special = [lambda name=name: _SPECIAL[name] if parser.parse_optional_keyword(name) else None for name in _SPECIAL]
    return [parser.parse_optional_boolean, parser.parse_optional_number, parser.parse_optional_str_literal, *special]
