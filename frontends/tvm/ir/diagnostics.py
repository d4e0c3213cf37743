"""The module `tvm.ir.diagnostics`: functions that show the errors of graphs and of TVMScript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from ....core.errors import ParseError, StepwellError
from ..absent import report_absent
from .span import Span

__getattr__ = report_absent("tvm.ir.diagnostics")


class DiagnosticLevel(IntEnum):
    """The severity of a diagnostic. The diagnostics of this package are errors."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True)
class Diagnostic:
    """An error. message: its text, which states the place in the source.  span: the place, None for an error without
    one; its lines are those of the text."""

    level: DiagnosticLevel
    message: str
    span: Span | None = None


@dataclass(frozen=True)
class DiagnosticContext:
    """The errors of a graph, or of a text, that cannot become a module."""

    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def render(self) -> None:
        """Shows the errors by the renderer in use."""
        get_renderer().render(self)


class DiagnosticRenderer:
    """Shows errors. render_func: a function of the context."""

    def __init__(self, render_func: Callable[[DiagnosticContext], None]):
        self.render = render_func


def _print(context: DiagnosticContext) -> None:
    for each in context.diagnostics:
        print(f"{each.level.name.lower()}: {each.message}", file=sys.stderr)


_DEFAULT = DiagnosticRenderer(_print)
_chosen: list[DiagnosticRenderer] = []
"""The renderer of the user, if there is one."""


def get_renderer() -> DiagnosticRenderer:
    """The renderer in use; the default one prints errors."""
    return _chosen[-1] if _chosen else _DEFAULT


def override_renderer(render_func: Callable[[DiagnosticContext], None] | None) -> None:
    """Makes a function show the errors of graphs and texts before they are raised; None restores the default, by which
    errors are raised only."""
    _chosen[:] = [] if render_func is None else [DiagnosticRenderer(render_func)]


@contextmanager
def show_errors() -> Generator[None]:
    """A context whose errors the renderer of the user shows."""
    try:
        yield
    except StepwellError as error:
        if _chosen:
            DiagnosticContext([Diagnostic(DiagnosticLevel.ERROR, str(error), _place(error))]).render()
        raise


def _place(error: StepwellError) -> Span | None:
    """The part of the source that an error is about."""
    if not isinstance(error, ParseError):
        return None
    place, text = error.span, error.span.input.content
    if not isinstance(text, str) or not text:
        return None
    (line, column), (end_line, end_column) = (_position(text, at) for at in (place.start, place.end))
    return Span(place.input.name, line, end_line, column, end_column)


def _position(text: str, at: int) -> tuple[int, int]:
    """The line and the column of an offset in a text, from 1."""
    before = text[:at]
    return before.count("\n") + 1, at - before.rfind("\n")


__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
]
