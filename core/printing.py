"""The text that `T.print` prints: the same on every target."""

from __future__ import annotations

from collections.abc import Sequence

from .assertions import fill_message


def printed_text(message: str, values: Sequence[bool | int | float]) -> str:
    """The text of a message with its values in place of the placeholders: floats as C prints them by `%g`."""
    return fill_message(message, [f"{value:g}" if isinstance(value, float) else value for value in values])


def print_line(message: str, *values: bool | int | float) -> None:
    """Prints a message with its values to the standard output of Python, as a line."""
    print(printed_text(message, values), flush=True)
