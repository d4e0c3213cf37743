"""Models of speed, by which a search orders the schedules it draws: `tvm.meta_schedule.cost_model`."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.errors import LoadError, OptionError
from ..absent import report_absent
from .candidates import MeasureCandidate
from .runner import RunnerResult

if TYPE_CHECKING:
    from .tune_context import TuneContext

__getattr__ = report_absent("tvm.meta_schedule.cost_model")


class CostModel:
    """A model of speed. Subclasses override `predict`, and `update`, `load` and `save` if the model learns."""

    def load(self, path: str) -> None:
        """Reads the state of the model from a file."""
        raise NotImplementedError(f"{type(self).__name__} has no method load")

    def save(self, path: str) -> None:
        """Writes the state of the model to a file."""
        raise NotImplementedError(f"{type(self).__name__} has no method save")

    def update(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Reports the measured seconds of schedules."""
        raise NotImplementedError(f"{type(self).__name__} has no method update")

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray[Any, Any]:
        """A score for each schedule, greater for a faster one."""
        raise NotImplementedError(f"{type(self).__name__} has no method predict")

    @staticmethod
    def create(kind: Any = "random", *args: Any, **named: Any) -> CostModel | None:
        """A model in any accepted form: itself, "random" with the arguments of the class, or "none" for no model.
        OptionError for another value."""
        if isinstance(kind, CostModel):
            return kind
        if kind == "none":
            return None
        if kind == "random":
            ignored = ("num_tuning_cores", "tree_method")
            return RandomModel(*args, **{name: value for name, value in named.items() if name not in ignored})
        raise OptionError(f"cost model {kind!r}, expected a CostModel, 'random' or 'none'")

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({hex(id(self))})"


PyCostModel = CostModel
"""The base class of the models of users."""
create = CostModel.create


class RandomModel(CostModel):
    """A model without knowledge, whose scores are random numbers from 0 to `max_range`.

    seed: of the numbers, by default a new one.  path: a file with a state, by default none. LoadError, OSError.
    """

    def __init__(self, *, seed: int | None = None, path: str | os.PathLike[str] | None = None, max_range: int = 100):
        self.max_range = max_range
        self._random = np.random.RandomState(seed)
        if path is not None:
            self.load(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads the state of the random numbers from a file of `save`. LoadError for another file, OSError."""
        try:
            with np.load(path, allow_pickle=False) as fields:
                words, rest = fields["words"], fields["rest"]
            self._random.set_state(("MT19937", words, int(rest[0]), int(rest[1]), float(rest[2])))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, pickle.UnpicklingError) as error:
            raise LoadError(f"{os.fspath(path)}: expected a state of random numbers: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state of the random numbers to a file. OSError."""
        _, words, position, has_normal, normal = self._random.get_state(legacy=True)
        with Path(path).open("wb") as file:
            np.savez(file, words=words, rest=np.array([position, has_normal, normal]))

    def update(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Nothing."""

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray[Any, Any]:
        return self._random.rand(len(candidates)) * self.max_range


def model_of_users(value: Any) -> CostModel | None:
    """The model of a search: itself; None for the name of one of TVM's, since each schedule is measured. OptionError
    for another value."""
    if value is None or value in ("xgb", "mlp", "random", "none"):
        return None
    if isinstance(value, CostModel):
        return value
    raise OptionError(f"cost model {value!r}, expected a CostModel, 'xgb', 'mlp', 'random' or 'none'")


__all__ = ["CostModel", "PyCostModel", "RandomModel", "create"]
