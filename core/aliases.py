"""Modules and classes under their former names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
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


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module with renamed contents: finds the contents by their former names, with a
    `DeprecationWarning` that states the new name.

    names: the new name of each former name.
    """

    def getattr_(attribute: str) -> Any:
        if attribute not in names:
            raise AttributeError(f"module {module!r} has no attribute {attribute!r}")
        name = names[attribute]
        warnings.warn(f"{module}.{attribute} is now {name}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(module), name)

    return getattr_
