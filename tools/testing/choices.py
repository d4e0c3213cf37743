"""Sources of the decisions of random programs: hypothesis, or a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions. The first option is the simplest, to which programs shrink."""

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        ...


class HypothesisChoices:
    """Decisions taken and shrunk by hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


class SeededChoices:
    """Decisions of a random number generator, for fuzzing without hypothesis."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """A choice among the options."""
    return options[choices.integer(0, len(options) - 1)]


def flag(choices: Choices, chance: int = 2) -> bool:
    """True with probability 1 / `chance`; False is the simpler option."""
    return choices.integer(0, chance - 1) == chance - 1


def shuffle(choices: Choices, items: list[Any]) -> None:
    """Permutes a list in place; the order as it is is the simplest."""
    for n in range(len(items)):
        other = choices.integer(n, len(items) - 1)
        items[n], items[other] = items[other], items[n]


class RecordingChoices:
    """Decisions of another source, recorded."""

    def __init__(self, source: Choices):
        self._source = source
        self.numbers: list[int] = []

    def integer(self, low: int, high: int) -> int:
        self.numbers.append(self._source.integer(low, high))
        return self.numbers[-1]


class ReplayedChoices:
    """Replays recorded decisions."""

    def __init__(self, numbers: Sequence[int]):
        self._numbers = iter(numbers)

    def integer(self, low: int, high: int) -> int:
        return next(self._numbers)
