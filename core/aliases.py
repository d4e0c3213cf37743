"""Modules under their former names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def former_module(former: str, name: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose contents moved to the module `name`: finds them there, with a
    `DeprecationWarning` that states the new name."""

    def getattr_(attribute: str) -> Any:
        if attribute.startswith("__"):  # the import system asks for `__path__`
            raise AttributeError(attribute)
        warnings.warn(f"{former} has moved to {name}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(name), attribute)

    return getattr_
