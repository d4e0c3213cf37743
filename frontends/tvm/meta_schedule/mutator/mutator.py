"""The base class of mutators."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from .....schedule.trace import Trace
from ..contextual import Contextual, made_for

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class Mutator(Contextual):
    """A mutator: a change of one random choice of a measured schedule. Subclasses override `apply`."""

    random = Random()
    """The random numbers of the changes, those of a context after `initialize_with_tune_context`."""

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with another choice, None if it has none that the mutator changes."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Reads the kernel and the seed of a context before the first trace."""
        self.random = Random(context.rand_state)
        super().initialize_with_tune_context(context)

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """The mutators of TVM for a kind of target with their probabilities: "llvm", "cuda", "hexagon" or "c".
        OptionError for another kind."""
        # lazy: the mutators are subclasses
        from . import DEFAULTS

        return made_for(kind, DEFAULTS, "Mutator")


PyMutator = Mutator
"""The base class of the mutators of users."""
