"""MLIR text, of any landing, into a `Module`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_upstream_dialects
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import UnregisteredConstructException, VerifyException
from xdsl.utils.lexer import Span as XdslSpan

from ..core.diagnostics import SourceFile, Span
from ..core.errors import ParseError
from ..dialects import get_all_dialects
from ..module import Module


def mlir_context() -> Context:
    """A context that knows the dialects of xDSL and ours; each is loaded when it is first used."""
    context = Context()
    for name, load in {**get_upstream_dialects(), **get_all_dialects()}.items():
        context.register_dialect(name, load)
    return context


def parse_mlir(text: str, filename: str = "<string>") -> Module:
    """The module that MLIR `text` says. Raises `ParseError` at the place that is wrong; does not verify."""
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
