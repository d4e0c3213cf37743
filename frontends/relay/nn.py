"""Operators of neural networks: `relay.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .expr import Expr
from .operators import functions_in

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Expr]: ...

else:
    globals().update(functions_in("nn."))
