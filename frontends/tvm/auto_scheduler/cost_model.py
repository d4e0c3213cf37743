"""Models that order schedules in TVM: `tvm.auto_scheduler.cost_model`."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

from ....core.errors import UnsupportedError
from ..absent import report_absent

__getattr__ = report_absent("tvm.auto_scheduler.cost_model")


class RandomModel:
    """A model without an effect: a task has one schedule, so there is none to prefer."""

    def update(self, inputs: Any, results: Any) -> None:
        """Nothing."""

    def predict(self, task: Any, states: Sequence[Any]) -> list[float]:
        """A random score from 0 to 1 for each state."""
        return [random.random() for _ in states]


class XGBModel(RandomModel):
    """A model without an effect: it learns nothing, and predicts nothing."""

    def __init__(
        self, verbose_eval: int = 25, num_warmup_sample: int = 100, seed: int | None = None,
        model_file: str | None = None, adaptive_training: bool = False,
    ):  # fmt: skip
        """All arguments are ignored."""

    def predict(self, task: Any, states: Sequence[Any]) -> list[float]:
        """Raises UnsupportedError."""
        raise UnsupportedError("XGBModel.predict: a model that has learned nothing, expected RandomModel")

    def update_from_file(self, file_name: str | os.PathLike[str], n_lines: int | None = None) -> None:
        """Nothing."""


__all__ = ["RandomModel", "XGBModel"]
