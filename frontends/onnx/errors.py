"""Errors about models: what is wrong, and where in the model."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...core.errors import StepwellError, UnsupportedError


class OnnxError(StepwellError, ValueError):
    """A model that is broken. The message starts with where: the file, the graph, the node.

    reason: what is wrong.  places: where, from the outside in.
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason
        self.places: list[str] = []

    def __str__(self) -> str:
        return ": ".join([*self.places, self.reason])


class OnnxUnsupportedError(OnnxError, UnsupportedError):
    """A valid model that uses what Stepwell does not have."""


def text(name: str) -> str:
    """A name as it is; protobuf's reader gives bytes for one that is not in UTF-8."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OnnxError(f"expected a name in UTF-8, got {name!r}")
    return name


@contextmanager
def located(place: str) -> Generator[None, None, None]:
    """Errors from inside say that they are at `place`, if it is not empty."""
    try:
        yield
    except OnnxError as error:
        if place:
            error.places.insert(0, place)
        raise
