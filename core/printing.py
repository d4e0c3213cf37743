"""The text that `T.print` prints: the same on every target."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO

from .assertions import fill_message


def printed_text(message: str, values: Sequence[bool | int | float]) -> str:
    """The text of a message with its values in place of the placeholders: floats as C prints them by `%g`."""
    return fill_message(message, [f"{value:g}" if isinstance(value, float) else value for value in values])


def print_line(message: str, *values: bool | int | float) -> None:
    """Prints a message with its values to the standard output of Python, as a line."""
    sys.stdout.write(f"{printed_text(message, values)}\n")  # as one text: threads may print at the same time
    sys.stdout.flush()


@contextmanager
def no_printing() -> Generator[None]:
    """A context whose programs run without a trace on the standard output of Python."""
    with redirect_stdout(StringIO()):
        yield
