"""A search by a model of speed: `tvm.autotvm.tuner.xgboost_tuner`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .....core.errors import OptionError
from ...absent import report_absent
from ..measure import MeasureInput, MeasureResult
from ..task.space import ConfigEntity
from ..task.task import Task
from .surrogate import Array, GaussianProcess, features
from .tuner import Tuner, flops_of

__getattr__ = report_absent("tvm.autotvm.tuner.xgboost_tuner")

FEATURES = ("itervar", "knob", "curve")
LOSSES = ("reg", "rank", "rank-binary")
_WHOLE = 2048
"""The configurations of the greatest space that is predicted whole."""
_CHAINS, _STEPS = 64, 64
"""The numbers of walks, and of their steps, of the search in the prediction of a greater space."""
_SHARE_AT_RANDOM = 0.05


class XGBTuner(Tuner):
    """A search by a model: after each `plan_size` trials a model is fitted to the speeds, and the configurations with
    the greatest prediction are next, with one of 20 at random.

    The model is no xgboost but a Gaussian process on the knobs of a configuration (`surrogate.py`), for each
    `feature_type` and `loss_type`. Its maximum is found by a prediction of all configurations of a space up to 2048,
    else by simulated annealing.
    """

    def __init__(
        self, task: Task, plan_size: int = 64, feature_type: str = "itervar", loss_type: str = "reg",
        num_threads: int | None = None, optimizer: Any = "sa", diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ):  # fmt: skip
        """plan_size: the trials between two fits; fewer while there are few. Ignored are num_threads, the ratio and
        log_interval. OptionError for another feature_type, loss_type or optimizer than TVM's."""
        super().__init__(task)
        for name, value, known in (
            ("feature_type", feature_type, FEATURES),
            ("loss_type", loss_type, LOSSES),
            ("optimizer", optimizer, ("sa",)),
        ):
            if value not in known:
                raise OptionError(f"XGBTuner: {name} {value!r}, expected {', '.join(known)}")
        self.space = task.config_space
        self.plan_size = plan_size
        self.visited: set[int] = set()
        self._x: list[list[float]] = []
        self._flops: list[float] = []
        self._seeds: list[tuple[list[float], float]] = []
        self._plan: list[int] = []
        self._fitted = 0

    def has_next(self) -> bool:
        return len(self.visited) < len(self.space)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        found: list[ConfigEntity] = []
        while self.has_next() and len(found) < batch_size:
            while self._plan and self._plan[0] in self.visited:
                del self._plan[0]
            use_plan = bool(self._plan) and random.random() >= _SHARE_AT_RANDOM
            point = self._plan.pop(0) if use_plan else self.space.get_rand_index(to_exclude=self.visited)
            self.visited.add(point)
            found.append(self.space.get(point))
        return found

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            self._x.append(self._features(inp.config.index))
            self._flops.append(flops_of(inp, result))
        due = min(self.plan_size, max(4, self._fitted))  # the first models are fitted early
        if len(self._x) >= self._fitted + due and any(self._flops):
            self._fitted = len(self._x)
            self._make_plan()

    def load_history(self, data_set: Iterable[tuple[MeasureInput, MeasureResult]], min_seed_records: int = 500) -> None:
        """Learns from records of tasks with the same knobs: each speed relative to the fastest of its workload. Fewer
        records than `min_seed_records`, and records with other knobs, are left out."""
        records = list(data_set)
        if len(records) < min_seed_records:
            return
        width = len(self._features(self._first))
        best: dict[Any, float] = {}
        found: list[tuple[Any, list[float], float]] = []
        for inp, result in records:
            if list(inp.config) != list(self.space.space_map):
                continue
            speed = 0.0 if result.error_no != 0 else 1 / float(np.mean(result.costs))
            numbers = features(self.space, {name: inp.config[name] for name in inp.config})
            if len(numbers) == width:
                found.append((inp.task.workload, numbers, speed))
                best[inp.task.workload] = max(best.get(inp.task.workload, 0.0), speed)
        self._seeds = [(x, speed / best[workload]) for workload, x, speed in found if best[workload]]
        if self._seeds:
            self._make_plan()

    @property
    def _first(self) -> int:
        return self.space.get_next_index(-1)

    def _features(self, point: int) -> list[float]:
        config = self.space.get(point)
        return features(self.space, {name: config[name] for name in config})

    def _make_plan(self) -> None:
        """Fits the model, and orders the configurations that it predicts to be fast."""
        most = max(self._flops, default=0.0) or 1.0
        x = [*(each for each, _ in self._seeds), *self._x]
        y = [*(speed for _, speed in self._seeds), *(flops / most for flops in self._flops)]
        model = GaussianProcess.fit(np.array(x, float).reshape(len(x), len(x[0])), np.array(y, float))
        scores = self._scores(model)
        self._plan = sorted(scores, key=lambda point: -scores[point])[: self.plan_size]

    def _scores(self, model: GaussianProcess) -> dict[int, float]:
        """Predictions of configurations that were not measured."""
        if self.space.range_length <= _WHOLE:
            points = [
                n for n in range(self.space.range_length) if n not in self.visited and self.space.is_index_valid(n)
            ]
            return dict(zip(points, self._predict(model, points), strict=True)) if points else {}
        return self._anneal(model)

    def _predict(self, model: GaussianProcess, points: Sequence[int]) -> Array:
        return model.predict(np.array([self._features(point) for point in points], float))

    def _anneal(self, model: GaussianProcess) -> dict[int, float]:
        """The predictions that random walks meet, which accept a slower configuration ever less."""
        points = self.space.sample_ints(min(_CHAINS, len(self.space)))
        values = list(self._predict(model, points))
        found = dict(zip(points, values, strict=True))
        for step in range(_STEPS):
            moves = [self.space.random_walk(point) for point in points]
            scores = self._predict(model, moves)
            found.update(zip(moves, scores, strict=True))
            temperature = max(1e-6, 0.3 * (1 - step / _STEPS))
            for n, (move, score) in enumerate(zip(moves, scores, strict=True)):
                if score >= values[n] or random.random() < np.exp((score - values[n]) / temperature):
                    points[n], values[n] = move, score
        return {point: float(value) for point, value in found.items() if point not in self.visited}


__all__ = ["XGBTuner"]
