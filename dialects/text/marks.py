"""Programs with underlined lines, for error messages about parts of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.printer import Printer

from ...core.errors import UnsupportedError
from ..tir import BlockOp, FuncOp
from ..tir.tree import is_expression_op
from .functions import MODULE_NAME, function_lines
from .lines import INDENTATION, Line, Printed
from .names import Callees, legal_name
from .styles import Style, style_named


def print_marked(
    op: Operation,
    marks: Mapping[Any, str] | Sequence[Printed],
    *,
    style: str = "classic",
    context: int | None = None,
) -> str:
    """The TVMScript of the function that contains `op` (of the module, if `op` is a module), with underlined marks.

    marks: statements, block axes and loop variables (block arguments), `tir.access` ops or expressions, each with the
    text after its underline, if any. For an expression without a line of its own, the statement that uses it is
    underlined; for another op without a line, the enclosing statement.  context: the number of lines to keep before and
    after each marked line, besides the headers of the enclosing statements; other lines are elided as `...`. None, or
    no mark, keeps all lines.

    A program without a form in TVMScript is printed as MLIR. OptionError for an unknown style.

        for i in range(128):
        ^^^^^^^^^^^^^^^^^^^^ this loop
            for j, k in T.grid(128, 128):
    """
    labels = _labels_by_source(marks if isinstance(marks, Mapping) else dict.fromkeys(marks, ""))
    try:
        lines = _script(op, style_named(style), labels)
    except UnsupportedError:
        lines = _mlir(op)
    underlines = _underlines(lines, labels)
    kept = range(len(lines)) if context is None or not underlines else _select_lines(lines, underlines, context)
    return "\n".join(_text(lines, underlines, set(kept)))


def _labels_by_source(marks: Mapping[Printed, str]) -> dict[Printed, str]:
    """The labels of the marks by the op to underline, or by the block argument of a block axis."""
    labels: dict[Printed, str] = {}
    for marked, text in marks.items():
        owner = marked if isinstance(marked, Operation) else marked.owner
        if isinstance(marked, BlockArgument):
            parent = marked.block.parent_op()
            owner = marked if parent is None or isinstance(parent, BlockOp) else parent
        source = owner if isinstance(owner, Operation) else marked
        labels[source] = "\n".join(filter(None, (labels.get(source), text)))
    return labels


# Lines


def _script(op: Operation, style: Style, separate: Mapping[Printed, str]) -> list[Line]:
    """The lines of the TVMScript, without the header. UnsupportedError for a program without a form in TVMScript."""
    root: Operation | None = op
    while root is not None and not isinstance(root, FuncOp | ModuleOp):
        root = root.parent_op()
    if isinstance(root, FuncOp):
        callees = Callees(style.module or MODULE_NAME)
        return function_lines(root, style, callees, (MODULE_NAME,), separate=separate)
    if root is None:
        raise UnsupportedError("no function around it")
    name = legal_name(root.sym_name.data) if root.sym_name is not None else MODULE_NAME
    functions = [function for function in root.body.block.ops if isinstance(function, FuncOp)]
    if len(functions) != len(root.body.block.ops):
        raise UnsupportedError("something else than functions in the module")
    callees = Callees(style.module or name, [function.sym_name.data for function in functions])
    lines = [Line("@I.ir_module", 0), Line(f"class {name}:", 0, [(root, 0, len(f"class {name}:"))])]
    for i, function in enumerate(functions):
        lines += [Line("", 0)] if i else []
        lines += function_lines(function, style, callees, (name,), 1, separate)
    return lines if functions else [*lines, Line("pass", 1)]


class _PositionPrinter(Printer):
    """Prints MLIR into `text`, and records the start position of each op."""

    def __init__(self) -> None:
        self.text = StringIO()
        self.starts: dict[Operation, int] = {}
        super().__init__(self.text, indent_num_spaces=len(INDENTATION))

    def print_op(self, op: Operation) -> None:
        self.starts[op] = self.text.tell()
        super().print_op(op)


def _mlir(op: Operation) -> list[Line]:
    root = op
    while (parent := root.parent_op()) is not None and not isinstance(root, FuncOp):
        root = parent
    printer = _PositionPrinter()
    printer.print_op(root)
    text = printer.text.getvalue()
    lines: list[Line] = []
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        lines.append(Line(stripped, (len(line) - len(stripped)) // len(INDENTATION)))
    for printed, start in printer.starts.items():
        line = lines[text.count("\n", 0, start)]
        line.sources.append((printed, 0, len(line.text)))
    return lines


# Underlines


def _underlines(lines: Sequence[Line], labels: Mapping[Printed, str]) -> dict[int, list[str]]:
    """The underlines and labels to print below each marked line, by line index."""
    ranges: dict[Printed, tuple[int, int, int]] = {}
    for number, line in enumerate(lines):
        for source, start, end in line.sources:
            ranges.setdefault(source, (number, start, end))
    marked: dict[tuple[int, int, int], list[str]] = {}
    for source, text in labels.items():
        location = next((ranges[s] for s in _substitutes(source) if s in ranges), None)
        if location is None:
            continue
        marked.setdefault(location, []).extend(text.split("\n") if text else ())
    underlines: dict[int, list[str]] = {}
    for (number, start, end), texts in sorted(marked.items()):
        margin = INDENTATION * lines[number].indent + " " * start
        first, *others = texts or [""]
        below = underlines.setdefault(number, [])
        below.append(f"{margin}{'^' * (end - start)} {first}".rstrip())
        below += [f"{margin}{' ' * (end - start)} {text}" for text in others]
    return underlines


def _substitutes(source: Printed) -> Iterator[Printed]:
    """`source`, then the ops and values to underline if it has no line of its own, nearest first: users of an
    expression, enclosing ops."""
    cursor: Operation | None = source if isinstance(source, Operation) else source.owner.parent_op()
    yield source
    while cursor is not None:
        yield cursor
        yield from cursor.results
        use = cursor.results[0].first_use if is_expression_op(cursor) else None
        cursor = cursor.parent_op() if use is None else use.operation


# Elision


def _select_lines(lines: Sequence[Line], marked: Iterable[int], context: int) -> Iterator[int]:
    """The indices of the lines to keep: lines near marked lines, and the headers of the enclosing statements."""
    for number in marked:
        yield from range(max(0, number - context), min(len(lines), number + context + 1))
        indent = lines[number].indent + 1
        for above in range(number, -1, -1):
            if lines[above].text and lines[above].indent < indent:
                indent = lines[above].indent
                yield above


def _text(lines: Sequence[Line], underlines: Mapping[int, Sequence[str]], kept: set[int]) -> Iterator[str]:
    elided: list[Line] = []
    for number, line in enumerate(lines):
        if number not in kept:
            elided.append(line)
            continue
        yield from _elision(elided)
        elided = []
        yield str(line)
        yield from underlines.get(number, ())
    yield from _elision(elided)


def _elision(lines: Sequence[Line]) -> Iterator[str]:
    """The replacement of elided lines: `...`, or the line itself if it is the only line."""
    if len(lines) > 1:
        yield f"{INDENTATION * min((line.indent for line in lines if line.text), default=0)}..."
    else:
        yield from map(str, lines)
