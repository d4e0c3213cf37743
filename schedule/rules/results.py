"""The results of rules: scheduled blocks, the reasons for refusals, and the schedules of whole functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...dialects.schedule import TraceOp
from ...module import Module
from ..trace import Trace


@dataclass(frozen=True)
class Applied:
    """A block scheduled by a rule.

    block: its name.  with_blocks: the names of other blocks that the rule has moved into the same loops.  text: the
    schedule in words, with the numbers that the rule has chosen.
    """

    rule: str
    block: str
    with_blocks: tuple[str, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        others = f" with {', '.join(self.with_blocks)}" if self.with_blocks else ""
        return f"{self.block}{others}: {self.rule}{f', {self.text}' if self.text else ''}"


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


def decline_unless(condition: object, reason: str) -> None:
    """Raises DeclineError with a reason unless a condition holds."""
    if not condition:
        raise DeclineError(reason)


@dataclass(frozen=True)
class FunctionSchedule:
    """The schedule of a function.

    function: its name.  trace: the primitives.  applied: the rule that scheduled each block.  declined: the rules tried
    before, and the reasons of their refusals.  alone: the number of statements without a block that one thread of a GPU
    runs; no primitive does this.
    """

    function: str
    trace: Trace
    applied: tuple[Applied, ...]
    declined: tuple[Declined, ...]
    alone: int = 0


@dataclass(frozen=True)
class DefaultSchedules:
    """A module with its default schedules.

    mod: the scheduled module.  functions: the schedules by function; without functions that were scheduled before,
    which stay as they are.
    """

    mod: Module
    functions: Mapping[str, FunctionSchedule]

    @property
    def trace(self) -> Trace:
        """The primitives of all functions, for `Schedule.replay` on the original module."""
        whole = TraceOp()
        for function in self.functions.values():
            copy = function.trace.op.clone()
            for op in list(copy.body.block.ops):
                op.detach()
                whole.body.block.add_op(op)
        return Trace(whole)

    @property
    def applied(self) -> list[Applied]:
        """The rule that scheduled each block."""
        return [each for function in self.functions.values() for each in function.applied]

    @property
    def declined(self) -> list[Declined]:
        """The rules tried before on each block, and the reasons of their refusals."""
        return [each for function in self.functions.values() for each in function.declined]

    def __str__(self) -> str:
        return "\n".join(_lines(self.functions))


def _lines(functions: Mapping[str, FunctionSchedule]) -> Iterator[str]:
    for name, schedule in functions.items():
        yield f"{name}:"
        yield from (f"  {each}" for each in schedule.applied)
        if schedule.alone:
            yield f"  {schedule.alone} statements without a block: one thread"
