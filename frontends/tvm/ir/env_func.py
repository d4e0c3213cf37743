"""Names of global functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..registry import get_global_func


@dataclass(frozen=True)
class EnvFunc:
    """The name of a global function, as types refer to it."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function of a name."""
        return EnvFunc(name)

    def __call__(self, *args: Any) -> Any:
        """The result of the function. LinkError if it is not registered."""
        function = get_global_func(self.name)
        assert function is not None
        return function(*args)
