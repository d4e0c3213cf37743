"""Names of global functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EnvFunc:
    """The name of a global function, as types refer to it."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function of a name."""
        return EnvFunc(name)
