"""Searches in order and at random: `tvm.autotvm.tuner.index_based_tuner`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .....core.errors import OptionError
from ...absent import report_absent
from ..task.space import ConfigEntity
from ..task.task import Task
from .tuner import Tuner

__getattr__ = report_absent("tvm.autotvm.tuner.index_based_tuner")


class IndexBaseTuner(Tuner):
    """A search by the indices of configurations. range_idx: the first and the last index, by default all."""

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None):
        """OptionError for a range outside of the space."""
        super().__init__(task)
        self.space = task.config_space
        first, last = range_idx or (0, self.space.range_length - 1)
        if not 0 <= first <= last < self.space.range_length:
            raise OptionError(f"range_idx {range_idx}, expected indices of 0 to {self.space.range_length - 1}")
        self.begin_idx, self.end_idx = first, last + 1
        self.range_length = self.end_idx - self.begin_idx
        self.visited_max = self.space.subrange_length(self.begin_idx, self.end_idx)
        self.visited: set[int] = set()

    def has_next(self) -> bool:
        return len(self.visited) < self.visited_max

    def load_history(self, data_set: Iterable[Any], min_seed_records: int = 500) -> None:
        """Nothing: the order is independent of results."""

    def _visit(self, index: int) -> ConfigEntity:
        self.visited.add(index)
        return self.space.get(index)


class GridSearchTuner(IndexBaseTuner):
    """All configurations in the order of their indices. index: the next."""

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None):
        super().__init__(task, range_idx)
        start = self.space.get_next_index(self.begin_idx - 1, 1, self.begin_idx, self.end_idx)
        self.index: int | None = start

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        found: list[ConfigEntity] = []
        while self.index is not None and len(found) < batch_size:
            found.append(self._visit(self.index))
            self.index = self.space.get_next_index(self.index, 1, self.begin_idx, self.end_idx)
        return found


class RandomTuner(IndexBaseTuner):
    """Configurations at random, each once."""

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        found: list[ConfigEntity] = []
        while self.has_next() and len(found) < batch_size:
            found.append(self._visit(self.space.get_rand_index(self.begin_idx, self.end_idx, self.visited)))
        return found


__all__ = ["GridSearchTuner", "IndexBaseTuner", "RandomTuner"]
