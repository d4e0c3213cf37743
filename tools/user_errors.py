"""The messages of the commands for errors of their users."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from io import TextIOBase
from typing import IO, Any

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, UnregisteredConstructException

from ..core.errors import FaultyPassError, PluginWarning, StepwellError
from .entry import report_interrupts

_MISTAKES = (
    StepwellError,
    ParseError,
    ArgSpecParseError,
    DiagnosticException,
    UnregisteredConstructException,
    OSError,
)


@contextmanager
def report_user_errors(*more: type[Exception]) -> Generator[None, None, None]:
    """Reports a user error on stderr and exits with 1, an interrupt of the keyboard in one line, and a warning of a
    broken package in another."""
    try:
        with report_interrupts(), warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            yield
    except (*_MISTAKES, *more) as error:
        _show_traceback(error, sys.stderr)
        show_error(error, sys.stderr)
        sys.exit(1)


def _show_warning(
    others: Callable[..., None], message: Warning | str, category: type[Warning], *arguments: Any
) -> None:
    """Shows a warning on stderr: of a package in one line, others as before."""
    if issubclass(category, PluginWarning):
        print(f"warning: {message}", file=sys.stderr)
    else:
        others(message, category, *arguments)


def show_error(error: BaseException, stream: TextIOBase | IO[str]) -> None:
    """Prints the message and the notes of an error, without a traceback."""
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    print(text if "error:" in text else f"error: {text}", file=stream)
    for note in getattr(error, "__notes__", ()):
        print(note, file=stream)


def _show_traceback(error: BaseException, stream: TextIOBase | IO[str]) -> None:
    """Prints the traceback of an exception in a pass, from the pass on."""
    cause = error.__cause__
    if not isinstance(error, FaultyPassError) or cause is None or isinstance(cause, StepwellError):
        return
    below = cause.__traceback__.tb_next if cause.__traceback__ is not None else None
    print("".join(traceback.format_exception(cause.with_traceback(below), chain=False)), file=stream)
