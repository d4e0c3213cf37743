"""Assertions: their kinds, messages with values, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .errors import ExecutionError, UndefinedBehaviorError

T = TypeVar("T")

DEFAULT_KIND = "RuntimeError"
"""The kind of an assertion without one."""

UNDEFINED_BEHAVIOR = "UndefinedBehaviorError"
"""The kind of an assertion that detects undefined behaviour."""

PLACEHOLDER = "{}"
"""The position of a value in the message of an assertion."""


def message_parts(message: str, values: Sequence[T]) -> list[str | T]:
    """The texts of a message, in order, with the values in place of the placeholders; without values, the message."""
    if not values:
        return [message]
    first, *texts = message.split(PLACEHOLDER)
    parts: list[str | T] = [first]
    for value, text in zip(values, texts, strict=True):
        parts += [value, text]
    return parts


def fill_message(message: str, values: Sequence[object]) -> str:
    """The message of an assertion with its values in place of the placeholders; without values, the message itself."""
    return "".join(f"{part}" for part in message_parts(message, values))


def failure_error(kind: str, text: str) -> ExecutionError:
    """The error of a failed assertion of a kind."""
    return (UndefinedBehaviorError if kind == UNDEFINED_BEHAVIOR else ExecutionError)(text)
