"""Schedules of a kernel that are drawn for a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ....core.errors import ScheduleError, StepwellError
from ....module import Module
from ....schedule.trace import Trace
from ..tir import Schedule
from .arg_info import TensorInfo
from .postproc import Postproc
from .space_generator import PostOrderApply, SpaceGenerator

_LEAST_DRAWS = 16
"""The draws in a row that fail, or repeat known schedules, after which a space counts as exhausted."""
_LEAST_REJECTED = 256
"""The draws in a row that postprocessors reject after which a space counts as exhausted."""
_PARENTS = 8
"""The number of the fastest schedules from which others are derived."""


@dataclass(frozen=True)
class MeasureCandidate:
    """A schedule to measure, with the descriptions of the parameters of its kernel."""

    sch: Schedule
    args_info: Sequence[TensorInfo]


class _RejectedError(ScheduleError):
    """A schedule that a postprocessor rejects."""


class Candidates:
    """The schedules of a kernel that a space and its mutators draw, each once.

    mod: the kernel.  space: initialized.  derives: whether schedules are derived from the fastest ones.  random: of the
    draws.  failure: the error of the last draw that was illegal.
    """

    def __init__(self, mod: Module, space: SpaceGenerator, derives: bool, random: Random):
        self.mod, self.space, self.random = mod, space, random
        self.failure: StepwellError | None = None
        self._mutators: dict[Any, float] = dict(space.mutator_probs) if derives else {}
        self._seen: set[str] = set()
        self._measured: list[tuple[float, Trace]] = []
        self._designs: list[Trace] | None = None
        self._count = 0

    def add(self, sch: Schedule) -> bool:
        """Whether a schedule differs from all before."""
        text = str(sch.trace)
        is_new = text not in self._seen
        self._seen.add(text)
        return is_new

    def report(self, sch: Schedule, seconds: float) -> None:
        """Reports the mean seconds of a schedule, from which others may be derived."""
        self._measured = sorted([*self._measured, (seconds, sch.trace.without_postproc())], key=lambda each: each[0])
        del self._measured[_PARENTS:]

    def draw(self) -> Schedule | None:
        """A schedule that differs from all before, None if none is found."""
        failed = rejected = 0
        while failed < _LEAST_DRAWS and rejected < _LEAST_REJECTED:
            try:
                sch = self._derived() or self._drawn()
            except _RejectedError as error:
                self.failure = error
                rejected += 1
                continue
            except StepwellError as error:
                self.failure = error
                failed += 1
                continue
            if self.add(sch):
                return sch
            failed += 1
        return None

    def _replayed(self, trace: Trace) -> Schedule:
        """The kernel with the instructions of a trace, whose choices without a decision are drawn."""
        sch = Schedule(self.mod, seed=self.random.randrange(1, 2**31))
        if self.space.is_legal_for_all_choices:
            with sch.without_checks():
                sch.replay(trace)
        else:
            sch.replay(trace)
        return sch

    def _derived(self) -> Schedule | None:
        """A schedule with another choice than one of the fastest ones, None if it is to be drawn."""
        if not (self._mutators and self._measured and self.random.random() < 0.5):
            return None
        _, parent = self.random.choice(self._measured)
        (mutator,) = self.random.choices(list(self._mutators), list(self._mutators.values()))
        trace = mutator.apply(parent)
        if trace is None:
            return None
        return self._processed(self._replayed(trace.without_postproc()))

    def _drawn(self) -> Schedule:
        """A schedule of the space: rules are applied once, and their choices drawn anew; functions are called again."""
        if not isinstance(self.space, PostOrderApply):
            return self._processed(self._next_of(self._designed()))
        if not self.space.is_random:
            return self._processed(self._designed()[0])
        if self._designs is None:
            self._designs = [sch.trace.without_decisions() for sch in self._designed()]
        return self._processed(self._replayed(self._next_of(self._designs)))

    def _designed(self) -> list[Schedule]:
        """The design space, with new random numbers. ScheduleError if it is empty."""
        self.space.reseed(self.random.randrange(1, 2**31))
        designs = self.space.generate_design_space(self.mod)
        if not designs:
            raise ScheduleError(f"{type(self.space).__name__}: the design space is empty, expected a schedule")
        return designs

    def _next_of(self, designs: Sequence[Any]) -> Any:
        """The designs in turn."""
        self._count += 1
        return designs[(self._count - 1) % len(designs)]

    def _processed(self, sch: Schedule) -> Schedule:
        """A schedule after the postprocessors. ScheduleError if one rejects it."""
        postprocs = self.space.postprocs
        _check(postprocs, [postproc.may_accept(sch) for postproc in postprocs])
        if postprocs:
            sch.enter_postproc()
        _check(postprocs, (postproc.apply(sch) for postproc in postprocs))
        return sch


def _check(postprocs: Sequence[Postproc], accepted: Iterable[bool]) -> None:
    """Raises _RejectedError with the first postprocessor that does not accept a schedule."""
    for postproc, is_accepted in zip(postprocs, accepted, strict=True):
        if not is_accepted:
            raise _RejectedError(f"postprocessor {type(postproc).__name__} rejects the schedule")
