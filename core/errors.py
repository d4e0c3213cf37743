"""The error families: everything a user can cause derives from `StepwellError`.

One family per stage. A family that has a twin in xDSL subclasses it too, so that xDSL's own tools treat it as a
diagnostic (`--verify-diagnostics`) and code written against xDSL still catches it.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import PassFailedException, VerifyException
from xdsl.utils.lexer import Input, Span


class StepwellError(Exception):
    """Base of every error that a user's program, schedule or call can cause."""


class ParseError(StepwellError, XdslParseError):
    """Text that is not a program. The message starts with `file:line:column: error:` and shows the line.

    `span` is where, for xDSL's tools; text of the message is complete without it.
    """

    def __init__(self, message: str, span: Span[str] | None = None):
        Exception.__init__(self, message)
        self.msg = message
        self.span = Span(0, 0, Input("", "<unknown>")) if span is None else span

    def __str__(self) -> str:
        return self.msg

    def with_notes(self, notes: Iterable[str]) -> "ParseError":
        """The same error, with lines behind its message that say how it came to it."""
        return ParseError("\n".join([self.msg, *notes]), cast("Span[str]", self.span))


class VerifyError(StepwellError, VerifyException):
    """A module that breaks a constraint of its dialect."""


class PassError(StepwellError, PassFailedException):
    """A pass that cannot do its work on this module."""


class ScheduleError(PassError):
    """A transformation that must not be done here: it would change what the program computes, or asks for something
    that is not there. The program is as it was.

    reason: why, in words.  marks: the ops it is about, each with a word on it (or "").  primitive: which one was
    refused.  program: the text of the program with the lines of the marked ops underlined.
    """

    def __init__(self, reason: str, marks: Mapping[Operation, str] | Iterable[Operation] = ()):
        super().__init__(reason)
        self.reason = reason
        self.marks = dict(marks) if isinstance(marks, Mapping) else dict.fromkeys(marks, "")
        self.primitive = ""
        self.program = ""

    def __str__(self) -> str:
        text = f"{self.primitive}: {self.reason}" if self.primitive else self.reason
        return f"{text}\n\n{self.program}" if self.program else text


class UnsupportedError(PassError):
    """A valid program that Stepwell cannot compile (yet), or not for this target."""


class ArgumentError(StepwellError, ValueError):
    """An argument of a compiled function that it must not be called with: count, dtype, shape, strides, overlap."""


class OptionError(StepwellError, ValueError):
    """A name given to the API that names nothing: a target, a style, a source."""


class LinkError(StepwellError):
    """An external symbol or packed function that nobody provides."""


class LoadError(StepwellError):
    """A saved program that cannot be used: broken, of another version of Stepwell, or made for another processor."""


class PluginError(StepwellError):
    """A package beside Stepwell that cannot be used: one that adds passes is broken, or an extra is not installed."""


class ExecutionError(StepwellError, RuntimeError):
    """A failure while a compiled function runs: a failed `assert`, an exception inside a packed function."""


class DeviceError(ExecutionError):
    """What the driver of a GPU says: there is none, it has no memory left, a kernel failed.

    status: the driver's name of it, `CUDA_ERROR_ILLEGAL_ADDRESS`, "" if it has said nothing.
    """

    def __init__(self, message: str, status: str = ""):
        super().__init__(message)
        self.status = status


class UndefinedBehaviorError(ExecutionError):
    """The oracle found what docs/semantics.md excludes: an out-of-bounds access, an uninitialised read, ..."""
