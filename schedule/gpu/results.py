"""What a rule says: that it has scheduled a block, or why it has not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .. import Schedule
from .kernel import Kernel


@dataclass(frozen=True)
class Applied:
    """A rule has scheduled a block. block: its name.  with_blocks: the names of others that run in its kernel."""

    rule: str
    block: str
    with_blocks: tuple[str, ...] = ()

    def __str__(self) -> str:
        others = f" with {', '.join(self.with_blocks)}" if self.with_blocks else ""
        return f"{self.block}{others}: {self.rule}"


@dataclass(frozen=True)
class Declined:
    """A rule has left a block to the next one. reason: why."""

    rule: str
    block: str
    reason: str

    def __str__(self) -> str:
        return f"{self.block}: not {self.rule}: {self.reason}"


class DeclineError(Exception):
    """Raised by a rule, with the reason, where it finds that it is not for a block."""


Rule: TypeAlias = Callable[[Schedule, Kernel], "tuple[str, ...]"]
"""Schedules a block by primitives, and gives the names of other blocks that it has moved into the same kernel.

DeclineError, or ScheduleError of a primitive, if it is not for this block; what it did till then is taken back.
"""


def decline_unless(condition: object, reason: str) -> None:
    """DeclineError with a reason unless a condition holds."""
    if not condition:
        raise DeclineError(reason)
