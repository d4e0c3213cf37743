"""Assertions: their kinds, messages with values, and errors."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import ExecutionError, UndefinedBehaviorError

DEFAULT_KIND = "RuntimeError"
"""The kind of an assertion without one."""

UNDEFINED_BEHAVIOR = "UndefinedBehaviorError"
"""The kind of an assertion that detects undefined behaviour."""

PLACEHOLDER = "{}"
"""The position of a value in the message of an assertion."""


def fill_message(message: str, values: Sequence[object]) -> str:
    """The message of an assertion with its values in place of the placeholders; without values, the message itself."""
    if not values:
        return message
    first, *texts = message.split(PLACEHOLDER)
    return first + "".join(f"{value}{text}" for value, text in zip(values, texts, strict=True))


def failure_error(kind: str, text: str) -> ExecutionError:
    """The error of a failed assertion of a kind."""
    return (UndefinedBehaviorError if kind == UNDEFINED_BEHAVIOR else ExecutionError)(text)
