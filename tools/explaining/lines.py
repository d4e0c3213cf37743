"""The lines of programs at their landings, each with the line of the source that it comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import StringIO

from xdsl.printer import Printer

from ...backends.llvm.types import escape
from ...module import Module

_PLACE = re.compile(r'(?:callsite\()*"((?:[^"\\]|\\.)*)":(\d+):\d+')
_LOCATION = re.compile(r" loc\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*\))*\)")
_NODE = re.compile(r"^(!\d+) = !DILocation\(line: (\d+),.* scope: (!\d+)", re.MULTILINE)
_SCOPE = re.compile(r"^(!\d+) = (?:distinct )?!DI\w+\(.*\bfile: (!\d+)", re.MULTILINE)
_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "([^"]*)"', re.MULTILINE)
_DEBUG = re.compile(r", !dbg (!\d+)")
_PLACE_COMMENT = re.compile(r"  // (.*):(\d+)$")
_COMMENT = re.compile(r"^\t# (.*?):(\d+)(?:: |$)")


@dataclass(frozen=True)
class Line:
    """A line of a text. source: the number of the line of the source, None without one."""

    text: str
    source: int | None = None


def lines_of_source(text: str) -> list[Line]:
    """The lines of the source itself."""
    return [Line(line, number) for number, line in enumerate(text.splitlines(), 1)]


def lines_of_module(module: Module, file: str) -> list[Line]:
    """The lines of a module as MLIR. file: the name of the source."""
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module.op)
    return _placed_headers(_without_location(line, file) for line in stream.getvalue().splitlines())


def _without_location(line: str, file: str) -> Line:
    """A line of MLIR without its locations, with the place of the last."""
    locations = _LOCATION.findall(line)
    match = _PLACE.search(locations[-1]) if locations else None
    return Line(_LOCATION.sub("", line), int(match[2]) if match is not None and match[1] == file else None)


def _placed_headers(lines: Iterable[Line]) -> list[Line]:
    """The lines, where the first line of an operation with regions has the place that its last line states."""
    result, open_lines = list[Line](), list[int]()
    for line in lines:
        text = line.text.strip()
        if text.startswith("}") and open_lines:
            header = open_lines.pop()
            result[header] = replace(result[header], source=line.source)
        if text.endswith("{"):
            open_lines.append(len(result))
        result.append(line)
    return result


def lines_of_llvm(text: str, file: str) -> list[Line]:
    """The lines of the functions with debug information in LLVM IR. file: the name of the source."""
    sources = {node for node, name in _FILE.findall(text) if name == escape(file.encode())}
    scopes = {node for node, source in _SCOPE.findall(text) if source in sources}
    numbers = {node: int(number) or None for node, number, scope in _NODE.findall(text) if scope in scopes}
    return list(_functions_of_llvm(text.splitlines(), numbers))


def _functions_of_llvm(lines: Iterable[str], numbers: dict[str, int | None]) -> Iterator[Line]:
    is_inside = False
    for line in lines:
        is_inside |= line.startswith("define ") and " !dbg " in line
        if is_inside and not line.lstrip().startswith("#dbg"):
            match = _DEBUG.search(line)
            yield Line(_DEBUG.sub("", line), None if match is None else numbers.get(match[1]))
        if line == "}" and is_inside:
            is_inside = False
            yield Line("")


def lines_of_cuda(text: str, file: str) -> list[Line]:
    """The lines of annotated CUDA C++, which ends with the place of each. file: the name of the source."""
    return [_without_comment(line, file) for line in text.splitlines()]


def _without_comment(line: str, file: str) -> Line:
    match = _PLACE_COMMENT.search(line)
    if match is None:
        return Line(line)
    return Line(line[: match.start()], int(match[2]) if match[1] == file else None)


def lines_of_assembly(text: str, file: str) -> list[Line]:
    """The lines of annotated assembly, which has the place of instructions in comments. file: as of `lines_of_cuda`."""
    result, source = list[Line](), None
    for line in text.splitlines():
        match = _COMMENT.match(line)
        if match is not None:
            source = int(match[2]) if os.path.abspath(match[1]) == os.path.abspath(file) else None
        elif line.startswith("#"):
            source = None
        result.append(Line(line.expandtabs(8), source))
    return result
