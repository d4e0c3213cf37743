"""Assembly formats of operations, which are read when an operation of the kind is first parsed or printed.

xDSL 0.74.0 reads the format of each kind of operation with the class: some 200 formats when its dialects are imported,
of which a program uses few. This module must be imported before the dialects.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.irdl import IRDLOperation, OpDef, operations
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_accessors = operations.get_accessors_from_op_def


def _accessors_with_lazy_format(op_def: OpDef, custom_verify: Any | None) -> dict[str, Any]:
    """The attributes of the class of a kind of operation, with `parse` and `print` that read its format."""
    text = op_def.assembly_format
    if text is None:
        return _accessors(op_def, custom_verify)
    op_def.assembly_format = None
    try:
        attributes = _accessors(op_def, custom_verify)
    finally:
        op_def.assembly_format = text

    @cache
    def program() -> FormatProgram:
        # lazy: the time of a start
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        try:
            return FormatProgram.from_str(text, op_def)
        except ParseError as error:
            raise PyRDLOpDefinitionError(
                f"Error during the parsing of the assembly format of {op_def.name}: ", error.args
            )

    def parse_with_format(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
        return program().parse(parser, cls)

    def print_with_format(self: IRDLOperation, printer: Printer) -> None:
        program().print(printer, self)

    return {**attributes, "parse": classmethod(parse_with_format), "print": print_with_format}


operations.get_accessors_from_op_def = _accessors_with_lazy_format
