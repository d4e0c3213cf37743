"""A genetic search: `tvm.autotvm.tuner.ga_tuner`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from .....core.errors import OptionError
from ...absent import report_absent
from ..measure import MeasureInput, MeasureResult
from ..task.space import ConfigEntity
from ..task.task import Task
from .tuner import Tuner, flops_of

__getattr__ = report_absent("tvm.autotvm.tuner.ga_tuner")


class GATuner(Tuner):
    """A genetic search: a generation descends from the configurations of the last one and the elite, in proportion to
    their speed, by a crossover of their knobs and mutations. No configuration is measured twice."""

    def __init__(self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1):
        """pop_size: the configurations of a generation.  elite_num: the fastest that stay parents.  mutation_prob: the
        probability of a random choice for each knob. OptionError for an elite greater than a generation."""
        super().__init__(task)
        if elite_num > pop_size:
            raise OptionError(f"GATuner: elite_num {elite_num}, expected at most pop_size, {pop_size}")
        self.space = task.config_space
        self.pop_size, self.elite_num, self.mutation_prob = min(pop_size, len(self.space)), elite_num, mutation_prob
        self._queue = self.space.sample_ints(self.pop_size)
        self.visited = set(self._queue)
        self._parents: dict[int, float] = {}
        self._elite: dict[int, float] = {}

    @property
    def genes(self) -> list[list[int]]:
        """The configurations of the generation that are not measured yet, as the choices of their knobs."""
        return [self.space.point2knob(point) for point in self._queue]

    def has_next(self) -> bool:
        return bool(self._queue)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        points, self._queue = self._queue[:batch_size], self._queue[batch_size:]
        return [self.space.get(point) for point in points]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            self._parents[inp.config.index] = flops_of(inp, result)
        if self._queue:
            return
        parents = {**self._elite, **self._parents}
        ranked = sorted(parents, key=lambda point: -parents[point])
        self._elite = {point: parents[point] for point in ranked[: self.elite_num]}
        self._queue = self._descendants(parents)
        self.visited.update(self._queue)
        self._parents = {}

    def _descendants(self, parents: dict[int, float]) -> list[int]:
        """The next generation: new configurations, at random where crossover and mutation find none."""
        count = min(self.pop_size, len(self.space) - len(self.visited))
        found: dict[int, None] = {}
        for _ in range(16 * count):
            point = self._descendant(parents)
            if point not in self.visited and self.space.is_index_valid(point):
                found[point] = None
            if len(found) == count:
                return list(found)
        while len(found) < count:
            found[self.space.get_rand_index(to_exclude={*self.visited, *found})] = None
        return list(found)

    def _descendant(self, parents: dict[int, float]) -> int:
        weights = [flops + 1e-8 for flops in parents.values()]
        father, mother = (self.space.point2knob(each) for each in random.choices(list(parents), weights, k=2))
        cut = random.randrange(len(father) + 1)
        knob = [*father[:cut], *mother[cut:]]
        for n, size in enumerate(self.space.dims):
            if random.random() < self.mutation_prob:
                knob[n] = random.randrange(size)
        return self.space.knob2point(knob)

    def load_history(self, data_set: Iterable[Any], min_seed_records: int = 500) -> None:
        """Nothing: generations descend from measured configurations of this task."""


__all__ = ["GATuner"]
