"""The parser of MLIR text of any landing."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import UnregisteredConstructException, VerifyException

from ..core.diagnostics import BYTE_ORDER_MARK, SourceFile, Span, did_you_mean
from ..core.errors import ParseError
from ..dialects import mlir_context
from ..module import Module

_NAME = re.compile(r'(?:%[^=\n]*=\s*)?"?([\w$.-]+)')
"""The results of an operation, and its name."""
_FEW = 8
"""The maximum number of operations of a dialect that the error of an unknown operation lists."""


def parse_mlir(text: str, filename: str = "<string>") -> Module:
    """Parses MLIR `text` into a module. Raises `ParseError` with the source location of the error; does not verify the
    module.

    Operations without a location in the text have the location of their text.
    """
    return Module(parse_module(mlir_context(), text, filename))


def parse_module(
    context: Context, text: str, filename: str, first_line: int = 1, implicit_module: bool = True
) -> ModuleOp:
    """Parses MLIR `text` like `parse_mlir` in a context.

    first_line: the line of the file where the text starts.  implicit_module: whether a text without a module is the
    contents of a module.
    """
    source = _SourceText(SourceFile(filename, text.removeprefix(BYTE_ORDER_MARK), first_line))
    position = 0
    try:
        parser = _LocatingParser(context, source)
        try:
            return parser.parse_module(implicit_module)
        finally:
            position = parser.pos
    except ParseError:
        raise
    except XdslParseError as error:
        source.fail(error.span.start, error.span.end, error.msg, error)
    except (VerifyException, UnregisteredConstructException) as error:  # of an attribute outside of operations
        source.fail(position, position, str(error), error)


class _SourceText:
    """A text whose offsets have lines and columns."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.text = file.text
        self._line_starts = [0, *(offset + 1 for offset, character in enumerate(file.text) if character == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def end_of_line(self, offset: int) -> int:
        """The offset of the end of a line."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def fail(self, start: int, end: int, message: str, cause: Exception | None = None) -> NoReturn:
        """Raises the `ParseError` of a range of the text."""
        raise Span(self.file, *self.position(start), *self.position(end)).error(message) from cause


class _LocatingParser(Parser):
    """A parser that gives operations the locations of their texts, and errors the place of their operations."""

    def __init__(self, context: Context, source: _SourceText) -> None:
        self._source = source
        self._file = StringAttr(source.file.name)
        super().__init__(context, source.text, source.file.name)

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        try:
            op = super().parse_operation()
        except VerifyException as error:
            message = f"{self._name_at(start)}: {error.__cause__ or error}"
            self._source.fail(start, self._source.end_of_line(start), message, error)
        if isinstance(op.location, UnknownLoc):
            line, column = self._source.position(start)
            line += self._source.file.first_line - 1
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _name_at(self, start: int) -> str:
        """The name of the operation whose text starts at an offset."""
        match = _NAME.match(self._source.text, start)
        return "operation" if match is None else match[1]

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op is not None:
            return op
        end = self._current_token.span.start
        start = self._source.text.rfind(name, 0, end)
        start, end = (start, start + len(name)) if start >= 0 else (end, end)
        near = self._names_near(name)
        hint = did_you_mean(name, near) or (f" (there are {', '.join(near)})" if 0 < len(near) <= _FEW else "")
        self._source.fail(start, end, f"unknown operation {name!r}{hint}")

    def _names_near(self, name: str) -> list[str]:
        """The names of the operations of the dialect of a name, or of the dialects with the most similar names."""
        dialect = name.partition(".")[0]
        known = set(self.ctx.registered_dialect_names)
        near = {dialect} & known or {each for each in known if did_you_mean(dialect, [each])}
        for each in near:
            if each not in {loaded.name for loaded in self.ctx.loaded_dialects}:
                self.ctx.load_registered_dialect(each)
        return sorted(op.name for op in self.ctx.loaded_ops if op.name.partition(".")[0] in near)
