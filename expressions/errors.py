"""Errors about tensor expressions, at the line of the user who wrote them."""

from __future__ import annotations

import sys
from types import FrameType

from ..core.errors import StepwellError

_PACKAGE = __name__.split(".", maxsplit=1)[0]


def user_frame() -> FrameType | None:
    """The innermost frame that is not Stepwell's: the line that the user wrote. None if there is none."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").split(".", maxsplit=1)[0] == _PACKAGE:
        frame = frame.f_back
    return frame


class TeError(StepwellError, ValueError):
    """A tensor expression that means nothing: ranks, data types or axes that do not go together. The message starts
    with the line of the user's program that it is about.

    what: the message without the line.
    """

    def __init__(self, message: str, where: str | None = None):
        """where: the line, as file and number; that which is being run if missing."""
        self.what = message
        if where is None:
            frame = user_frame()
            where = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        super().__init__(f"{where}: error: {message}" if where else message)
