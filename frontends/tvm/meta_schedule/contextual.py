"""The base class of rules, postprocessors and mutators, which read the context of a search before they are applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Self, TypeVar

from ....core.errors import OptionError

if TYPE_CHECKING:
    from .tune_context import TuneContext

T = TypeVar("T")


class Contextual:
    """An object that reads the context of a search before it is applied, and that searches copy."""

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Reads the kernel, the target and the seed of a context, before the first schedule."""
        self._initialize_with_tune_context(context)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """The part of `initialize_with_tune_context` that subclasses override. By default nothing."""

    def clone(self) -> Self:
        """A copy."""
        return copy(self)


def made_for(kind: str, defaults: Mapping[str, Callable[[], T]], name: str) -> T:
    """The default objects for a kind of target. name: of their class. OptionError for a kind without defaults."""
    if kind not in defaults:
        raise OptionError(f"{name}: kind {kind!r}, expected {', '.join(defaults)}")
    return defaults[kind]()
