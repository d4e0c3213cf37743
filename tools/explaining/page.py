"""The page of an explanation: one HTML file without references to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from ...core.remarks import Remark
from .lines import Line
from .stages import Explanation, Stage

_CLASSES = {"+": "added", "-": "removed"}


def page_of(title: str, source: Sequence[Line], explanation: Explanation) -> str:
    """The HTML of a page. source: the lines of the program's file."""
    stages = list(explanation.stages)
    names = [title, *(stage.name for stage in stages)]
    choices = "".join(
        f'<label><input type="checkbox" data-stage="stage{n}" checked> {escape(name)}</label>'
        for n, name in enumerate(names)
    )
    remarks = "".join(_remark(each, title) for each in explanation.remarks)
    panels = [
        _panel(0, title, "", _code(source, is_numbered=True), remarks=remarks),
        *(_stage(n, stage) for n, stage in enumerate(stages, 1)),
    ]
    idle = f"<p>without a change: {escape(', '.join(explanation.idle))}</p>" if explanation.idle else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<style>\n{_resource('page.css')}</style></head>\n<body><header><h1>{escape(title)}</h1>"
        f"<nav>{choices}</nav>{idle}</header>\n<main>\n{''.join(panels)}</main>\n"
        f"<script>\n{_resource('page.js')}</script></body></html>\n"
    )


def _resource(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _stage(number: int, stage: Stage) -> str:
    note = "" if stage.microseconds is None else f"{stage.microseconds / 1000:.1f} ms"
    return _panel(number, stage.name, note, _code(stage.lines), changes=_changes(stage.changes))


def _panel(number: int, name: str, note: str, code: str, changes: str = "", remarks: str = "") -> str:
    """A column of the page."""
    button = "<button>changes</button>" if changes else ""
    parts = [f'<div class="code">{code}</div>']
    parts += [f'<div class="changes">{changes}</div>'] if changes else []
    parts += [f'<div class="remarks">{remarks}</div>'] if remarks else []
    head = f"<h2>{escape(name)} <small>{note}</small>{button}</h2>"
    return f'<section id="stage{number}">{head}{"".join(parts)}</section>\n'


def _code(lines: Iterable[Line], is_numbered: bool = False) -> str:
    return "".join(
        _line(line.text, line.source, number if is_numbered else None) for number, line in enumerate(lines, 1)
    )


def _line(text: str, source: int | None, number: int | None = None) -> str:
    place = "" if source is None else f' data-line="{source}"'
    label = "" if number is None else f'<span class="number">{number}</span>'
    return f'<div class="line"{place}>{label}{escape(text)}</div>'


def _changes(lines: Sequence[str]) -> str:
    return "".join(f'<div class="line {_CLASSES.get(line[:1], "")}">{escape(line)}</div>' for line in lines)


def _remark(remark: Remark, file: str) -> str:
    location = remark.place.location
    line = location.line if location is not None and location.file == file else None
    place = "" if line is None else f' data-line="{line}"'
    where = f"{line}: " if line is not None else ""
    text = f"{where}<b>{remark.kind}</b> {escape(remark.pass_name)}: {escape(remark.message)}"
    return f'<div class="line {remark.kind}"{place}>{text}</div>'
