"""A statistical model of the speed of configurations."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any, TypeAlias

import numpy as np

from ..task.knobs import AnnotateEntity, Entity, OtherOptionEntity, ReorderEntity, SplitEntity
from ..task.space import ConfigSpace

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_MOST_RECORDS = 512
"""The records of a model: its time grows with their third power."""
_LENGTHS = (0.5, 1.0, 2.0, 4.0)
_NOISES = (1e-3, 1e-2, 1e-1)


def features(space: ConfigSpace, entities: dict[str, Entity]) -> list[float]:
    """The choices of a configuration as numbers: the logarithms of sizes and of numeric values, positions of loops, and
    an indicator for each annotation and each other value."""
    return [each for name, entity in entities.items() for each in _features_of(space, name, entity)]


def _features_of(space: ConfigSpace, name: str, entity: Entity) -> list[float]:
    match entity:
        case SplitEntity():
            return [_log(size) for size in entity.size[1:]]
        case ReorderEntity():
            return [float(place) for place in entity.perm]
        case AnnotateEntity():
            return [each for annotation in entity.anns for each in _indicators(annotation)]
        case OtherOptionEntity(val=bool() | int() | float()):
            return [_log(entity.val)]
        case OtherOptionEntity():
            values = [each.val for each in space.space_map[name].entities]
            return [float(entity.val == value) for value in values]


def _indicators(annotation: str | int) -> list[float]:
    """An annotation as numbers; the index of a loop as itself."""
    if isinstance(annotation, int):
        return [float(annotation)]
    return [float(annotation == kind) for kind in ("vec", "unroll")]


def _log(value: float) -> float:
    return log2(1 + abs(value)) * (1 if value >= 0 else -1)


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process with a squared exponential kernel: the mean of the speeds of configurations near to those that
    were measured. points: the measured features, scaled.  weights: of the kernel at each point."""

    points: Array
    weights: Array
    centre: Array
    scale: Array
    length: float
    mean: float

    @staticmethod
    def fit(x: Array, y: Array) -> GaussianProcess:
        """The process with the length and the noise under which the speeds are most likely. x: features of each
        configuration; y: its speed, relative to the fastest. Of more than 512 the fastest half and the last half
        count."""
        if len(x) > _MOST_RECORDS:
            kept = sorted({*np.argsort(-y)[: _MOST_RECORDS // 2], *range(len(x) - _MOST_RECORDS // 2, len(x))})
            x, y = x[kept], y[kept]
        centre, scale = x.mean(0), x.std(0)
        scale = np.where(scale > 0, scale, 1.0)
        points, mean = (x - centre) / scale, float(y.mean())
        squares = _squares(points, points) / max(1, x.shape[1])
        variance = float(y.var()) or 1.0
        fits = [_fit(squares, (y - mean), variance, length, noise) for length in _LENGTHS for noise in _NOISES]
        _, weights, length = max(fits, key=lambda fit: fit[0])
        return GaussianProcess(points, weights, centre, scale, length, mean)

    def predict(self, x: Array) -> Array:
        """The expected speeds of configurations."""
        points = (x - self.centre) / self.scale
        squares = _squares(points, self.points) / max(1, x.shape[1])
        return self.mean + np.exp(-squares / (2 * self.length**2)) @ self.weights


def _squares(a: Array, b: Array) -> Array:
    """The squared distances of points."""
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T, 0)


def _fit(squares: Array, y: Array, variance: float, length: float, noise: float) -> tuple[float, Array, float]:
    """The logarithm of the likelihood, and the weights, for a length and a noise."""
    kernel = np.exp(-squares / (2 * length**2)) + noise * np.eye(len(y))
    factor = np.linalg.cholesky(kernel)
    weights = np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, y)), np.float64)
    likelihood = -0.5 * float(y @ weights) / variance - float(np.log(np.diag(factor)).sum())
    return likelihood, weights, length
