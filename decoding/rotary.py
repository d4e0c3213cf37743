"""Rotary positions: rotations of queries and keys by angles that grow with the position of a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rotary:
    """The angles of pairs of elements of a head: element `d` with element `d + size / 2`, where `size` is the number of
    rotated elements.

    theta: the base; pair `d` rotates by `position * scale / theta ** (2 * d / size)`.  size: by default the elements of
    a head; others stay.
    """

    theta: float = 10000.0
    scale: float = 1.0
    size: int | None = None

    def rotated(self, heads: Array, positions: Array) -> Array:
        """The heads of tokens, an array of shape (n, heads, head_size), at positions of shape (n,)."""
        size = heads.shape[2] if self.size is None else self.size
        half = size // 2
        frequencies = self.scale / self.theta ** (np.arange(half, dtype=np.float32) * 2 / size)
        angles = positions.astype(np.float32)[:, None, None] * frequencies.astype(np.float32)
        cos, sin = np.cos(angles), np.sin(angles)
        wide = heads.astype(np.float32)
        first, second = wide[..., :half], wide[..., half:size]
        parts = (first * cos - second * sin, second * cos + first * sin, wide[..., size:])
        return np.ascontiguousarray(np.concatenate(parts, axis=2).astype(heads.dtype))
