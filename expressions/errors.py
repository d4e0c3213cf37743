"""Errors about tensor expressions, reported at a line of the user's program."""

from __future__ import annotations

import sys
from types import FrameType

from ..core.errors import StepwellError

_PACKAGE = __name__.split(".", maxsplit=1)[0]


def user_frame() -> FrameType | None:
    """The innermost stack frame outside of Stepwell, in the user's program, or None."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").split(".", maxsplit=1)[0] == _PACKAGE:
        frame = frame.f_back
    return frame


class TeError(StepwellError, ValueError):
    """An invalid tensor expression: mismatched ranks, data types or axes. The message starts with the line of the
    user's program that caused the error.

    what: the message without the line.
    """

    def __init__(self, message: str, where: str | None = None):
        """where: the source line as `file:line`; by default the line that the user's program is executing."""
        self.what = message
        if where is None:
            frame = user_frame()
            where = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        super().__init__(f"{where}: error: {message}" if where else message)
