"""The ways in which a search draws schedules: `tvm.meta_schedule.search_strategy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError
from ..absent import report_absent
from .candidates import MeasureCandidate

__getattr__ = report_absent("tvm.meta_schedule.search_strategy")


@dataclass(frozen=True)
class SearchStrategy:
    """The way of a search. derives: whether schedules are derived from the fastest ones by mutators."""

    derives = False

    @staticmethod
    def create(kind: Any = "evolutionary", *args: Any, **named: Any) -> SearchStrategy:
        """A strategy in any accepted form: itself, or "evolutionary", "replay-trace", "replay-func" with the arguments
        of the class. OptionError for another value."""
        if isinstance(kind, SearchStrategy):
            return kind
        classes = {"evolutionary": EvolutionarySearch, "replay-trace": ReplayTrace, "replay-func": ReplayFunc}
        if not isinstance(kind, str) or kind.replace("_", "-") not in classes:
            raise OptionError(f"search strategy {kind!r}, expected {', '.join(classes)}")
        return classes[kind.replace("_", "-")](*args, **named)


@dataclass(frozen=True)
class ReplayTrace(SearchStrategy):
    """Draws all choices of each schedule. max_fail_count: without an effect."""

    max_fail_count: int = 100


@dataclass(frozen=True)
class ReplayFunc(SearchStrategy):
    """Draws all choices of each schedule."""


@dataclass(frozen=True)
class EvolutionarySearch(SearchStrategy):
    """Derives half of the schedules from the fastest ones by the mutators of the space; the rest is drawn.

    The numbers, of a search with a model of speed, are without an effect: each schedule is measured.
    """

    derives = True
    population_size: int = 512
    init_measured_ratio: float = 0.2
    init_min_unmeasured: int = 50
    max_fail_count: int = 5
    genetic_num_iters: int = 4
    genetic_mutate_prob: float = 0.85
    genetic_max_fail_count: int = 10
    eps_greedy: float = 0.05


create = SearchStrategy.create

__all__ = ["EvolutionarySearch", "MeasureCandidate", "ReplayFunc", "ReplayTrace", "SearchStrategy", "create"]
