"""Programs with lines of them underlined: how messages show what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.printer import Printer

from ...core.errors import UnsupportedError
from ..tir import BlockOp, FuncOp
from .functions import MODULE_NAME, function_lines
from .lines import INDENTATION, Line, Printed
from .names import Callees, legal_name
from .placement import is_expression
from .styles import Style, style_named


def print_marked(
    op: Operation,
    marks: Mapping[Any, str] | Sequence[Printed],
    *,
    style: str = "classic",
    context: int | None = None,
) -> str:
    """The function that holds `op` (the module, if `op` is one) as TVMScript, what is marked underlined.

    marks: statements, block axes and loop variables (block arguments), `tir.access` ops or expressions, each with the
    text behind its underline, if any. An expression that has no line is shown by the statement that it is computed for,
    and anything else without a line by what is around it.  context: how many lines are kept in front of and behind each
    marked line; of the others only the headers around these, the rest is `...`. None, or no mark, keeps all.

    What has no form in TVMScript is printed as MLIR. OptionError for an unknown style.

        for i in range(128):
        ^^^^^^^^^^^^^^^^^^^^ this loop
            for j, k in T.grid(128, 128):
    """
    said = _by_source(marks if isinstance(marks, Mapping) else dict.fromkeys(marks, ""))
    try:
        lines = _script(op, style_named(style), said)
    except UnsupportedError:
        lines = _mlir(op)
    underlines = _underlines(lines, said)
    kept = range(len(lines)) if context is None or not underlines else _kept(lines, underlines, context)
    return "\n".join(_text(lines, underlines, set(kept)))


def _by_source(marks: Mapping[Printed, str]) -> dict[Printed, str]:
    """The marks, each at what a line prints: only axes are values of their own."""
    said: dict[Printed, str] = {}
    for marked, text in marks.items():
        owner = marked if isinstance(marked, Operation) else marked.owner
        if isinstance(marked, BlockArgument):
            parent = marked.block.parent_op()
            owner = marked if parent is None or isinstance(parent, BlockOp) else parent
        source = owner if isinstance(owner, Operation) else marked
        said[source] = "\n".join(filter(None, (said.get(source), text)))
    return said


# Lines


def _script(op: Operation, style: Style, separate: Mapping[Printed, str]) -> list[Line]:
    """TVMScript, without comments on top. UnsupportedError where there is none."""
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


class _Places(Printer):
    """Prints MLIR into `text`, and notes where each op starts."""

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
    printer = _Places()
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


def _underlines(lines: Sequence[Line], said: Mapping[Printed, str]) -> dict[int, list[str]]:
    """The lines below each line that has marks."""
    places: dict[Printed, tuple[int, int, int]] = {}
    for number, line in enumerate(lines):
        for source, start, end in line.sources:
            places.setdefault(source, (number, start, end))
    found: dict[tuple[int, int, int], list[str]] = {}
    for source, text in said.items():
        place = next((places[s] for s in _around(source) if s in places), None)
        if place is None:
            continue
        found.setdefault(place, []).extend(text.split("\n") if text else ())
    underlines: dict[int, list[str]] = {}
    for (number, start, end), texts in sorted(found.items()):
        margin = INDENTATION * lines[number].indent + " " * start
        first, *others = texts or [""]
        below = underlines.setdefault(number, [])
        below.append(f"{margin}{'^' * (end - start)} {first}".rstrip())
        below += [f"{margin}{' ' * (end - start)} {text}" for text in others]
    return underlines


def _around(source: Printed) -> Iterator[Printed]:
    """`source` and what may show it if it has no line of its own, from the nearest on."""
    cursor: Operation | None = source if isinstance(source, Operation) else source.owner.parent_op()
    yield source
    while cursor is not None:
        yield cursor
        yield from cursor.results
        use = cursor.results[0].first_use if is_expression(cursor) else None
        cursor = cursor.parent_op() if use is None else use.operation


# Elision


def _kept(lines: Sequence[Line], marked: Iterable[int], context: int) -> Iterator[int]:
    """The lines near marked ones, and the headers around those."""
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
    """A single line is as short as what would stand for it."""
    if len(lines) > 1:
        yield f"{INDENTATION * min((line.indent for line in lines if line.text), default=0)}..."
    else:
        yield from map(str, lines)
