"""The base class of postprocessors."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

from .....core.errors import OptionError
from ...tir import Schedule

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class Postproc:
    """A postprocessor: a change of a drawn schedule, or a condition on it. Subclasses override `apply`."""

    def apply(self, sch: Schedule) -> bool:
        """Changes a schedule. Returns whether the schedule is to be measured."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def may_accept(self, sch: Schedule) -> bool:
        """Whether `apply` may return true: a quick check before any postprocessor changes the schedule."""
        return True

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Reads the target of a context before the first schedule."""
        self._initialize_with_tune_context(context)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """The part of `initialize_with_tune_context` that subclasses override. By default nothing."""

    def clone(self) -> Self:
        """A copy."""
        return copy(self)

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors of TVM for a kind of target: "llvm", "cuda", "hexagon" or "c". OptionError for another
        kind."""
        # lazy: the postprocessors are subclasses
        from . import DEFAULTS

        if kind not in DEFAULTS:
            raise OptionError(f"Postproc: kind {kind!r}, expected {', '.join(DEFAULTS)}")
        return DEFAULTS[kind]()


PyPostproc = Postproc
"""The base class of the postprocessors of users."""
