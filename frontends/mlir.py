"""The parser of MLIR text of any landing."""

from __future__ import annotations

from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import UnregisteredConstructException, VerifyException
from xdsl.utils.lexer import Span as XdslSpan

from ..core.diagnostics import BYTE_ORDER_MARK, SourceFile, Span
from ..core.errors import ParseError
from ..dialects import mlir_context
from ..module import Module


def parse_mlir(text: str, filename: str = "<string>") -> Module:
    """Parses MLIR `text` into a module. Raises `ParseError` with the source location of the error; does not verify the
    module.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    where = 0
    try:
        parser = Parser(mlir_context(), text, filename)
        try:
            return Module(parser.parse_module())
        finally:
            where = parser.pos
    except ParseError:
        raise
    except XdslParseError as error:
        raise _at(error.span, text, filename).error(error.msg) from error
    except (VerifyException, UnregisteredConstructException) as error:
        raise _span(text, filename, where, where).error(str(error)) from error


def _at(span: XdslSpan[str] | XdslSpan[bytes], text: str, filename: str) -> Span:
    return _span(text, filename, span.start, span.end)


def _span(text: str, filename: str, start: int, end: int) -> Span:
    def position(offset: int) -> tuple[int, int]:
        before = text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    return Span(SourceFile(filename, text), *position(start), *position(end))
