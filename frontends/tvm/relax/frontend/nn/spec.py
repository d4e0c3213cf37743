"""The types of the arguments of exported methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tensor:
    """A tensor argument. shape: numbers, and names of dynamic sizes."""

    shape: Sequence[Any]
    dtype: str = "float32"
