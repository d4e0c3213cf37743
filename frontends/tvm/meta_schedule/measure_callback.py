"""Functions that see the measurements of a search: `tvm.meta_schedule.measure_callback`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....core.errors import OptionError
from ..absent import report_absent
from .builder import BuilderResult
from .candidates import MeasureCandidate
from .runner import RunnerResult

if TYPE_CHECKING:
    from .task_scheduler import TaskScheduler

__getattr__ = report_absent("tvm.meta_schedule.measure_callback")


class MeasureCallback:
    """The base class of callbacks. Subclasses override `apply`."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Sees the schedules of a task, their builds and their runs."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({hex(id(self))})"


PyMeasureCallback = MeasureCallback
"""The base class of callbacks of users."""


class _OfSearch(MeasureCallback):
    """A callback whose work the search does."""

    def apply(self, *args: Any, **named: Any) -> None:
        pass


class AddToDatabase(_OfSearch):
    """Adds measured schedules to the database, as every search does."""


class RemoveBuildArtifact(_OfSearch):
    """Removes the files of builds, which the end of the process does."""


class UpdateCostModel(_OfSearch):
    """Reports measurements to the model of speed, as every search does."""


def callbacks_of(given: Any) -> list[MeasureCallback]:
    """Callbacks in any accepted form: one, several, or "default" for none of users. OptionError for another value."""
    every = [] if given is None or given == "default" else given if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownVariableType]
    for each in every:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(each, MeasureCallback):
            raise OptionError(f"measure callback {each!r}, expected a MeasureCallback or 'default'")
    return list(every)  # pyright: ignore[reportUnknownArgumentType]


__all__ = ["AddToDatabase", "MeasureCallback", "PyMeasureCallback", "RemoveBuildArtifact", "UpdateCostModel"]
