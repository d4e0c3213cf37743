"""Decorators of subclasses, as of visitors and rewrites."""

from __future__ import annotations

from typing import TypeVar

from ...core.errors import OptionError

ClassT = TypeVar("ClassT", bound=type)


def require_subclass(cls: ClassT, base: type, decorator: str) -> ClassT:
    """The class that a decorator of subclasses of `base` gets. OptionError for another class."""
    if not issubclass(cls, base):
        raise OptionError(f"{decorator}: class {cls.__name__}, expected a subclass of {base.__name__}")
    return cls
