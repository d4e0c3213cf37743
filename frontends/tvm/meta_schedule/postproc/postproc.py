"""The base class of postprocessors."""

from __future__ import annotations

from ...tir import Schedule
from ..contextual import Contextual, made_for


class Postproc(Contextual):
    """A postprocessor: a change of a drawn schedule, or a condition on it. Subclasses override `apply`."""

    def apply(self, sch: Schedule) -> bool:
        """Changes a schedule. Returns whether the schedule is to be measured."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def may_accept(self, sch: Schedule) -> bool:
        """Whether `apply` may return true: a quick check before any postprocessor changes the schedule."""
        return True

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors of TVM for a kind of target: "llvm", "cuda", "hexagon" or "c". OptionError for another
        kind."""
        # lazy: the postprocessors are subclasses
        from . import DEFAULTS

        return made_for(kind, DEFAULTS, "Postproc")


PyPostproc = Postproc
"""The base class of the postprocessors of users."""
