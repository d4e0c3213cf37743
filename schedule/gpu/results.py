"""The results of rules: a scheduled block, or the reason for a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .. import Schedule
from .kernel import Kernel


@dataclass(frozen=True)
class Applied:
    """A block scheduled by a rule. block: its name.  with_blocks: the names of other blocks in the same kernel."""

    rule: str
    block: str
    with_blocks: tuple[str, ...] = ()

    def __str__(self) -> str:
        others = f" with {', '.join(self.with_blocks)}" if self.with_blocks else ""
        return f"{self.block}{others}: {self.rule}"


@dataclass(frozen=True)
class Declined:
    """A block that a rule left to the next rule. reason: the reason of the refusal."""

    rule: str
    block: str
    reason: str

    def __str__(self) -> str:
        return f"{self.block}: not {self.rule}: {self.reason}"


class DeclineError(Exception):
    """Raised by a rule, with the reason, for a block that it does not support."""


Rule: TypeAlias = Callable[[Schedule, Kernel], "tuple[str, ...]"]
"""Schedules a block by primitives, and returns the names of other blocks that it has moved into the same kernel.

Raises DeclineError, or ScheduleError of a primitive, for an unsupported block; its steps are then undone.
"""


def decline_unless(condition: object, reason: str) -> None:
    """Raises DeclineError with a reason unless a condition holds."""
    if not condition:
        raise DeclineError(reason)
