"""The error classes: every error that a user can cause derives from `StepwellError`.

Each stage has one class. A class with a counterpart in xDSL also derives from that counterpart, so that xDSL's own
tools treat the error as a diagnostic (`--verify-diagnostics`) and code written against xDSL still catches it.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import PassFailedException, VerifyException
from xdsl.utils.lexer import Input, Span


class StepwellError(RuntimeError):
    """The base class of every error that a user's program, schedule or call can cause."""


class ParseError(StepwellError, XdslParseError):
    """A syntax or semantic error in source text. The message starts with `file:line:column: error:` and shows the line.

    `span` is the source range for xDSL's tools; the text of the message is complete without it.
    """

    def __init__(self, message: str, span: Span[str] | None = None):
        Exception.__init__(self, message)
        self.msg = message
        self.span = Span(0, 0, Input("", "<unknown>")) if span is None else span

    def __str__(self) -> str:
        return self.msg

    def with_notes(self, notes: Iterable[str]) -> "ParseError":
        """A copy of the error with `notes` appended to its message, one per line."""
        return ParseError("\n".join([self.msg, *notes]), cast("Span[str]", self.span))


class VerifyError(StepwellError, VerifyException):
    """The violation of a constraint of an op or module."""


class PassError(StepwellError, PassFailedException):
    """The failure of a pass on a module."""


class FaultyPassError(PassError):
    """A fault of a pass: an exception that is not an error of Stepwell, an invalid module, changed results."""


class ScheduleError(PassError):
    """An illegal or inapplicable transformation: the primitive would change the results of the program, or refers to a
    block, loop or buffer that does not exist. The program is unchanged.

    reason: the explanation.  marks: the ops that the error is about, each with a label (or "").  primitive: the name of
    the refused primitive.  program: the text of the program with the lines of the marked ops underlined.
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


class UnknownPrimitiveError(StepwellError, AttributeError):
    """The error for an unknown attribute of a schedule."""


class UnsupportedError(PassError):
    """A valid but unsupported program, or a program unsupported by the target."""


class SizeError(StepwellError, ValueError):
    """A size that no program can represent: an extent, a number of elements or a number of bytes of 2**63 or more."""


class ArgumentError(StepwellError, ValueError):
    """An invalid argument of a compiled function: wrong count, dtype, shape or strides, or overlapping memory."""


class OptionError(StepwellError, ValueError):
    """An unknown name passed to the API: of a target, a style, a source."""


class LinkError(StepwellError):
    """An undefined external symbol or packed function."""


class IncompleteCodeError(LinkError):
    """Object files without a symbol that they should define."""


class LoadError(StepwellError):
    """An unusable saved program: corrupt, written by another version of Stepwell, or compiled for another processor."""


class PluginError(StepwellError):
    """An unusable package: a broken plug-in, or an optional dependency that is not installed."""


class PluginWarning(UserWarning):
    """An installed package cannot be loaded, and is left out."""


class ExecutionError(StepwellError):
    """A failure during the execution of a compiled function: a failed `assert`, an exception in a packed function."""


class OutOfMemoryError(ExecutionError, MemoryError):
    """A compiled function cannot allocate memory."""


class DeviceError(ExecutionError):
    """An error of a GPU or its driver: no device, out of memory, a failed kernel.

    status: the driver's name of the error, `CUDA_ERROR_ILLEGAL_ADDRESS`; "" if the driver reported no error.
    """

    def __init__(self, message: str, status: str = ""):
        super().__init__(message)
        self.status = status


class UndefinedBehaviorError(ExecutionError):
    """Undefined behaviour (docs/semantics.md) found by the oracle or by sanitized code: an out-of-bounds access, an
    uninitialised read.
    """
