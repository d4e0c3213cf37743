"""Errors in models, with their locations."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...core.errors import StepwellError, UnsupportedError

_MOST_PLACES = 12
"""The greatest number of places that the text of an error states."""


class ModelError(StepwellError, ValueError):
    """An invalid model. The message starts with the location: the file, the graph, the node.

    reason: the error.  places: the location, outermost first.
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason
        self.places: list[str] = []

    def __str__(self) -> str:
        places = self.places
        if len(places) > _MOST_PLACES:
            places = [*places[: _MOST_PLACES // 2], "...", *places[-_MOST_PLACES // 2 :]]
        return ": ".join([*places, self.reason])


class ModelUnsupportedError(ModelError, UnsupportedError):
    """A valid model that uses a feature unsupported by Stepwell."""


@contextmanager
def error_location(place: str) -> Generator[None, None, None]:
    """Prepends `place`, if not empty, to the location of errors raised inside the context. Exhausted recursion and
    memory become errors of the model there."""
    try:
        yield
    except ModelError as error:
        if place:
            error.places.insert(0, place)
        raise
    except (RecursionError, MemoryError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "needs more memory than there is"
        exhausted = ModelUnsupportedError(reason)
        exhausted.places += [place] if place else []
        raise exhausted from None
